package lanes

import (
	_ "embed"
	"html/template"
	"sync"

	"rehearse/internal/replay"
	"rehearse/internal/report/page"
	"rehearse/internal/result"
	"rehearse/internal/text"
)

//go:embed page.html.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

// pageTemplate is the template of a replay run's page. It has the style and the pieces of a run's page, and its own.
var pageTemplate = sync.OnceValue(func() *template.Template { return page.Parse(pageStyle, pageSource) })

// top is what stands above the sessions.
type top struct {
	Run                replay.Run
	Title, Headline    string
	Detail, Belief     string
	Sign               result.Verdict
	Candidate          string
	Baseline           string
	Match              *matchFigure
	Facts              []page.Fact
	Gate               *gateView
	Forest             []forestRow
	Margins, Supported bool // whether the drawing has any
	Meanings           []string
	Figures            *figuresView
	More               *moreView
	Divergence         *divergenceView
	Notes              []noteView
	NotesLeft          int
	Filters            []page.Filter
	Shown, All         int
}

// matchFigure is the candidate's completion match.
type matchFigure struct {
	Value, Interval, Baseline string
	Bar                       *page.Bar
}

// gateView is what the gates look at and what they found.
type gateView struct {
	Name string
	// Decided is whether the run's gate has a verdict.
	Decided, Passed bool
	Metrics         []gateMetric
	// Rules are those of the specification.
	Rules []gateRule
	Spec  string
	Holds bool
	// Other is whether the specification's gate stands beside another one that decides.
	Other bool
}

type gateMetric struct {
	Sign               result.Verdict
	Name, Verdict, Why string
}

type gateRule struct {
	Sign       result.Verdict
	Text, Seen string
}

// divergenceView says where sessions left the log's path.
type divergenceView struct {
	Never, All int
	Bars       []stepBar
	Coverage   string
	Cover      page.Bar
}

// stepBar is a turn of the histogram with its height in percent.
type stepBar struct {
	divergenceBar
	Top, Height float64
}

func topOf(r *replay.Report) top {
	groups := groupsOf(r)
	t := top{
		Run: r.Run, Headline: headline(r), Detail: detail(r), Belief: beliefSentence(r), Sign: signOfRun(r),
		Candidate: variantWords(&r.Candidate), Match: matchOf(r), Facts: factsOf(r), Gate: gateOf(r), Forest: forestOf(r, groups.first),
		Meanings: verdictMeanings(groups.first), Figures: figuresOf(r, groups), More: moreOf(r, groups), Divergence: divergenceOf(r),
	}
	t.Title = t.Headline + " · rehearse"
	if r.Baseline != nil {
		t.Baseline = variantWords(r.Baseline)
	}
	for _, row := range t.Forest {
		t.Margins = t.Margins || row.Plot != nil && row.Plot.Margin != nil
		t.Supported = t.Supported || row.Plot != nil && row.Plot.Support != nil
	}
	t.Notes, t.NotesLeft = notesOf(r)
	return t
}

func matchOf(r *replay.Report) *matchFigure {
	m := metricOf(r, replay.CompletionMatch)
	if m == nil || m.Candidate == nil {
		if r.Run.CompletionMatch == nil {
			return nil
		}
		return &matchFigure{Value: quantity(*r.Run.CompletionMatch, replay.Share)}
	}
	f := &matchFigure{Value: estimate(m.Candidate, m.Unit)}
	if e := m.Candidate; e.Low != nil && e.High != nil && finite(*e.Low) && finite(*e.High) {
		b := page.BarOf(e.Value, [2]float64{*e.Low, *e.High})
		f.Bar, f.Interval = &b, text.PercentRange([2]float64{*e.Low, *e.High})
	}
	if m.Baseline != nil {
		f.Baseline = estimate(m.Baseline, m.Unit)
	}
	return f
}

