package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rehearse/internal/access"
	"rehearse/internal/fleet"
	"rehearse/internal/runspec"
	"rehearse/internal/service"
	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/store"
)

// Leader takes, checks, cancels and deletes runs (service.Service).
type Leader interface {
	Submit(ctx context.Context, spec runspec.Spec, key string, by service.Caller) (run store.Run, created bool, err error)
	Check(ctx context.Context, spec runspec.Spec, by service.Caller) (service.Checked, error)
	Cancel(ctx context.Context, id string) (store.Run, error)
	DeleteRun(ctx context.Context, id string) error
	Prune(ctx context.Context, limits store.Pruning) (pruned int, err error)
	Files(ctx context.Context, id string) (dir string, err error)
}

// Crew knows the workers (fleet.Conn).
type Crew interface {
	Workers(ctx context.Context) ([]fleet.Worker, error)
	Notices(run string, f func(fleet.Notice)) (stop func(), err error)
}

// Shelf has the bytes of artifacts under their hashes (artifact.Place).
type Shelf interface {
	Get(ctx context.Context, sha256 string) ([]byte, error)
}

// RunsConfig is what a server of runs uses. All but Artifacts and Log is required.
type RunsConfig struct {
	Leader    Leader
	Scheduler Scheduler
	Store     *store.Fleet
	Crew      Crew
	// Artifacts has the bytes of artifacts; nil has none.
	Artifacts Shelf
	// Log gets what goes wrong; nil discards it.
	Log *slog.Logger
}

// Runs serves the API of runs (service.md 3.2 and 3.3). It is safe for concurrent use. Put it behind Front, which checks access.
type Runs struct {
	RunsConfig
	routes http.Handler
	// stopping is true once no more runs are taken; ended is closed when no more events come.
	stopping atomic.Bool
	ended    chan struct{}
	ending   sync.Once
}

// The limits of bodies, in megabytes.
const (
	maxSpecMB = 32
	maxBlobMB = 64
)

const runsPath = "/api/v1/runs"

// NewRuns returns a server of runs.
func NewRuns(c RunsConfig) *Runs {
	c.Log = logOrDiscard(c.Log)
	s := &Runs{RunsConfig: c, ended: make(chan struct{})}
	s.routes = s.table().handler()
	return s
}

// Stop takes no more runs.
func (s *Runs) Stop() { s.stopping.Store(true) }

// End ends the streams of events. Their readers go on with another server, or after the next start.
func (s *Runs) End() { s.ending.Do(func() { close(s.ended) }) }

func (s *Runs) table() table {
	one := runsPath + "/{run_id}"
	rows := table{
		runsPath:                     {http.MethodPost: runs(s.answer(s.submit)), http.MethodGet: reads(s.answer(s.list))},
		runsPath + "/prune":          {http.MethodPost: admins(s.answer(s.prune))},
		one:                          {http.MethodGet: reads(s.answer(s.show)), http.MethodDelete: admins(s.answer(s.remove))},
		one + "/cancel":              {http.MethodPost: runs(s.answer(s.cancel))},
		one + "/spec":                {http.MethodGet: reads(s.answer(s.spec))},
		one + "/events":              {http.MethodGet: reads(s.answer(s.events))},
		one + "/results":             {http.MethodGet: reads(s.answer(s.results))},
		one + "/results/{result_id}": {http.MethodGet: reads(s.answer(s.result))},
		one + "/artifacts":           {http.MethodGet: reads(s.answer(s.artifacts))},
		one + "/{file}":              {http.MethodGet: reads(s.answer(s.file))},
		"/api/v1/blobs/{sha256}":     {http.MethodPut: runs(s.answer(s.putBlob)), http.MethodHead: runs(s.answer(s.hasBlob))},
		"/api/v1/suites/validate":    {http.MethodPost: runs(s.answer(s.validate))},
		"/api/v1/workers":            {http.MethodGet: reads(s.answer(s.workers))},
		artifactsPath + "/{sha256}":  {http.MethodGet: reads(s.answer(s.artifact))},
	}
	maps.Copy(rows, s.scheduleTable())
	return rows
}

