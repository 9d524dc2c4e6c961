package evaluation

import (
	"context"
	"errors"

	"rehearse/internal/report"
	"rehearse/internal/result"
)

// Conclude compares the run with its baseline, writes how it ended and its reports, and returns the report for whoever shows it. A report
// that cannot be written, or a comparison that cannot be made, is a warning and makes the run's exit code result.ExitNotRun; the other reports
// are written.
func (e *Evaluation) Conclude(h *Held) (r *report.Report, err error) {
	defer func() { err = errors.Join(err, h.lock.Release()) }()
	e.compare(h)
	h.Run.Warnings = e.warnings()
	if err := e.mask(h); err != nil {
		return h.made.Report(h.Run), err
	}
	// A run that passed says so last: until its reports are there it may still fail.
	passed := h.Run.Code() == result.ExitPassed
	if !passed {
		if err := e.writeRun(h); err != nil {
			return h.made.Report(h.Run), err
		}
	}
	indexed := e.index.enter(context.Background(), h.Run, h.Dir) // also after an interruption
	defer func() { <-indexed }()
	r = h.made.Report(h.Run)
	err = r.Write(h.Dir, report.Formats().Choose(e.Formats))
	if err != nil {
		e.lacks(h, err)
		h.Run.Warnings = e.warnings()
	}
	if err != nil || passed {
		return r, e.writeRun(h)
	}
	return r, nil
}
