package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rehearse/internal/config"
	"rehearse/internal/orchestrator"
	"rehearse/internal/queue"
	"rehearse/internal/report"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/runner"
	"rehearse/internal/stats"
	"rehearse/internal/store"
)

// held is a run that has been held, whole or in part.
type held struct {
	dir string
	// began is when this part of the run began; a resumed run started earlier.
	began time.Time
	run   result.Run
	// interrupted is true when the user stopped it, spent when the budget did.
	interrupted, spent bool
}

// hold runs the plan: it opens everything that the tests need, holds the conversations, and writes every record as it comes.
func (w *wiring) hold(ctx context.Context, p *plan) (*held, error) {
	if err := w.prepare(p); err != nil {
		return nil, err
	}
	h, log, err := w.openRun(ctx, p)
	if err != nil {
		return nil, err
	}
	prior, err := w.prior(h.dir)
	if err != nil {
		return nil, err
	}
	progress := startProgress(w.env, w.flags, p.tests-prior.tests)
	o := &orchestrator.Orchestrator{
		RunID: h.run.ID, Workers: p.workers, Queue: queue.NewMemory(p.workers), Results: w.watched(h, log), Observe: progress.observe,
		Hold: func(ctx context.Context, j orchestrator.Job) (*result.Test, error) {
			return w.holdOne(ctx, j, p.workers == 1)
		},
	}
	working, stop, release := w.interruptible(ctx, progress)
	totals, err := o.Run(working, orchestrator.Plan{
		Tests: p.units(), Needed: p.isNeeded, Prior: prior.outcome, BudgetUSD: p.budget,
	}, stop)
	release()
	progress.done()
	if closing := log.Close(); err == nil {
		err = closing
	}
	switch {
	case errors.Is(err, orchestrator.ErrStopped):
		h.interrupted = true
	case errors.Is(err, orchestrator.ErrBudget):
		h.spent = true
		fmt.Fprintln(w.env.Stderr, "rehearse: "+err.Error()+"; the rest was not run")
	case err != nil:
		fmt.Fprintln(w.env.Stderr, "rehearse: what was finished is in "+h.dir)
		return nil, notRun(err)
	}
	if w.flags.resume != "" {
		if err := runlog.Compact(h.dir); err != nil {
			return nil, notRun(err)
		}
		if totals, err = recount(h.dir); err != nil {
			return nil, notRun(err)
		}
	}
	h.close(w.env.Now(), totals)
	return h, nil
}

// watched returns where records go: to the log of the run and, where somebody watches, to them as well.
func (w *wiring) watched(h *held, log *runlog.Log) orchestrator.Results {
	if w.watch == nil {
		return log
	}
	return &watchedResults{log, w.watch(h.run)}
}

// watchedResults tells of each record that is in the log.
type watchedResults struct {
	log  *runlog.Log
	tell func(*result.Test)
}

// Append implements orchestrator.Results.
func (r *watchedResults) Append(t *result.Test) error {
	if err := r.log.Append(t); err != nil {
		return err
	}
	r.tell(t)
	return nil
}

// prepare opens targets and judges before the first conversation, so that what is missing is said before anything is spent.
func (w *wiring) prepare(p *plan) error {
	for call, e := range p.calls {
		if _, err := w.target(call.name, e); err != nil {
			return err
		}
	}
	for key, judged := range p.gradings {
		if err := w.prepareGrading(key, judged); err != nil {
			return err
		}
	}
	return nil
}

// holdOne holds the conversation of one job.
func (w *wiring) holdOne(ctx context.Context, j orchestrator.Job, inOrder bool) (*result.Test, error) {
	t, err := w.target(j.Target, j.Test.Execution)
	if err != nil {
		return nil, err
	}
	return runner.Hold(ctx, runner.Conversation{
		Test: j.Test, Trial: j.Trial, Target: t, Grading: w.grading[gradingOf(j.Test)], InOrder: inOrder, Now: w.env.Now,
	})
}

