package pages

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// agreementOf is how far people and the judge agree on one grader with one model.
type agreementOf struct {
	Grader, Model string
	Figures       []frame.Figure
}

// agreements fills in how far people and the judge agree, over the labels pass and fail.
func (p *judgePage) agreements(labelled []judgement) {
	type kind struct{ grader, model string }
	said, judged := map[kind][]string{}, map[kind][]string{}
	var kinds []kind
	for _, j := range labelled {
		if j.Label.Label != "pass" && j.Label.Label != "fail" {
			continue
		}
		k := kind{j.Grader, p.run.Record.Judge}
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
		for _, of := range []kind{k, {}} {
			said[of], judged[of] = append(said[of], j.Label.Label), append(judged[of], j.Judged())
		}
		at := func(verdict string) int {
			if verdict == "pass" {
				return 0
			}
			return 1
		}
		p.Table[at(j.Label.Label)][at(j.Judged())]++
	}
	p.Figures = agreementFigures(said[kind{}], judged[kind{}])
	for _, k := range kinds {
		p.By = append(p.By, agreementOf{k.grader, k.model, agreementFigures(said[k], judged[k])})
	}
}

func agreementFigures(said, judged []string) []frame.Figure {
	a := stats.Kappa(said, judged)
	agreement := frame.Figure{Name: "agreement", Label: "Agreement", Value: "unknown"}
	kappa := frame.Figure{Name: "kappa", Label: "Cohen’s kappa", Value: "unknown"}
	if a.N > 0 {
		agreement.Value, agreement.Data = text.Percent(a.Observed), frame.Plain(a.Observed)
	}
	if a.Defined {
		kappa.Value, kappa.Data, kappa.Low, kappa.High = text.Score(a.Kappa, 2), frame.Plain(a.Kappa),
			frame.Plain(a.Interval[0]), frame.Plain(a.Interval[1])
		kappa.Note = "95% interval " + text.Score(a.Interval[0], 2) + " to " + text.Score(a.Interval[1], 2)
	}
	return []frame.Figure{count("labels", "Labels", a.N), agreement, kappa}
}
