package variants

import (
	"math"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/document"
)

// forestPlot is a difference in a drawing plotWidth wide with nothing in the middle. What speaks for the candidate is
// on the right.
type forestPlot struct {
	All reachView
	// Support is the difference on supported turns, Margin where the loss that does not matter ends; nil when not
	// known.
	Support *reachView
	Margin  *float64
}

// reachView is a difference with its interval, as far as it is drawn.
type reachView struct {
	Low, High, At float64
	Known         bool // whether there is an interval
	// Endless is where an interval goes on beyond the drawing.
	EndlessLow, EndlessHigh bool
}

// A drawing is plotWidth wide. What is wider than maxReach times the difference and its interval is cut off, so that
// these stay visible.
const (
	plotWidth = 200
	maxReach  = 3
)

// plotOf draws one difference. Every metric has a scale of its own.
func plotOf(m *replay.MetricReport) *forestPlot {
	d, on := m.Difference, m.DifferenceOnSupport
	if !finite(d.Mean) {
		return nil
	}
	if on != nil && !finite(on.Mean) {
		on = nil
	}
	margin := marginOf(d)
	s := scale{reach: farthest(d), sign: 1}
	if m.LowerIsBetter {
		s.sign = -1
	}
	if s.reach == 0 {
		s.reach = max(margin, 0)
	}
	most := maxReach * s.reach
	if on != nil {
		s.reach = max(s.reach, math.Abs(on.Mean), min(farthest(on), most))
	}
	s.reach = max(s.reach, min(margin, most))
	if s.reach == 0 {
		s.reach = 1
	}
	p := &forestPlot{All: s.view(d)}
	if on != nil {
		p.Support = new(s.view(on))
	}
	if margin > 0 {
		p.Margin = new(s.at(-s.sign * margin))
	}
	return p
}

// marginOf is the loss that does not matter, 0 without one.
func marginOf(d *replay.DifferenceReport) float64 {
	if d.MarginSize == nil || !finite(*d.MarginSize) {
		return 0
	}
	return math.Abs(*d.MarginSize)
}

// farthest is how far from 0 a difference and the bounds of its interval are.
func farthest(d *replay.DifferenceReport) float64 {
	reach := math.Abs(d.Mean)
	for _, bound := range []*float64{d.Low, d.High} {
		if bound != nil && finite(*bound) {
			reach = max(reach, math.Abs(*bound))
		}
	}
	return reach
}

// scale maps differences of up to reach to a drawing; sign turns those around where lower is better.
type scale struct{ reach, sign float64 }

// at is where a difference is drawn, the edge of the drawing for what is beyond.
func (s scale) at(v float64) float64 {
	return document.Round(min(max(plotWidth/2+s.sign*v/s.reach*plotWidth*0.46, 0), plotWidth))
}

func (s scale) view(d *replay.DifferenceReport) reachView {
	low, high := d.Low, d.High
	if s.sign < 0 {
		low, high = high, low
	}
	v := reachView{At: s.at(d.Mean), High: plotWidth, Known: low != nil || high != nil}
	if v.EndlessLow = low == nil || !finite(*low) || s.at(*low) <= 0; !v.EndlessLow {
		v.Low = s.at(*low)
	}
	if v.EndlessHigh = high == nil || !finite(*high) || s.at(*high) >= plotWidth; !v.EndlessHigh {
		v.High = s.at(*high)
	}
	return v
}
