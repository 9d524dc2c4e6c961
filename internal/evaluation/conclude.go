package evaluation

import (
	"cmp"
	"context"
	"errors"

	"rehearse/internal/report"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
)

// Conclude writes how the run ended and its reports, and returns the report for whoever shows it. A report that cannot be written is a warning
// and makes the run's exit code result.ExitNotRun; the others are written.
func (e *Evaluation) Conclude(h *Held) (r *report.Report, err error) {
	defer func() { err = errors.Join(err, h.lock.Release()) }()
	h.Run.Warnings = e.warnings()
	if err := e.writeRun(h); err != nil {
		return h.made.Report(h.Run), err
	}
	indexed := e.index.enter(context.Background(), h.Run, h.Dir) // also after an interruption
	defer func() { <-indexed }()
	r = h.made.Report(h.Run)
	if e.baseline != "" {
		against, err := report.Compare(runlog.Read(e.baseline), r.Tests())
		if err != nil {
			return nil, err
		}
		r.Against = against
	}
	err = r.Write(h.Dir, report.Formats().Choose(e.Formats))
	if err == nil {
		return r, nil
	}
	e.warn(err.Error())
	if h.Run.Code() != result.ExitInterrupted {
		h.Run.Ended(result.ExitNotRun, result.ReasonAborted)
	}
	h.Run.ExitMessage = cmp.Or(h.Run.ExitMessage, e.setup.Secrets().Text(err.Error()))
	h.Run.Warnings = e.warnings()
	return r, e.writeRun(h)
}
