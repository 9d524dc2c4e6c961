package evaluation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Conclude compares the run with its baseline, writes its reports and how it ended, and returns the report for whoever
// shows it. A report that cannot be written, or a comparison that cannot be made, is a warning and makes the run's exit
// code result.ExitNotRun; the other reports are written. An error says that the record of the run could not be written:
// it then says that the run is under way, or that it is aborted.
func (e *Evaluation) Conclude(h *Completed) (r *report.Report, err error) {
	defer func() { err = errors.Join(err, h.lock.Release()) }()
	if now, err := runlog.ReadRun(h.Dir); err == nil && now.ID != h.Run.ID {
		// Its lock was taken away, or is not seen by other machines.
		h.Run.Ended(result.ExitNotRun, result.ReasonAborted)
		return nil, fmt.Errorf("run %s has taken the folder %s from run %s, whose reports are not written", now.ID,
			h.Dir, h.Run.ID)
	}
	e.compare(h)
	noted := h.Run.Warnings // by whoever decided how the run ended
	h.Run.Warnings = slices.Concat(noted, e.warnings())
	if err := e.mask(h); err != nil {
		return report.New(h.Run, h.tests).At(e.ReportURL), err
	}
	// Until the reports are there a run may still come to a worse end, so it says last how it ended. One that has come
	// to the worst end says so first: on a full disk the reports would leave no room.
	said := h.Run.Code() == result.ExitNotRun && e.writeRun(h) == nil
	formats := report.Formats().Choose(e.Formats)
	r = report.New(h.Run, h.tests).At(e.ReportURL)
	if lost := r.Write(h.Dir, formats); lost != nil {
		e.lacks(h, lost)
		h.Run.Warnings = slices.Concat(noted, e.warnings())
		if err := e.mask(h); err != nil {
			return r, err
		}
		r, said = report.New(h.Run, h.tests).At(e.ReportURL), false
		_ = r.Write(h.Dir, formats) // what can be written must not look better than the run; what cannot has been told
	}
	if !said {
		if err = e.say(h, noted); err != nil {
			r = report.New(h.Run, h.tests).At(e.ReportURL)
			_ = r.Write(h.Dir, formats) // as far as there is still room
		}
	}
	<-e.index.enter(context.Background(), h.Run, h.Dir) // also after an interruption
	return r, err
}

// say writes how the run ended. When there is no room for that, the reports make some, and the run is aborted.
func (e *Evaluation) say(h *Completed, noted []string) error {
	err := e.writeRun(h)
	if err == nil {
		return nil
	}
	e.lacks(h, err)
	h.Run.Ended(result.ExitNotRun, result.ReasonAborted)
	h.Run.Warnings = slices.Concat(noted, e.warnings())
	return errors.Join(err, runlog.RemoveMarked(h.Dir, report.Formats().Marks()), e.writeRun(h))
}
