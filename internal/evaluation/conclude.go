package evaluation

import (
	"context"

	"rehearse/internal/report"
	"rehearse/internal/runlog"
)

// Conclude writes how the run ended and its reports, and returns the report for whoever shows it. An error beside a report says that a file of
// it could not be written.
func (e *Evaluation) Conclude(h *Held) (*report.Report, error) {
	if err := runlog.WriteRun(h.Dir, h.Run); err != nil {
		return nil, err
	}
	indexed := e.index.enter(context.Background(), h.Run, h.Dir) // also after an interruption
	defer func() { <-indexed }()
	r := h.made.Report(h.Run)
	if e.baseline != "" {
		against, err := report.Compare(runlog.Read(e.baseline), r.Tests())
		if err != nil {
			return nil, err
		}
		r.Against = against
	}
	return r, r.Write(h.Dir, report.Formats().Choose(e.Formats))
}