func factsOf(r *replay.Report) []page.Fact {
	facts := []page.Fact{{Name: "Sessions", Value: text.Count(r.Run.Sessions), Note: outcomesOf(r)}}
	if days := period(r.From, r.To); days != "" {
		facts = append(facts, page.Fact{Name: "Logged", Value: days})
	}
	if r.Run.Mode != "" {
		facts = append(facts, page.Fact{Name: "Mode", Value: text.Capital(text.OneLine(string(r.Run.Mode), 20)), Note: modeMeans(r.Run.Mode)})
	}
	if c := r.Run.SupportCoverage; c != nil {
		facts = append(facts, page.Fact{Name: "Support coverage", Value: quantity(*c, replay.Share), Note: "of the candidate’s turns are supported"})
	}
	if r.Run.PairsDropped > 0 {
		facts = append(facts, page.Fact{Name: "Left out", Value: text.Plural(r.Run.PairsDropped, "session"), Note: "for which a replay failed"})
	}
	if ms := r.Run.Ended.Sub(r.Run.Started).Milliseconds(); !r.Run.Ended.IsZero() && !r.Run.Started.IsZero() && ms >= 0 {
		facts = append(facts, page.Fact{Name: "Duration", Value: text.Milliseconds(float64(ms))})
	}
	return facts
}

func gateOf(r *replay.Report) *gateView {
	if r.Baseline == nil || r.Passed == nil && r.Spec == nil {
		return nil
	}
	g := &gateView{Name: text.OneLine(r.Run.Gate, 20), Decided: r.Passed != nil, Passed: r.Passed != nil && *r.Passed}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		if d := m.Difference; m.Gated && d != nil && len(g.Metrics) < maxMetrics {
			g.Metrics = append(g.Metrics, gateMetric{
				verdict(d.Verdict).sign(), wordsOf(m.Name, r.Run.Mode).name, verdictPhrase(d.Verdict),
				change(d.Mean, m.Unit) + " " + interval(d.Low, d.High, m.Unit),
			})
		}
	}
	if r.Spec != nil {
		g.Rules, g.Spec, g.Holds = specRules(r), text.Capital(specWords(r.Spec))+".", r.Spec.Passed && r.Spec.Hard
		g.Other = g.Decided && r.Run.Gate != replay.GateSpec
	}
	return g
}

// specRules are the specification's four rules, and the one that no baseline excuses.
func specRules(r *replay.Report) (rules []gateRule) {
	for _, rule := range []struct{ metric, words string }{
		{replay.CompletionMatch, "Completion match at least the baseline’s"},
		{replay.TurnCountRatio, "Turn count ratio at most 1.1 × the baseline’s"},
		{replay.StateProgression, wordsOf(replay.StateProgression, r.Run.Mode).name + " at least the baseline’s"},
		{replay.AvgLatency, "Average latency at most 1.2 × the baseline’s"},
	} {
		holds, applies := r.Spec.Tests[rule.metric]
		if !applies {
			rules = append(rules, gateRule{result.Skip, rule.words, "does not apply"})
			continue
		}
		seen := ""
		if m := metricOf(r, rule.metric); m != nil {
			seen = estimate(m.Candidate, m.Unit) + ", the baseline’s " + estimate(m.Baseline, m.Unit)
		}
		rules = append(rules, gateRule{signOf(holds), rule.words, seen})
	}
	seen := ""
	if c := r.Run.CompletionMatch; c != nil {
		seen = quantity(*c, replay.Share)
	}
	return append(rules, gateRule{signOf(r.Spec.Hard), "Completion match at least 80%, whatever the baseline’s", seen})
}

func signOf(good bool) result.Verdict {
	if good {
		return result.Pass
	}
	return result.Fail
}

func divergenceOf(r *replay.Report) *divergenceView {
	never, turns, all := divergencesOf(r)
	if all == 0 && r.Run.SupportCoverage == nil {
		return nil
	}
	v := &divergenceView{Never: never, All: all}
	most := 0
	for _, t := range turns {
		most = max(most, t.Sessions)
	}
	for _, t := range turns {
		height := 0.0
		if t.Sessions > 0 {
			height = max(page.Round(100*float64(t.Sessions)/float64(most)), 2)
		}
		v.Bars = append(v.Bars, stepBar{t, page.Round(100 - height), height})
	}
	if c := r.Run.SupportCoverage; c != nil && finite(*c) {
		v.Coverage, v.Cover = quantity(*c, replay.Share), page.BarOf(*c, [2]float64{0, min(max(*c, 0), 1)})
	}
	return v
}