// openRun makes the run's folder with its first run.json and opens its log.
func (w *wiring) openRun(ctx context.Context, p *plan) (*held, *runlog.Log, error) {
	now := w.env.Now()
	h := &held{dir: w.flags.out, began: now, run: result.Run{
		Schema: result.Schema, ID: runID(now), Version: version(), Command: w.flags.commandLine, StartedAt: now.UTC(),
		Targets: p.targets, ExitReason: "running",
	}}
	for _, s := range w.suites {
		h.run.Suites = append(h.run.Suites, s.File)
	}
	if p.judged > 0 {
		h.run.Judge = w.judgeName()
	}
	if h.dir == "" {
		h.dir = filepath.Join(stateDir, "runs", h.run.ID)
	}
	if w.flags.resume != "" {
		before, err := runlog.ReadRun(h.dir)
		if err != nil {
			return nil, nil, usage("cannot resume: %w", err)
		}
		h.run.ID, h.run.StartedAt, h.run.DurationMS = before.ID, before.StartedAt, before.DurationMS
	} else if err := w.setAside(h.dir); err != nil {
		return nil, nil, notRun(err)
	}
	h.run.Config = map[string]any{"workers": p.workers, "conversations": p.conversations, "turns": p.turns, "config": w.config.Path}
	if err := os.MkdirAll(h.dir, 0o755); err != nil {
		return nil, nil, usage("cannot write results: %w", err)
	}
	if err := runlog.WriteRun(h.dir, h.run); err != nil {
		return nil, nil, notRun(err)
	}
	w.index(ctx, h)
	log, err := runlog.Open(h.dir)
	if err != nil {
		return nil, nil, notRun(err)
	}
	log.Redact = w.secrets.Bytes
	return h, log, nil
}

// index enters the run in the store; results do not depend on it.
func (w *wiring) index(ctx context.Context, h *held) {
	if w.store == nil {
		return
	}
	dir, err := filepath.Abs(h.dir)
	if err == nil {
		err = w.store.PutRun(ctx, h.run, dir)
	}
	if err != nil {
		fmt.Fprintln(w.env.Stderr, "rehearse: "+err.Error())
	}
}

// setAside moves the results of an earlier run out of a folder that is used again: what was finished is never lost.
func (w *wiring) setAside(dir string) error {
	aside, err := runlog.MoveAside(dir, report.Formats().Files()...)
	if err != nil || aside == "" {
		return err
	}
	if sameFolder(w.baseline, dir) {
		w.baseline = aside
	}
	fmt.Fprintln(w.env.Stderr, "rehearse: the earlier run in "+dir+" is moved to "+aside)
	return nil
}

func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// priorRun is what a resumed run has already finished.
type priorRun struct {
	outcomes map[result.Key]orchestrator.Outcome
	tests    int
}

func (p priorRun) outcome(k result.Key) (orchestrator.Outcome, bool) {
	o, ok := p.outcomes[k]
	return o, ok
}

// prior reads what need not be run again; --rerun takes out what failed, with all trials of such a test.
func (w *wiring) prior(dir string) (priorRun, error) {
	p := priorRun{outcomes: map[result.Key]orchestrator.Outcome{}}
	if w.flags.resume == "" {
		return p, nil
	}
	again := map[result.Key]bool{}
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return p, notRun(err)
		}
		p.outcomes[t.Key()] = orchestrator.OutcomeOf(t)
		whole := t.Key()
		whole.Trial = 0
		// What was skipped waited for something that failed or broke, and may pass now.
		failed := t.Verdict == result.Fail && w.flags.rerun == "failed"
		broke := (t.Verdict == result.Error || t.Verdict == result.Skip) && w.flags.rerun != ""
		if t.Trial == 0 && (failed || broke) {
			again[whole] = true
		}
	}
	for k := range p.outcomes {
		whole := k
		whole.Trial = 0
		if again[whole] {
			delete(p.outcomes, k)
		} else if k.Trial == 0 {
			p.tests++
		}
	}
	return p, nil
}

