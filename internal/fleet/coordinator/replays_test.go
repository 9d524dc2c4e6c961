package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/fleet/worker"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// logged puts so many sessions of the flow tea, and the variant a, into the store of the house.
func (h *house) logged(sessions int) { h.loggedSaying(sessions, "Green?") }

// loggedSaying is logged with what the bot says.
func (h *house) loggedSaying(sessions int, said string) {
	h.t.Helper()
	history, err := storage.OpenHistory(h.t.Context(), h.history())
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = history.Close() }()
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	_, _, err = history.Put(h.t.Context(), func(yield func(replay.Event, error) bool) {
		for i := range sessions {
			id := fmt.Sprintf("s%03d", i)
			for j, row := range [][3]string{
				{replay.Started, "begin", `{}`},
				{
					replay.Message, "begin",
					`{"sender":"user","message_text":"tea","state_transition":true,"next_state":"ask"}`,
				},
				{replay.Message, "ask", `{"sender":"bot","message_text":"` + said + `"}`},
				{replay.DroppedOff, "ask", `{}`},
			} {
				e := replay.Event{
					ID: fmt.Sprint(id, "-", j), Type: row[0], SessionID: id, FlowID: "tea",
					Time: at.Add(time.Duration(j) * time.Second), Context: json.RawMessage(`{"session_id":"` +
						id + `","flow_id":"tea","current_state":"` + row[1] + `"}`),
					Payload: json.RawMessage(row[2]),
				}
				if !yield(e, nil) {
					return
				}
			}
		}
	})
	if err == nil {
		err = history.Variants.PutPrompt(h.t.Context(), replay.PromptVersion{
			ID: "p", FilePath: "p.md", ModelProvider: "lexical",
		})
	}
	if err == nil {
		err = history.Variants.PutVariant(h.t.Context(), replay.Variant{ID: "a", Config: json.RawMessage(
			`{"execution_strategy":"prompt_template","prompt_config":{"prompt_version_id":"p"},"flow_config":{"flow_id":"tea"}}`)})
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) history() string { return "sqlite:" + filepath.Join(h.dir, "rehearse.db") }

