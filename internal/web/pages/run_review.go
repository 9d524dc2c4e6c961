package pages

import (
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// review is what people decided over the verdicts of a run, or of one target of it.
type review struct {
	quarantined, reviewed int
	// passed and graded are those of the pass rate after review.
	passed, graded int
}

func (r *review) add(e *runindex.Entry, book *annotation.Book) {
	if book.HasOverrides(e.Suite, e.TestID, e.Target) {
		r.reviewed++
	}
	v := book.Verdict(e.Key, e.Verdict)
	switch {
	case e.Quarantined != nil || !v.Graded():
		return
	case v == result.Pass:
		r.passed++
	}
	r.graded++
}

// figures returns the figures of a review. The rate is left out where nobody decided anything, and where it would be
// one over several systems.
func (r *review) figures(several bool, target string) []frame.Figure {
	figures := []frame.Figure{
		count("quarantined", "In quarantine", r.quarantined), count("reviewed", "Reviewed", r.reviewed),
	}
	if r.reviewed > 0 && r.graded > 0 && !several {
		rate := reviewedRate(r.passed, r.graded)
		rate.Name, rate.Label = "pass_rate_reviewed", "Pass rate after review"
		figures = append(figures, rate)
	}
	for i := range figures {
		figures[i].Target = target
	}
	return figures
}

// reviewed adds the figures of what people decided over the machine: of the run, and of each target where there are
// several.
func (p *runPage) reviewed(index *runindex.Index, book *annotation.Book) {
	all, of := review{quarantined: index.Run.Totals.Quarantined}, map[string]*review{}
	for _, t := range p.Targets {
		of[t.Name] = &review{quarantined: index.Run.ByTarget[t.Name].Totals.Quarantined}
	}
	for _, e := range index.Tests {
		all.add(e, book)
		if target := of[e.Target]; target != nil {
			target.add(e, book)
		}
	}
	p.Figures = append(p.Figures, all.figures(len(of) > 1, "")...)
	for i := range p.Targets {
		t := &p.Targets[i]
		t.Figures = append(t.Figures, of[t.Name].figures(false, t.Name)...)
	}
}