// Beside serves the paths of runs and passes all others to next.
func (s *Runs) Beside(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, prefix := range []string{runsPath, artifactsPath, schedulesPath, "/api/v1/blobs", "/api/v1/suites", "/api/v1/workers"} {
			if r.URL.Path == prefix || strings.HasPrefix(r.URL.Path, prefix+"/") {
				s.routes.ServeHTTP(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// The codes of problems with runs.
const (
	codeSpec       = "invalid_spec"
	codeQuery      = "invalid_request"
	codeCursor     = "invalid_cursor"
	codeFinished   = "run_finished"
	codeUnfinished = "run_unfinished"
	codeMissing    = "missing_blobs"
	codeHash       = "hash_mismatch"
	codeQueueFull  = "queue_full"
)

func (s *Runs) answer(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r); err != nil && !givenUp(r, err) {
			s.refuse(w, r, err)
		}
	}
}

// runsProblem is a problem with what is wrong in a spec, or which blobs are missing.
type runsProblem struct {
	*Problem
	Errors  source.Problems `json:"errors,omitempty"`
	Missing []string        `json:"missing,omitempty"`
}

// refuse answers with the problem of an error.
func (s *Runs) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := runsProblem{}
	missing, lacks := errors.AsType[*store.MissingBlobsError](err)
	invalid, faulty := errors.AsType[*service.InvalidError](err)
	known, is := errors.AsType[*Problem](err)
	refused, may := errors.AsType[*setup.RefusedError](err)
	switch {
	case is:
		p.Problem = known
	case faulty:
		p.Problem, p.Errors = newProblem(http.StatusUnprocessableEntity, codeSpec, invalid.Message, "`rehearse validate` finds the same in suites"), invalid.Problems
	case may:
		status := http.StatusUnprocessableEntity
		if refused.Code == setup.RefusedCommands {
			status = http.StatusForbidden
		}
		p.Problem = newProblem(status, refused.Code, refused.Message, refused.Hint)
		if status == http.StatusForbidden && !caller(r).Commands {
			p.Scope = access.Admin
		}
	case lacks:
		p.Problem = newProblem(http.StatusConflict, codeMissing, "files are named by hashes that are not here", "send each with PUT /api/v1/blobs/SHA256 first")
		p.Missing = missing.SHA256
	case errors.Is(err, store.ErrUnknown):
		p.Problem = newProblem(http.StatusNotFound, codeNotFound, "there is no such run or result", "GET "+runsPath+" lists the runs")
	case errors.Is(err, store.ErrRunEnded):
		p.Problem = newProblem(http.StatusConflict, codeFinished, "the run has ended", "")
	case errors.Is(err, store.ErrRunUnfinished):
		p.Problem = newProblem(http.StatusConflict, codeUnfinished, "the run has not ended", "cancel it first")
	case errors.Is(err, store.ErrQueueFull):
		p.Problem = newProblem(http.StatusTooManyRequests, codeQueueFull, "too many runs wait", "try again when some have ended").after(10 * time.Second)
	case errors.Is(err, store.ErrCursor):
		p.Problem = newProblem(http.StatusBadRequest, codeCursor, "the cursor was not given out by this list", "use next_cursor as it came")
	case errors.Is(err, store.ErrHash):
		p.Problem = newProblem(http.StatusUnprocessableEntity, codeHash, "the bytes do not have the hash in the path", "send the SHA-256 of the bytes, in lower case")
	case errors.Is(err, store.ErrInvalid):
		p.Problem = newProblem(http.StatusBadRequest, codeQuery, "the request names what cannot be", "")
	case store.Away(err):
		s.Log.ErrorContext(r.Context(), "the store of runs is away", "error", err)
		p.Problem = unavailable()
	default:
		s.Log.ErrorContext(r.Context(), "a request failed", "at", r.Method+" "+r.URL.Path, "error", err)
		p.Problem = problemOf(nil)
	}
	if p.retryAfter > 0 {
		setRetryAfter(w.Header(), p.retryAfter)
	}
	writeBody(w, p.Status, "application/problem+json", p)
}

// readSpec reads the RunSpec of a body.
func readSpec(w http.ResponseWriter, r *http.Request) (spec runspec.Spec, err error) {
	body, err := readJSONUpTo(w, r, maxSpecMB, "send large files with PUT /api/v1/blobs/SHA256 and name them by their hashes")
	if err != nil {
		return spec, err
	}
	if !json.Valid(body) {
		return spec, newProblem(http.StatusBadRequest, codeQuery, "the body is not JSON", "send one JSON object").at("")
	}
	return specOf(body)
}

// specOf reads a RunSpec. What is no RunSpec is a bad request; what is one and cannot be meant is an invalid spec.
func specOf(body []byte) (runspec.Spec, error) {
	spec, err := runspec.Read(body)
	if err == nil {
		return spec, nil
	}
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return spec, newProblem(http.StatusBadRequest, codeQuery, "a value of the kind "+typed.Value+" cannot stand here", "send "+source.KindOf(typed.Type)).
			at("/" + strings.ReplaceAll(typed.Field, ".", "/"))
	}
	if p := keyProblem(err, codeQuery); p != nil {
		return spec, p
	}
	return spec, &service.InvalidError{Message: err.Error()}
}