// leadReplays starts a server that leads replays, too.
func (h *house) leadReplays(name string) (s *coordinator.Service, stop func()) {
	s = coordinator.New(coordinator.Config{
		Store: h.store, Conn: h.conn, Queue: h.queue, Dir: filepath.Join(h.dir, name),
		Owner: name, Lease: 3 * time.Second, History: h.history(),
		Setup: wire.Options{NoCommands: true, Submitted: &wire.Submitted{}},
		Log:   slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	return s, h.run(func(ctx context.Context) error { return s.Run(ctx, nil) })
}

func tea(change func(*runspec.Replay)) runspec.Spec {
	r := &runspec.Replay{VariantID: "a", FlowID: "tea", StartDate: "2026-03-01", EndDate: "2026-03-01"}
	if change != nil {
		change(r)
	}
	return runspec.Spec{Schema: 1, Kind: runspec.KindReplay, Replay: r, Files: map[string]runspec.File{
		"flows/tea.yaml": {Content: []byte(
			"id: tea\nstart: begin\nnodes:\n  - {id: begin, type: start, prompt: Greet., next: [ask]}\n" +
				"  - {id: ask, type: conversation, prompt: Ask., options: [{id: done, label: Done, next: null}]}\n")},
		"prompts/p.md": {Content: []byte("Be kind.")},
	}}
}

// failing replays nothing of some sessions, as a worker that breaks.
type failing struct {
	worker.Runner
	fails func(id string) error
}

func (f *failing) Run(ctx context.Context, j orchestrator.Job) (worker.Completed, error) {
	if err := f.fails(j.Key.TestID); err != nil {
		return worker.Completed{}, err
	}
	held, err := f.Runner.Run(ctx, j)
	if j.Key.TestID == "s005" {
		held.Body = []byte(`{"SessionID":"s005","Detail":{"session_id":"s005","lanes":[]}}`)
	}
	return held, err
}

// workFailing starts a worker whose sessions fail.
func (h *house) workFailing(name string, places int, fails func(id string) error) (stop func()) {
	opens := worker.FromNATS(h.conn, filepath.Join(h.dir, name), wire.Options{NoCommands: true})
	w := worker.New(worker.Config{
		Conn: h.conn, Queue: h.queue, Name: name, Workers: places,
		Open: func(ctx context.Context, run string, payload json.RawMessage) (worker.Runner, error) {
			holder, err := opens(ctx, run, payload)
			return &failing{holder, fails}, err
		},
	})
	return h.run(func(ctx context.Context) error { return w.Run(ctx, nil) })
}

// report returns the report of a run that has ended.
func (h *house) report(id string) *replay.Report {
	h.t.Helper()
	data, err := h.store.RunFile(h.t.Context(), id, "report.json")
	if err != nil || data == nil {
		h.t.Fatalf("there is no report: %v", err)
	}
	r := &replay.Report{}
	if err := json.Unmarshal(data, r); err != nil {
		h.t.Fatal(err)
	}
	return r
}

// A session that a worker cannot replay, one whose result is none, and one that nobody could be given are lost pairs,
// named in the report: it is never smaller than the log.
func TestSessionsAreLostAloud(t *testing.T) {
	h := newHouse(t)
	h.logged(8)
	s, _ := h.leadReplays("server")
	h.workFailing("w", 2, func(id string) error {
		if id == "s003" {
			return errors.New("the disk is full")
		}
		return nil
	})
	run, _, err := s.Submit(t.Context(), tea(nil), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	ended := h.ended(run.ID)
	if ended.Status != store.RunCompleted || ended.Progress.Conversations == nil ||
		*ended.Progress.Conversations != 8 || ended.Totals.Tests != 8 || ended.Totals.Errors != 2 {
		t.Errorf("%+v, totals %+v", ended, ended.Totals)
	}
	r := h.report(run.ID)
	if r.Run.Sessions != 6 || r.Run.PairsDropped != 2 {
		t.Errorf("%d compared and %d lost of 8", r.Run.Sessions, r.Run.PairsDropped)
	}
	said := fmt.Sprint(r.Notes)
	for _, want := range []string{"s003: the disk is full", "s005: worker w sent what is no result of the session"} {
		if !strings.Contains(said, want) {
			t.Errorf("the report does not name %q: %s", want, said)
		}
	}
	if got := h.results(run.ID)["tea/s003/a/0"]; got != string(result.Error) {
		t.Errorf("the result of a lost session: %s", got)
	}
}

// A run whose every session is lost has no figures, and is no pass.
func TestEverySessionLost(t *testing.T) {
	h := newHouse(t)
	h.logged(3)
	s, _ := h.leadReplays("server")
	h.workFailing("w", 2, func(string) error { return errors.New("no") })
	run, _, err := s.Submit(t.Context(), tea(nil), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	ended := h.ended(run.ID)
	if ended.ExitCode == nil || *ended.ExitCode != result.ExitNotRun || *ended.ExitReason != result.ReasonErrors ||
		ended.Totals.Errors != 3 {
		t.Errorf("exit code %v, %+v", ended.ExitCode, ended.Totals)
	}
	if data, err := h.store.RunFile(t.Context(), run.ID, "report.json"); data != nil || err != nil {
		t.Errorf("there is a report: %.100s, %v", data, err)
	}
}

// Another server goes on with a run from what is stored: no session is replayed twice whose result is kept, and the
// report has all.
func TestReplayIsTakenOver(t *testing.T) {
	h := newHouse(t)
	h.logged(40)
	first, crash := h.leadReplays("first")
	kept := make(chan struct{}, 100)
	slow := func(string) error { time.Sleep(30 * time.Millisecond); kept <- struct{}{}; return nil }
	stop := h.workFailing("w1", 2, slow)
	spec := tea(nil)
	spec.Files["later.txt"] = runspec.File{Content: []byte("of a large bundle")}
	run, _, err := first.Submit(t.Context(), spec, "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		<-kept
	}
	crash()
	before := len(h.results(run.ID))
	stop()
	h.leadReplays("second")
	h.work("w2", 4)
	ended := h.ended(run.ID)
	r := h.report(run.ID)
	if ended.Status != store.RunCompleted || r.Run.Sessions+r.Run.PairsDropped != 40 || ended.Totals.Tests != 40 ||
		len(h.results(run.ID)) != 40 {
		t.Errorf("%+v, %d sessions, %d lost; %d results before", ended, r.Run.Sessions, r.Run.PairsDropped, before)
	}
}

// A session that is too large for its job, and that NATS has lost, is put in again by the server that leads the run.
func TestLargeSessionsAreGone(t *testing.T) {
	h := newHouse(t)
	h.loggedSaying(2, strings.Repeat("Green? ", 100_000))
	s, _ := h.leadReplays("one")
	run, _, err := s.Submit(t.Context(), tea(nil), "", coordinator.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if n, err := h.queue.Count(t.Context()); err != nil || time.Now().After(end) {
			t.Fatalf("the sessions are not queued: %v", err)
		} else if n.Waiting == 2 {
			break
		}
	}
	hashes, err := h.conn.Bundles(t.Context())
	for _, sha := range hashes {
		err = errors.Join(err, h.conn.DeleteBundle(t.Context(), sha))
	}
	if err != nil || len(hashes) < 2 {
		t.Fatalf("%d bundles: %v", len(hashes), err)
	}
	h.work("w1", 2)
	if ended := h.ended(run.ID); ended.Status != store.RunCompleted || h.report(run.ID).Run.PairsDropped != 0 {
		t.Errorf("%+v, %d sessions lost", ended, h.report(run.ID).Run.PairsDropped)
	}
	h.noBundles()
}

// What a replay names and may not is refused, and what cannot be replayed is invalid.
func TestRefusedReplays(t *testing.T) {
	h := newHouse(t)
	h.logged(1)
	s, _ := h.leadReplays("server")
	private := tea(nil)
	private.Files["rehearse.yaml"] = runspec.File{
		Content: []byte("models: {m: {model: 'openai:m', base_url: 'http://127.0.0.1/v1'}}"),
	}
	variable := tea(nil)
	variable.Env = []string{"HOME_KEY"}
	for name, c := range map[string]struct {
		spec runspec.Spec
		code string
	}{
		"fine":           {tea(nil), ""},
		"a private host": {private, wire.RefusedAddress},
		"a user": {
			tea(func(r *runspec.Replay) { r.Mode, r.User = "simulated", "openai:m@http://127.0.0.1:1/v1" }), "invalid",
		},
		"a variable": {variable, wire.RefusedEnv},
		"a target": {
			tea(func(r *runspec.Replay) { r.VariantID, r.Candidate = "", "target:http://10.0.0.1/chat" }),
			wire.RefusedAddress,
		},
		"a reference":   {tea(func(r *runspec.Replay) { r.VariantID, r.Candidate = "", "variant:a" }), ""},
		"no variant":    {tea(func(r *runspec.Replay) { r.VariantID = "b" }), "invalid"},
		"no flows":      {tea(func(r *runspec.Replay) { r.Flows = "nowhere" }), "invalid"},
		"flows outside": {tea(func(r *runspec.Replay) { r.Flows = "../../.." }), "invalid"},
		"prompts":       {tea(func(r *runspec.Replay) { r.Prompts = "/etc" }), "invalid"},
		"a mode":        {tea(func(r *runspec.Replay) { r.Mode = "fast" }), "invalid"},
		"a margin":      {tea(func(r *runspec.Replay) { r.Margin = []string{"completion_match=-1"} }), "invalid"},
		"a share":       {tea(func(r *runspec.Replay) { r.MaxLost = new(2.0) }), "invalid"},
	} {
		if _, err := s.Check(t.Context(), c.spec, coordinator.Caller{}); code(err) != c.code {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		} else if err != nil && strings.Contains(err.Error(), h.dir) {
			t.Errorf("%s: the error tells a path: %v", name, err)
		}
	}
}
