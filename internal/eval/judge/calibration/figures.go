package calibration

import (
	"math"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// Figures say how far a judge agrees with people. What is not defined is nil.
type Figures struct {
	// N counts the answers on which people and the judge have a verdict, Agreed those with the same one.
	N      int `json:"n"`
	Agreed int `json:"agreed"`
	// Accuracy is Agreed/N, with its Wilson interval.
	Accuracy         *float64    `json:"accuracy"`
	AccuracyInterval *[2]float64 `json:"accuracy_interval"`
	// Kappa is Cohen's κ of the people's verdict and the judge's.
	Kappa         *float64    `json:"kappa"`
	KappaInterval *[2]float64 `json:"kappa_interval"`
	// Alpha is Krippendorff's α for labels, for preferences the ordinal one, with the judge as one more rater among the
	// people, also of answers on which people are split.
	Alpha         *float64    `json:"alpha"`
	AlphaInterval *[2]float64 `json:"alpha_interval"`
	Confusion     Confusion   `json:"confusion"`
	// Pairs compares preferences where people compared answers; nil where nobody did.
	Pairs *PairFigures `json:"pairs,omitempty"`
	// FalsePass is the share of what people failed that the judge passes, FalseFail the share of what they passed that
	// it fails.
	FalsePass Share `json:"false_pass"`
	FalseFail Share `json:"false_fail"`
	// Undecided counts answers that the judge could not decide.
	Undecided int `json:"undecided"`
	// Scores compares scores where people gave them; nil where nobody did.
	Scores *ScoreFigures `json:"scores,omitempty"`
}

// Confusion counts answers by the verdict of people and then that of the judge.
type Confusion struct {
	PassPass int `json:"pass_pass"`
	PassFail int `json:"pass_fail"`
	FailPass int `json:"fail_pass"`
	FailFail int `json:"fail_fail"`
}

// Share is a part of something, with the Wilson interval of the rate.
type Share struct {
	Count    int         `json:"count"`
	Of       int         `json:"of"`
	Rate     *float64    `json:"rate"`
	Interval *[2]float64 `json:"interval"`
}

// PairFigures compares the preferences of people with those of the judge.
type PairFigures struct {
	// Preferences counts pairs by the verdict of people and then that of the judge, each of a, b and tie.
	Preferences map[Verdict]map[Verdict]int `json:"preferences"`
	// WeightedKappa is Cohen's κ with linear weights: a tie is half a disagreement.
	WeightedKappa         *float64    `json:"weighted_kappa"`
	WeightedKappaInterval *[2]float64 `json:"weighted_kappa_interval"`
}

// ScoreFigures compares the scores of people with those of the judge.
type ScoreFigures struct {
	N int `json:"n"`
	// Error is the mean absolute difference.
	Error float64 `json:"mean_absolute_error"`
	// WeightedKappa is Cohen's κ with quadratic weights, Alpha Krippendorff's α for numbers.
	WeightedKappa         *float64    `json:"weighted_kappa"`
	WeightedKappaInterval *[2]float64 `json:"weighted_kappa_interval"`
	Alpha                 *float64    `json:"alpha"`
	AlphaInterval         *[2]float64 `json:"alpha_interval"`
}

// seed makes the intervals of α the same every time.
const seed = 1

// figuresOf compares the verdicts on some items.
func figuresOf(items []*Result, threshold float64) Figures {
	var f Figures
	var people, judge []Verdict
	var raters [][]Verdict
	var human, judged []float64
	var scores [][]float64
	for _, a := range items {
		first, second := a.people(threshold), a.Verdict()
		if second == "" || first == Unclear {
			continue
		}
		if second == Undecided {
			f.Undecided++
			continue
		}
		raters = append(raters, append(a.verdicts(threshold), second))
		if first == Split {
			continue
		}
		people, judge = append(people, first), append(judge, second)
		f.add(a.Pair, first, second)
		if a.Scored() {
			own := *a.Answers[0].Score
			human, judged = append(human, a.score()), append(judged, own)
			scores = append(scores, append(a.scores(), own))
		}
	}
	c := f.Confusion
	f.N = len(people)
	if agreed := shareOf(f.Agreed, f.N); f.N > 0 {
		f.Accuracy, f.AccuracyInterval = agreed.Rate, agreed.Interval
	}
	f.FalsePass, f.FalseFail = shareOf(c.FailPass, c.FailPass+c.FailFail), shareOf(c.PassFail, c.PassPass+c.PassFail)
	f.Kappa, f.KappaInterval = kappa(stats.Kappa(people, judge))
	f.Alpha, f.AlphaInterval = verdictAlpha(raters)
	if f.Pairs != nil {
		weighted := stats.WeightedKappa(ranks(people), ranks(judge), stats.Linear)
		f.Pairs.WeightedKappa, f.Pairs.WeightedKappaInterval = kappa(weighted)
	}
	if len(human) > 0 {
		f.Scores = scoreFigures(human, judged, scores)
	}
	return f
}

// add counts one answer, or one pair.
func (f *Figures) add(pair bool, people, judge Verdict) {
	if people == judge {
		f.Agreed++
	}
	c := &f.Confusion
	switch {
	case pair:
		if f.Pairs == nil {
			f.Pairs = &PairFigures{Preferences: map[Verdict]map[Verdict]int{
				A: {A: 0, B: 0, Tie: 0}, B: {A: 0, B: 0, Tie: 0}, Tie: {A: 0, B: 0, Tie: 0},
			}}
		}
		f.Pairs.Preferences[people][judge]++
	case people == Pass && judge == Pass:
		c.PassPass++
	case people == Pass:
		c.PassFail++
	case judge == Pass:
		c.FailPass++
	default:
		c.FailFail++
	}
}

func scoreFigures(human, judged []float64, scores [][]float64) *ScoreFigures {
	s := &ScoreFigures{N: len(human)}
	for i := range human {
		s.Error += math.Abs(human[i]-judged[i]) / float64(len(human))
	}
	s.WeightedKappa, s.WeightedKappaInterval = kappa(stats.WeightedKappa(human, judged, stats.Quadratic))
	s.Alpha, s.AlphaInterval = alpha(scores, stats.IntervalAlpha)
	return s
}

func shareOf(count, of int) Share {
	s := Share{Count: count, Of: of}
	if of > 0 {
		s.Rate, s.Interval = new(float64(count)/float64(of)), new(stats.Wilson(count, of))
	}
	return s
}

// kappa returns κ with its interval. That of a judge who gives one verdict only has no width, and is nil: it would
// claim what nobody knows.
func kappa(a stats.Agreement) (*float64, *[2]float64) {
	switch {
	case !a.Defined:
		return nil, nil
	case a.Interval[0] == a.Interval[1]:
		return &a.Kappa, nil
	}
	return &a.Kappa, &a.Interval
}

// verdictAlpha returns α of verdicts. Preferences have an order: a tie stands between a and b.
func verdictAlpha(raters [][]Verdict) (*float64, *[2]float64) {
	if !slices.ContainsFunc(raters, func(said []Verdict) bool {
		return slices.ContainsFunc(said, func(v Verdict) bool { return v == A || v == B || v == Tie })
	}) {
		return alpha(raters, stats.NominalAlpha[Verdict])
	}
	units := make([][]float64, len(raters))
	for i, said := range raters {
		units[i] = ranks(said)
	}
	return alpha(units, stats.OrdinalAlpha[float64])
}

// ranks are preferences as numbers: a, a tie, b.
func ranks(said []Verdict) []float64 {
	numbers := make([]float64, len(said))
	for i, v := range said {
		switch v {
		case Tie:
			numbers[i] = 1
		case B:
			numbers[i] = 2
		}
	}
	return numbers
}

// alpha returns α of units with its interval, which is nil when nothing is known of it.
func alpha[L comparable](units [][]L, of func([][]L) (float64, bool)) (*float64, *[2]float64) {
	a, defined := of(units)
	if !defined {
		return nil, nil
	}
	interval := stats.AlphaInterval(units, seed, of)
	if interval == [2]float64{-1, 1} {
		return &a, nil
	}
	return &a, &interval
}
