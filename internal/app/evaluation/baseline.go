package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// findBaseline finds the run that this one is compared with, before anything is asked. What cannot be compared is an
// error.
func (e *Evaluation) findBaseline(ctx context.Context) (err error) {
	switch {
	case e.spec.Baseline == "" && e.regraded != nil:
		e.baseline = e.regraded.dir
		return nil
	case e.spec.Baseline == "":
		return nil
	}
	e.baseline, err = FindRun(ctx, e.setup, e.spec.Baseline)
	if e.BaselineOptional && errors.Is(err, ErrNoRun) {
		e.warn("there is no baseline " + e.spec.Baseline + ": nothing is compared, and the run's own verdicts decide")
		return nil
	}
	if err != nil {
		return err
	}
	if e.Resume && sameFolder(e.baseline, e.Out) {
		return source.Invalid("the baseline %s is the run itself: name another run with --baseline", e.spec.Baseline)
	}
	of, err := compare.Open(e.baseline)
	if err != nil {
		return source.Invalid("cannot compare with the baseline: %w", err)
	}
	if err := e.Compare.Check("baseline", len(of.Run.Targets)); err != nil {
		return err
	}
	return e.Compare.Check("run", len(e.planned.targets))
}

// compare compares the run with its baseline and settles its exit code by the gate.
func (e *Evaluation) compare(h *Completed) {
	if e.baseline == "" {
		return
	}
	baseline, err := compare.Open(e.baseline)
	if err != nil {
		e.lacks(h, err)
		return
	}
	c, err := e.compared(h, baseline)
	if err != nil {
		e.lacks(h, fmt.Errorf("compare with the baseline: %w", err))
		return
	}
	c.Confirmation = h.confirmed.about
	h.Run.Comparison = c
	if why := compare.Unmatched(c); why != "" {
		e.warn("the baseline decides nothing: " + why)
	}
	if h.confirmed.interrupted {
		h.Run.Ended(result.ExitInterrupted, result.ReasonInterrupted)
		h.Run.ExitMessage = "interrupted while tests ran again: " + h.confirmed.about.Missing
		return
	}
	if code, why := compare.Rule(e.spec.Rule()).Exit(c, h.Run.Code()); why != "" {
		h.Run.Ended(code, h.Run.ExitReason)
		h.Run.ExitMessage = why
	}
}

// compared compares the run with its baseline, with what repeats have found so far.
func (e *Evaluation) compared(h *Completed, baseline compare.Side) (*result.Comparison, error) {
	o := e.Compare
	o.Deterministic, o.Repeats = e.spec.Rule().Gate == compare.AnyChange, h.confirmed.repeats
	candidate := compare.Side{Run: h.Run, Tests: runlog.Briefs(h.tests), Retried: h.confirmed.retried}
	return compare.Runs(baseline, candidate, o)
}

// lacks notes that something that belongs to the results could not be made. The run is then no success.
func (e *Evaluation) lacks(h *Completed, err error) {
	h.Cause = errors.Join(h.Cause, err)
	e.warn(err.Error())
	if h.Run.Code() != result.ExitInterrupted {
		h.Run.Ended(result.ExitNotRun, result.ReasonAborted)
	}
	if h.Run.Comparison != nil {
		h.Run.Comparison.Candidate.ExitReason = h.Run.ExitReason
	}
	h.Run.ExitMessage = cmp.Or(h.message, e.setup.Secrets().Text(err.Error()))
}