// caller says what whoever sends a request may submit.
func caller(r *http.Request) service.Caller {
	return service.Caller{Commands: access.Of(r.Context()).Scopes.Open(access.Admin)}
}

func (s *Runs) submit(w http.ResponseWriter, r *http.Request) error {
	if s.stopping.Load() {
		return stoppingProblem()
	}
	spec, err := readSpec(w, r)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	run, created, err := s.Leader.Submit(r.Context(), spec, key, caller(r))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	w.Header().Set("Location", runsPath+"/"+url.PathEscape(run.ID))
	writeBody(w, status, "application/json", run)
	return nil
}

// idempotencyKey returns the key with which a run is submitted; empty for none.
func idempotencyKey(r *http.Request) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > store.MaxIdempotencyKey {
		return "", newProblem(http.StatusBadRequest, codeQuery, fmt.Sprintf("the Idempotency-Key has %d bytes", len(key)),
			fmt.Sprintf("use at most %d", store.MaxIdempotencyKey))
	}
	return key, nil
}

func (s *Runs) validate(w http.ResponseWriter, r *http.Request) error {
	spec, err := readSpec(w, r)
	if err != nil {
		return err
	}
	_, err = s.Leader.Check(r.Context(), spec, caller(r))
	invalid, faulty := errors.AsType[*service.InvalidError](err)
	if err != nil && !faulty {
		return err
	}
	found := source.Problems{}
	if faulty {
		if found = invalid.Problems; len(found) == 0 {
			found = source.Problems{{Message: invalid.Message}}
		}
	}
	writeBody(w, http.StatusOK, "application/json", map[string]any{"valid": !faulty, "errors": found})
	return nil
}

func (s *Runs) list(w http.ResponseWriter, r *http.Request) error {
	q := query{r.URL.Query(), nil}
	filter := store.RunFilter{
		Status: oneOf(&q, "status", store.RunStatuses()...), Name: q.text("name"), Schedule: q.text("schedule"), Suite: q.text("suite"), Target: q.text("target"),
		Since: q.time("since"), Until: q.time("until"),
	}
	for _, label := range q.values["label"] {
		key, value, ok := strings.Cut(label, ":")
		if !ok {
			q.refuse("label", "write k:v")
		}
		if filter.Labels == nil {
			filter.Labels = map[string]string{}
		}
		filter.Labels[key] = value
	}
	page, err := q.page("status", "name", "schedule", "suite", "target", "since", "until", "label")
	if err != nil {
		return err
	}
	runs, err := s.Store.Runs(r.Context(), filter, page)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", runs)
	return nil
}

func (s *Runs) show(w http.ResponseWriter, r *http.Request) error {
	run, err := s.Store.Run(r.Context(), r.PathValue("run_id"))
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", run)
	return nil
}

