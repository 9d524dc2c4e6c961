package evaluation

import (
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

// takeFolder makes the folder the run's: a run that goes on keeps its id and beginning, an earlier one in the folder is moved aside.
func (e *Evaluation) takeFolder(h *Held) error {
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

// setAside moves the results of an earlier run out of a folder that is used again: what was finished is never lost.
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

// prior is what a resumed run has already finished.
type prior struct {
	outcomes map[result.Key]orchestrator.Outcome
	tests    int
}

func (p prior) outcome(k result.Key) (orchestrator.Outcome, bool) {
	o, ok := p.outcomes[k]
	return o, ok
}

// prior reads what need not be run again; Rerun takes out what failed, with all trials of such a test.
func (e *Evaluation) prior(dir string) (prior, error) {
	p := prior{outcomes: map[result.Key]orchestrator.Outcome{}}
	if !e.Resume {
		return p, nil
	}
	again := map[result.Key]bool{}
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return p, err
		}
		p.outcomes[t.Key()] = orchestrator.OutcomeOf(t)
		// What was skipped waited for something that failed or broke, and may pass now.
		failed := t.Verdict == result.Fail && e.Rerun == "failed"
		broke := (t.Verdict == result.Error || t.Verdict == result.Skip) && e.Rerun != ""
		if t.Trial == 0 && (failed || broke) {
			again[t.Key()] = true
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

// recount returns the totals of all records in the log.
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
