package evaluation

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"rehearse/internal/orchestrator"
	"rehearse/internal/report"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/source"
)

// isRun reports whether a folder holds the results of a run.
func isRun(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, runlog.RunFile))
	return err == nil && !info.IsDir()
}

// takeFolder locks and prepares the run's folder. A resumed run keeps its ID and its start; an earlier run in the folder is moved aside.
func (e *Evaluation) takeFolder(ctx context.Context, h *Held) (err error) {
	if err := os.MkdirAll(h.Dir, 0o755); err != nil {
		return source.Invalid("cannot write results: %w", err)
	}
	if h.lock, err = runlog.TakeLock(ctx, h.Dir); err != nil {
		return source.AsInvalid(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.lock.Release())
		}
	}()
	foreign, err := runlog.Foreign(h.Dir, report.Formats().Choose(e.Formats).Marks())
	if foreign != "" {
		return source.Invalid("cannot write results: %s is there and no run has written it: move it away, or choose another folder with --out",
			filepath.Join(h.Dir, foreign))
	}
	if err != nil {
		return source.Invalid("cannot write results: %w", err)
	}
	if !e.Resume {
		return e.setAside(h.Dir)
	}
	before, err := runlog.ReadRun(h.Dir)
	if err != nil {
		return source.Invalid("cannot resume: %w", err)
	}
	h.Run.ID, h.Run.StartedAt, h.Run.DurationMS = before.ID, before.StartedAt, before.DurationMS
	return nil
}

// setAside moves the results of an earlier run out of a folder that is used again, so that they are not lost.
func (e *Evaluation) setAside(dir string) error {
	aside, err := runlog.MoveAside(dir, report.Formats().Files()...)
	if err != nil || aside == "" {
		return err
	}
	if sameFolder(e.baseline, dir) {
		e.baseline = aside
	}
	e.warn("the earlier run in " + dir + " is moved to " + aside)
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

// prior has the outcomes of conversations that a resumed run has finished.
type prior struct {
	outcomes map[result.Key]orchestrator.Outcome
	tests    int
	// again are the tests that have a record and are run again.
	again map[result.Key]bool
}

func (p prior) outcome(k result.Key) (orchestrator.Outcome, bool) {
	o, ok := p.outcomes[k]
	return o, ok
}

// prior reads the outcomes to keep. Rerun leaves out what failed, with all trials of such a test.
func (e *Evaluation) prior(dir string) (prior, error) {
	p := prior{outcomes: map[result.Key]orchestrator.Outcome{}, again: map[result.Key]bool{}}
	if !e.Resume {
		return p, nil
	}
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return p, err
		}
		p.outcomes[t.Key()] = orchestrator.OutcomeOf(t)
		// A skipped test depended on one that failed or broke. It may pass now.
		failed := t.Verdict == result.Fail && e.Rerun == "failed"
		broke := (t.Verdict == result.Error || t.Verdict == result.Skip) && e.Rerun != ""
		if t.Trial == 0 && (failed || broke) {
			p.again[t.Key()] = true
		}
	}
	for k := range p.outcomes {
		whole := k
		whole.Trial = 0
		if p.again[whole] {
			delete(p.outcomes, k)
		} else if k.Trial == 0 {
			p.tests++
		}
	}
	return p, nil
}

// recount leaves one record of each test in the log of a resumed run, and counts those of the plan. The old record of a test that was to run
// again and did not counts as not run.
func (e *Evaluation) recount(dir string, stale func(result.Key) bool) (*result.Tallies, error) {
	records := &result.Tallies{}
	if err := runlog.Compact(dir); err != nil {
		return records, err
	}
	planned := map[result.Key]bool{}
	for u, err := range e.planned.units() {
		if err != nil {
			return records, err
		}
		planned[result.Key{Suite: u.Test.Suite, TestID: u.Test.ID, Target: u.Target}] = true
	}
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return records, err
		}
		key := t.Key()
		key.Trial = 0
		if planned[key] && !stale(key) {
			records.Add(t)
		}
	}
	return records, nil
}
