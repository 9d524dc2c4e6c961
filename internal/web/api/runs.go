package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/classification"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Leader takes, checks, cancels and deletes runs (coordinator.Service).
type Leader interface {
	Submit(ctx context.Context, spec runspec.Spec, key string,
		by coordinator.Caller) (run store.Run, created bool, err error)
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
	Workers   Workers
	// Artifacts has the bytes of artifacts; nil has none.
	Artifacts Conversations
	// Log gets what goes wrong; nil discards it.
	Log *slog.Logger
}

// Runs serves the API of runs and schedules. It is safe for concurrent use. Put it behind Front, which checks access.
type Runs struct {
	RunsConfig
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
	return &Runs{RunsConfig: c, ended: make(chan struct{})}
}

// Stop takes no more runs.
func (s *Runs) Stop() { s.stopping.Store(true) }

// End ends the streams of events. Their readers go on with another server, or after the next start.
func (s *Runs) End() { s.ending.Do(func() { close(s.ended) }) }

func (s *Runs) table() table {
	return append(table{
		{
			pattern: "POST /api/v1/runs", scope: access.Run, handle: s.answer(s.submit),
			summary: "Submit a run", headers: []parameter{idempotencyHeader}, body: runspec.Spec{},
			answers: answers{201: store.Run{}, 200: store.Run{}},
		},
		{
			pattern: "GET /api/v1/runs", scope: access.Read, handle: s.answer(s.list),
			summary: "List runs, the newest first", ok: store.Page[store.Run]{},
			query: append([]parameter{{"status", ""}, {"name", ""}, {"suite", ""}, {"target", ""},
				{"schedule", ""}, {"label", "k:v"}, {"since", "a time"}, {"until", "a time"}}, pageQuery...),
		},
		{
			pattern: "POST /api/v1/runs/prune", scope: access.Admin, handle: s.answer(s.prune),
			summary: "Delete old runs", body: pruning{}, ok: pruned{},
		},
		{
			pattern: "GET /api/v1/runs/{run_id}", scope: access.Read, handle: s.answer(s.show),
			summary: "A run", ok: store.Run{},
		},
		{
			pattern: "DELETE /api/v1/runs/{run_id}", scope: access.Admin, handle: s.answer(s.remove),
			summary: "Delete a run that has ended", answers: answers{204: nil},
		},
		{
			pattern: "POST /api/v1/runs/{run_id}/cancel", scope: access.Run, handle: s.answer(s.cancel),
			summary: "Cancel a run", answers: answers{202: store.Run{}},
		},
		{
			pattern: "GET /api/v1/runs/{run_id}/spec", scope: access.Read, handle: s.answer(s.spec),
			summary: "The RunSpec of a run, files by their hashes", ok: runspec.Spec{},
		},
		{
			pattern: "GET /api/v1/runs/{run_id}/events", scope: access.Read, handle: s.answer(s.events),
			summary: "What happens to a run, as server-sent events", ok: "text/event-stream",
			query:   []parameter{{"last_event_id", "the same"}},
			headers: []parameter{{"Last-Event-ID", "the stream begins after this event"}},
		},
		{
			pattern: "GET /api/v1/runs/{run_id}/results", scope: access.Read, handle: s.answer(s.results),
			summary: "Results of a run, or all as JSON Lines",
			query: append([]parameter{{"verdict", "pass, fail, error or skip"}, {"code", "a failure code"},
				{"suite", ""}, {"test_id", ""}, {"target", ""}, {"trial", ""},
				{"q", "text in the transcript"}}, pageQuery...),
			ok: either{store.Page[resultView]{}, "application/x-ndjson"},
		},
		{
			pattern: "GET /api/v1/runs/{run_id}/results/{result_id}", scope: access.Read, handle: s.answer(s.result),
			summary: "A result", ok: resultView{},
		},
		{
			pattern: "GET /api/v1/runs/{run_id}/artifacts", scope: access.Read, handle: s.answer(s.artifacts),
			summary: "What was kept of the conversations of a run", query: pageQuery,
			ok: store.Page[store.Artifact]{},
		},
		{
			pattern: "GET /api/v1/runs/{run_id}/{file}", scope: access.Read, handle: s.answer(s.file),
			summary: "A file of a run that has ended: results.jsonl, run.json, report.html, " +
				"report.md or junit.xml, of a " +
				"classification also classification.json, of a replay report.json",
			ok: either{
				result.Run{}, classification.Report{}, replay.Report{}, "application/x-ndjson", "text/html",
				"text/markdown", "application/xml",
			},
		},
		{
			pattern: "PUT /api/v1/blobs/{sha256}", scope: access.Run, handle: s.answer(s.putBlob),
			summary: "Keep a file under its SHA-256", body: "application/octet-stream",
			answers: answers{201: storedBlob{}, 200: storedBlob{}},
		},
		{
			pattern: "HEAD /api/v1/blobs/{sha256}", scope: access.Run, handle: s.answer(s.hasBlob),
			summary: "Is a file there?", answers: answers{200: nil},
		},
		{
			pattern: "POST /api/v1/suites/validate", scope: access.Run, handle: s.answer(s.validate),
			summary: "Check a run without beginning it", body: runspec.Spec{}, ok: validation{},
		},
		{
			pattern: "GET /api/v1/artifacts/{sha256}", scope: access.Read, handle: s.answer(s.artifact),
			summary: "The bytes of an artifact", ok: "application/octet-stream",
		},
		{
			pattern: "GET /api/v1/workers", scope: access.Read, handle: s.answer(s.workers),
			summary: "Who holds conversations", query: pageQuery, ok: store.Page[natsconn.Worker]{},
		},
	}, s.schedulesTable()...)
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
		Status: oneOf(&q, "status", store.RunStatuses()...), Name: q.text("name"), Schedule: q.text("schedule"),
		Suite: q.text("suite"), Target: q.text("target"), Since: q.time("since"), Until: q.time("until"),
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

// pruning is the body of a request that deletes runs; pruned is the answer.
type (
	pruning struct {
		OlderThan *runspec.Age `json:"older_than,omitempty"`
		Retain    *int         `json:"keep,omitempty"`
	}
	pruned struct {
		Pruned int `json:"pruned"`
	}
)

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
	if asked.OlderThan == nil && asked.Retain == nil || asked.Retain != nil && *asked.Retain < 0 {
		return newProblem(http.StatusBadRequest, codeQuery, "the body says not which runs stay",
			`send {"older_than": "30d"}, {"keep": 100}, or both`).at("")
	}
	n, err := s.Leader.Prune(r.Context(), coordinator.Limits(asked.OlderThan, asked.Retain))
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", pruned{n})
	return nil
}

// workers lists the processes that hold conversations.
func (s *Runs) workers(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Workers.Workers(r.Context())
	if err != nil {
		return err
	}
	return writePage(w, r, all, func(one natsconn.Worker) string { return one.Name })
}
