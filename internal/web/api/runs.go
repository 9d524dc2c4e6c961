package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Leader takes, checks, cancels and deletes runs (coordinator.Service).
type Leader interface {
	Submit(ctx context.Context, spec runspec.Spec, key string, by coordinator.Caller) (run store.Run, created bool, err error)
	Check(ctx context.Context, spec runspec.Spec, by coordinator.Caller) (coordinator.Checked, error)
	Cancel(ctx context.Context, id string) (store.Run, error)
	DeleteRun(ctx context.Context, id string) error
	Prune(ctx context.Context, limits store.Pruning) (pruned int, err error)
	Files(ctx context.Context, id string) (dir string, err error)
}

// Workers knows the workers (natsconn.Conn).
type Workers interface {
	Workers(ctx context.Context) ([]natsconn.Worker, error)
	Notices(run string, f func(natsconn.Notice)) (stop func(), err error)
}

// Conversations has the bytes of artifacts under their hashes (artifact.Storage).
type Conversations interface {
	Get(ctx context.Context, sha256 string) ([]byte, error)
}

// RunsConfig is what a server of runs uses. All but Artifacts and Log is required.
type RunsConfig struct {
	Leader    Leader
	Scheduler Scheduler
	Store     *store.Fleet
	Crew      Workers
	// Artifacts has the bytes of artifacts; nil has none.
	Artifacts Conversations
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

// With serves the paths of runs and passes all others to next.
func (s *Runs) With(next http.Handler) http.Handler {
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

func (s *Runs) answer(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := handle(w, r); err != nil && !givenUp(r, err) {
			s.refuse(w, r, err)
		}
	}
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
	shown, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", json.RawMessage(wire.Secrets(nil, spec.Named()).Bytes(shown)))
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
	n, err := s.Leader.Prune(r.Context(), coordinator.Limits(asked.OlderThan, asked.Keep))
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
	return writePage(w, r, all, func(one natsconn.Worker) string { return one.Name })
}
