package evaluation_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder writes a suite with its configuration.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, lines := range map[string]string{
		"rehearse.yaml": "target: bot\ntargets: {bot: \"scripted:agent.yaml\"}\nstore: runs.db\n",
		"agent.yaml":    "default: {reply: We sell green tea.}\n",
		"suite.yaml": `name: tea
tests:
  - {id: sells, input: What do you sell?, assertions: [{type: contains, value: green tea}]}
  - {id: coffee, input: What do you sell?, tags: [slow], assertions: [{type: contains, value: coffee}]}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// heard is a sink that notes what it is told.
type heard struct {
	mu    sync.Mutex
	calls []string
	left  int
}

func (h *heard) note(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, call)
}

func (h *heard) Begin(_ result.Run, tests int)   { h.left = tests; h.note("begin") }
func (h *heard) Observe(_ orchestrator.Progress) {}
func (h *heard) Store(t *result.Test)            { h.note("keep " + t.TestID + " " + string(t.Verdict)) }
func (h *heard) End()                            { h.note("end") }

// run plans, holds and concludes a run of the suite in dir.
func run(t *testing.T, dir string, change func(*evaluation.Config)) (*evaluation.Completed, *heard, []string) {
	t.Helper()
	var warned []string
	s, err := wire.Open(wire.Options{Warn: func(text string) { warned = append(warned, text) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	sink := &heard{}
	c := evaluation.Config{
		Setup: s, Out: filepath.Join(dir, "out"), Formats: []string{"md"}, Sink: sink,
		Spec: runspec.Spec{Suites: []string{filepath.Join(dir, "suite.yaml")}, Limits: runspec.Limits{Workers: 1}},
	}
	change(&c)
	e, err := evaluation.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	held, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Conclude(held); err != nil {
		t.Fatal(err)
	}
	return held, sink, warned
}

// A run from its plan to its reports: the sink hears of everything in order, the folder has it all, and the index knows
// it.
func TestRun(t *testing.T) {
	dir := folder(t)
	held, sink, warned := run(t, dir, func(*evaluation.Config) {})
	if diff := cmp.Diff([]string{"begin", "keep sells pass", "keep coffee fail", "end"}, sink.calls); diff != "" ||
		len(warned) > 0 {
		t.Errorf("%s; warned %q", diff, warned)
	}
	if r := held.Run; r.Code() != result.ExitFailed || r.ExitReason != "failed" || r.Totals.Passed != 1 ||
		*r.Rate != 0.5 {
		t.Errorf("run %+v", r)
	}
	written, err := runlog.ReadRun(held.Dir)
	if err != nil || written.ID != held.Run.ID || written.Code() != result.ExitFailed {
		t.Errorf("run.json: %+v, %v", written, err)
	}
	report, err := os.ReadFile(filepath.Join(held.Dir, "report.md"))
	if err != nil || !strings.Contains(string(report), "coffee") {
		t.Errorf("report.md: %.80s, %v", report, err)
	}
	s, err := wire.Open(wire.Options{Config: filepath.Join(dir, "rehearse.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if found, err := evaluation.FindRun(t.Context(), s, "latest"); err != nil || found != held.Dir {
		t.Errorf("the index has %s, %v", found, err)
	}
}

// A run that is resumed keeps its id and what was finished; --rerun failed holds again only what failed, and what has
// changed is held again in any case.
func TestResume(t *testing.T) {
	dir := folder(t)
	first, _, _ := run(t, dir, func(*evaluation.Config) {})
	rerun, sink, warned := run(t, dir, func(c *evaluation.Config) { c.Resume, c.Rerun = true, "failed" })
	if diff := cmp.Diff([]string{"begin", "keep coffee fail", "end"}, sink.calls); diff != "" || sink.left != 1 ||
		len(warned) > 0 {
		t.Errorf("%d left, %s; warned %q", sink.left, diff, warned)
	}
	if rerun.Run.Fingerprint != first.Run.Fingerprint || rerun.Run.Fingerprint == "" {
		t.Errorf("fingerprints %q and %q of equal runs", first.Run.Fingerprint, rerun.Run.Fingerprint)
	}
	if err := os.WriteFile(filepath.Join(dir, "agent.yaml"),
		[]byte("default: {reply: We sell coffee.}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, sink, warned := run(t, dir, func(c *evaluation.Config) { c.Resume = true })
	if diff := cmp.Diff([]string{"begin", "keep sells fail", "keep coffee pass", "end"}, sink.calls); diff != "" ||
		sink.left != 2 {
		t.Errorf("%d left, %s", sink.left, diff)
	}
	if diff := cmp.Diff([]string{"2 tests changed since and run again"}, warned); diff != "" {
		t.Error(diff)
	}
	if again.Run.ID != first.Run.ID || again.Run.Totals.Passed != 1 || again.Run.Code() != result.ExitFailed {
		t.Errorf("run %+v", again.Run)
	}
	// A new run in the same folder moves the earlier one aside.
	_, _, warned = run(t, dir, func(*evaluation.Config) {})
	aside := filepath.Join(dir, "out", "earlier", first.Run.ID)
	if _, err := runlog.ReadRun(aside); err != nil || len(warned) != 1 || !strings.Contains(warned[0], aside) {
		t.Errorf("earlier run: %v, warned %q", err, warned)
	}
}

// A run that is stopped before it was whole says so, whatever has passed.
func TestStopped(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	held, _, _ := run(t, folder(t), func(c *evaluation.Config) { c.Stop = stop })
	if held.Run.Code() != result.ExitInterrupted || held.Run.ExitReason != "interrupted" || held.Run.Totals.Tests == 2 {
		t.Errorf("run %+v", held.Run)
	}
}

// What cannot be meant is refused before anything is opened or written.
func TestRefused(t *testing.T) {
	dir := folder(t)
	suite := filepath.Join(dir, "suite.yaml")
	for name, spec := range map[string]runspec.Spec{
		"no test was selected":         {Suites: []string{suite}, Filter: []string{"none"}},
		"--threshold 2":                {Suites: []string{suite}, Threshold: new(2.0)},
		"absent.yaml":                  {Suites: []string{filepath.Join(dir, "absent.yaml")}},
		"name at least one suite":      {},
		`there is no run "yesterday"`:  {Suites: []string{suite}, Baseline: "yesterday"},
		"no configuration at":          {Suites: []string{suite}, Config: filepath.Join(dir, "no", "rehearse.yaml")},
		`there is no target called "x`: {Suites: []string{suite}, Targets: []string{"x"}},
	} {
		err := planned(t.Context(), spec)
		if err == nil || !source.IsInvalid(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("a folder was made")
	}
}

func planned(ctx context.Context, spec runspec.Spec) error {
	s, err := wire.Open(wire.Options{Config: spec.Config})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	e, err := evaluation.New(ctx, evaluation.Config{Setup: s, Spec: spec})
	if err != nil {
		return err
	}
	_, err = e.Run(ctx)
	return err
}
