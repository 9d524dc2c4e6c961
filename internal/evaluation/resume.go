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

// takeFolder prepares the run's folder. A resumed run keeps its ID and its start; an earlier run in the folder is moved aside.
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
}

func (p prior) outcome(k result.Key) (orchestrator.Outcome, bool) {
	o, ok := p.outcomes[k]
	return o, ok
}

// prior reads the outcomes to keep. Rerun leaves out what failed, with all trials of such a test.
func (e *Evaluation) prior(dir string) (prior, error) {
	p := prior{outcomes: map[result.Key]orchestrator.Outcome{}}
	if !e.Resume {
		return p, nil
	}
	rerun := map[result.Key]bool{}
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return p, err
		}
		p.outcomes[t.Key()] = orchestrator.OutcomeOf(t)
		// A skipped test depended on one that failed or broke. It may pass now.
		failed := t.Verdict == result.Fail && e.Rerun == "failed"
		broke := (t.Verdict == result.Error || t.Verdict == result.Skip) && e.Rerun != ""
		if t.Trial == 0 && (failed || broke) {
			rerun[t.Key()] = true
		}
	}
	for k := range p.outcomes {
		whole := k
		whole.Trial = 0
		if rerun[whole] {
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