func recount(dir string) (result.Totals, error) {
	var y result.Tally
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return result.Totals{}, err
		}
		y.Add(t)
	}
	return y.Totals(), nil
}

// close fills in how the run ended.
func (h *held) close(now time.Time, totals result.Totals) {
	h.run.Totals = totals
	h.run.EndedAt = now.UTC()
	h.run.DurationMS += float64(now.Sub(h.began).Microseconds()) / 1000
	h.run.ExitCode, h.run.ExitReason = exitCode(totals)
	if h.spent {
		h.run.ExitCode, h.run.ExitReason = max(h.run.ExitCode, exitFailed), "budget"
	}
	if h.interrupted {
		h.run.ExitCode, h.run.ExitReason = exitInterrupted, "interrupted"
	}
	if graded := totals.Passed + totals.Failed; graded > 0 {
		h.run.PassRate = float64(totals.Passed) / float64(graded)
		h.run.Interval = stats.Wilson(totals.Passed, graded)
	}
}

// conclude writes the reports, prints the summary and returns the exit code as an error.
func (w *wiring) conclude(h *held) error {
	if err := runlog.WriteRun(h.dir, h.run); err != nil {
		return notRun(err)
	}
	w.index(context.Background(), h) // also after an interruption
	r := report.New(h.run, runlog.Read(h.dir))
	if w.flags.baseline != "" {
		against, err := w.compare(h)
		if err != nil {
			return err
		}
		r.Against = against
	}
	writing := r.Write(h.dir, report.Formats().Choose(w.flags.formats))
	colour := w.env.Colour && !w.flags.noColour && w.env.Getenv("NO_COLOR") == ""
	style := report.TextOptions{
		Colour: colour, Verbose: w.flags.verbose || h.run.Totals.Tests <= fewTests, Quiet: w.flags.quiet, Dir: h.dir,
	}
	if err := errors.Join(r.Text(w.env.Stdout, style), writing); err != nil {
		return notRun(err)
	}
	if h.interrupted {
		again := ""
		if w.flags.rerun != "" {
			again = " --rerun " + w.flags.rerun
		}
		fmt.Fprintf(w.env.Stderr, "rehearse: interrupted; go on with\n  rehearse run --resume %s%s\n", shellQuote(h.dir), again)
	}
	if h.run.ExitCode != exitPassed {
		return &exitError{code: h.run.ExitCode}
	}
	return nil
}

// shellQuote returns s as one word of a shell.
func shellQuote(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// fewTests is how many tests are listed on the terminal without being asked for.
const fewTests = 20

// compare holds the run against the baseline, which was found before the run began.
func (w *wiring) compare(h *held) (*report.Diff, error) {
	diff, err := report.Compare(runlog.Read(w.baseline), runlog.Read(h.dir))
	if err != nil {
		return nil, notRun(err)
	}
	return diff, nil
}

// stateDir is where runs and the store are kept unless the configuration says otherwise.
const stateDir = ".rehearse"

// openConfiguredStore opens the store of a configuration file, or of the one that applies to the suites or to this folder.
func openConfiguredStore(ctx context.Context, configFile string, suites []string) (*store.Store, error) {
	if configFile == "" {
		folder := "."
		if len(suites) > 0 {
			folder = filepath.Dir(suites[0])
		}
		configFile = config.Find(folder)
	}
	var c config.File
	if configFile != "" {
		var err error
		if c, err = config.Load(configFile); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	}
	s, err := openStore(ctx, c.Store)
	if err != nil {
		return nil, notRun(err)
	}
	return s, nil
}

func openStore(ctx context.Context, path string) (*store.Store, error) {
	if path == "" {
		path = filepath.Join(stateDir, "rehearse.db")
	}
	return store.Open(ctx, path)
}