// spec answers with the RunSpec, its files by their hashes.
func (s *Runs) spec(w http.ResponseWriter, r *http.Request) error {
	data, err := s.Store.Spec(r.Context(), r.PathValue("run_id"))
	if err != nil {
		return err
	}
	spec, err := runspec.Read(data)
	if err != nil {
		return err
	}
	for name, f := range spec.Files {
		spec.Files[name] = runspec.File{SHA256: f.Hash()}
	}
	writeBody(w, http.StatusOK, "application/json", spec)
	return nil
}

func (s *Runs) cancel(w http.ResponseWriter, r *http.Request) error {
	run, err := s.Leader.Cancel(r.Context(), r.PathValue("run_id"))
	if err != nil {
		return err
	}
	writeBody(w, http.StatusAccepted, "application/json", run)
	return nil
}

func (s *Runs) remove(w http.ResponseWriter, r *http.Request) error {
	if err := s.Leader.DeleteRun(r.Context(), r.PathValue("run_id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// prune deletes finished runs that neither limit keeps.
func (s *Runs) prune(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSONUpTo(w, r, 1, "send one JSON object")
	if err != nil {
		return err
	}
	var asked pruning
	if err := decodeUTF8(body, &asked); err != nil {
		return err
	}
	if asked.OlderThan == nil && asked.Keep == nil || asked.Keep != nil && *asked.Keep < 0 {
		return newProblem(http.StatusBadRequest, codeQuery, "the body says not which runs stay", `send {"older_than": "30d"}, {"keep": 100}, or both`).at("")
	}
	n, err := s.Leader.Prune(r.Context(), service.Limits(asked.OlderThan, asked.Keep))
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", pruned{n})
	return nil
}

// workers lists the processes that hold conversations.
func (s *Runs) workers(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Crew.Workers(r.Context())
	if err != nil {
		return err
	}
	return writePage(w, r, all, func(one fleet.Worker) string { return one.Name })
}

// query reads the parameters of a list.
type query struct {
	values url.Values
	err    error
}

func (q *query) text(name string) string { return q.values.Get(name) }

// oneOf reads a parameter that has one of some values; empty stands for all of them.
func oneOf[T ~string](q *query, name string, known ...T) T {
	value := T(q.text(name))
	if value != "" && !slices.Contains(known, value) {
		names := make([]string, len(known))
		for i, one := range known {
			names[i] = string(one)
		}
		q.refuse(name, "use "+strings.Join(names, ", "))
	}
	return value
}

func (q *query) refuse(name, hint string) {
	if q.err == nil {
		q.err = newProblem(http.StatusBadRequest, codeQuery, fmt.Sprintf("the parameter %s cannot be read", name), hint)
	}
}

func (q *query) time(name string) (at time.Time) {
	if written := q.text(name); written != "" {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, written); err != nil {
			q.refuse(name, "write a time as in 2026-01-31T12:00:00Z")
		}
	}
	return at
}

func (q *query) number(name string) *int {
	written := q.text(name)
	if written == "" {
		return nil
	}
	n, err := strconv.Atoi(written)
	if err != nil || n < 0 {
		q.refuse(name, "write a whole number")
	}
	return &n
}

// maxPage is the most that a page has.
const maxPage = 1000

// page reads which page is asked for. It refuses parameters that are not among the known ones.
func (q *query) page(known ...string) (store.PageOf, error) {
	page := store.PageOf{Cursor: q.text("cursor")}
	if n := q.number("limit"); n != nil {
		if page.Limit = *n; page.Limit < 1 || page.Limit > maxPage {
			q.refuse("limit", fmt.Sprintf("use 1 to %d", maxPage))
		}
	}
	for name, values := range q.values {
		if len(values) > 1 && name != "label" {
			q.refuse(clip(name, 100), "give it once")
		}
		if name != "limit" && name != "cursor" && !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			q.refuse(clip(name, 100), "known are "+strings.Join(known, ", "))
		}
	}
	return page, q.err
}
