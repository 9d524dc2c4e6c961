package variants

import (
	_ "embed"
	"html/template"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/page"
)

//go:embed page.html.tmpl
var pageSource string

//go:embed metrics.html.tmpl
var metricsSource string

//go:embed parts.html.tmpl
var partsSource string

//go:embed session.html.tmpl
var sessionSource string

//go:embed page.css
var pageStyle string

//go:embed session.css
var sessionStyle string

// pageTemplate is the template of a replay run's page. It has the style and the pieces of a run's page, and its own.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return page.Parse(sessionStyle+pageStyle, pageSource+metricsSource+partsSource+sessionSource)
})

// top is what stands above the sessions, and below them.
type top struct {
	decision
	Run                 replay.Run
	Title, Belief       string
	Warning             string
	Candidate, Baseline string
	Match               *matchFigure
	// Places are the sections of the page, by their ids.
	Places             []page.Filter
	Facts              []page.Fact
	Fidelity           *fidelityView
	Gate               *gateView
	Forest             []forestRow
	Margins, Supported bool // whether the drawing has any
	Meanings           []string
	Figures            *figuresView
	Ends               []endsView
	EndsMean           string
	Funnel             *funnelView
	Lists              []listView
	Slices             []sliceKind
	SlicesMean         string
	Repeats            *repeatsView
	Clusters           *clustersView
	More               *moreView
	Divergence         *divergenceView
	Notes              []noteView
	NotesLeft          int
	LaneOrder          string
	// Support and Grey explain the sessions side by side.
	Support, Grey string
	Filters       []page.Filter
	Shown, All    int
	// Lines counts the sessions of which only the line is shown.
	Lines int
}

// matchFigure is the candidate's completion match.
type matchFigure struct {
	Value, Interval, Baseline string
	// Of says over which sessions it is, Lost how many pairs are not among them.
	Of, Lost string
	Bar      *page.Bar
}

// divergenceView says where sessions left the log's path.
type divergenceView struct {
	divergenceText
	Never, All int
	// Untold counts the sessions in which the candidate, or the log, tells no states.
	Untold   int
	Bars     []stepBar
	Coverage string
	Cover    page.Bar
}

// stepBar is a turn of the histogram with its height in percent.
type stepBar struct {
	divergenceBar
	Top, Height float64
}

// topOf makes the top of the page; anchors are the places of the sessions that the page shows.
func topOf(r *replay.Report, anchors map[string]string) top {
	groups := groupsOf(r)
	t := top{
		decision: decisionOf(r), Run: r.Run, Title: headline(r) + " · rehearse", Belief: beliefSentence(r),
		Warning: warning(r), Candidate: variantWords(&r.Candidate),
		Match: matchOf(r), Facts: factsOf(r), Fidelity: fidelityOf(r), Gate: gateOf(r), Forest: forestOf(r, groups.first),
		Meanings: verdictMeanings(r, groups.first), Figures: figuresOf(r, groups), Ends: endsOf(r), EndsMean: endsMeans(r), Funnel: funnelOf(r),
		Lists: listsOf(r, anchors, maxListed), Slices: slicesOf(r), SlicesMean: sliceMeans, Repeats: repeatsOf(r, groups),
		Clusters: clustersOf(r, groups), More: moreOf(r, groups), Divergence: divergenceOf(r), LaneOrder: laneOrderWords(r),
		Support: supportedMeans(r.Run.Mode), Grey: greyMeans(r.Run.Mode),
	}
	if r.Baseline != nil {
		t.Baseline = variantWords(r.Baseline)
	}
	for _, row := range t.Forest {
		t.Margins = t.Margins || row.Plot != nil && row.Plot.Margin != nil
		t.Supported = t.Supported || row.Plot != nil && row.Plot.Support != nil
	}
	t.Notes, t.NotesLeft = notesOf(r)
	t.Places = t.places()
	return t
}

// places lists the sections that the page has.
func (t *top) places() (places []page.Filter) {
	for _, p := range []struct {
		has       bool
		id, label string
	}{
		{t.Gate != nil, "gate", "Gate"},
		{len(t.Forest) > 0, "differences", "Metrics"},
		{t.Fidelity != nil, "fidelity", "Simulated user"},
		{len(t.Ends) > 0, "ends", "Ends"},
		{t.Funnel != nil, "log", "Log"},
		{len(t.Lists) > 0, "lists", "Sessions to look at"},
		{len(t.Slices) > 0, "slices", "Slices"},
		{t.Repeats != nil, "repeats", "Repeats"},
		{t.Clusters != nil, "clusters", "Users"},
		{len(t.Notes) > 0, "notes", "What to know"},
		{true, "sessions", "Side by side"},
	} {
		if p.has {
			places = append(places, page.Filter{ID: p.id, Label: p.label})
		}
	}
	return places
}

// greyMeans says what a grey turn is.
func greyMeans(mode replay.Mode) string {
	if mode == replay.Forced {
		return "One that could not be taken is grey, and counts as one that leads nowhere."
	}
	return "What follows one that is not says little about the variant, and is grey."
}

func laneOrderWords(r *replay.Report) string {
	if r.Baseline == nil {
		return "there was no baseline"
	}
	return "the baseline in " + text.Count(r.LaneOrder.BaselineFirst) + ", the candidate in " + text.Count(r.LaneOrder.CandidateFirst) + " replays"
}

func matchOf(r *replay.Report) *matchFigure {
	m := metricOf(r, replay.CompletionMatch)
	if m == nil || m.Candidate == nil {
		if r.Run.CompletionMatch == nil {
			return nil
		}
		return &matchFigure{Value: quantity(*r.Run.CompletionMatch, replay.Share), Of: "of sessions ended as in the log"}
	}
	f := &matchFigure{Value: estimate(m.Candidate, m.Unit), Of: "of " + text.Plural(m.Candidate.N, "session") + " ended as in the log"}
	if n := lostPairs(r); n > 0 {
		f.Lost = text.Plural(n, "lost pair") + plural(n, " is", " are") + " not among them"
	}
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
		facts = append(facts, page.Fact{Name: "Days asked for", Value: days})
	}
	if r.Run.Mode != "" {
		facts = append(facts, page.Fact{Name: "Mode", Value: text.Capital(text.OneLine(string(r.Run.Mode), 20)), Note: modeMeans(r.Run.Mode)})
	}
	if c := r.Run.SupportCoverage; c != nil {
		facts = append(facts, page.Fact{Name: wordsOf(replay.SupportCoverage, r.Run.Mode).name, Value: quantity(*c, replay.Share), Note: supportNote(r.Run.Mode)})
	}
	if r.Run.PairsDropped > 0 {
		facts = append(facts, page.Fact{Name: "Lost pairs", Value: text.Count(r.Run.PairsDropped), Note: text.Capital(lostNote(r))})
	}
	if ms := r.Run.Ended.Sub(r.Run.Started).Milliseconds(); !r.Run.Ended.IsZero() && !r.Run.Started.IsZero() && ms >= 0 {
		facts = append(facts, page.Fact{Name: "Duration", Value: text.Milliseconds(float64(ms))})
	}
	return facts
}

// supportNote says what the candidate's support coverage counts.
func supportNote(mode replay.Mode) string {
	if mode == replay.Forced {
		return "of the logged turns, by the candidate"
	}
	return "of the logged turns are supported in the candidate"
}

// lostNote says which lane lost the pairs, and what completion match would be if the candidate had lost each of them.
func lostNote(r *replay.Report) string {
	said := "a lane failed; left out of the metrics"
	if m := metricOf(r, replay.CompletionMatch); m != nil && m.Difference != nil && m.Difference.WorstCase != nil {
		said += ". At worst completion match differs by " + change(*m.Difference.WorstCase, m.Unit)
	}
	return said
}

func divergenceOf(r *replay.Report) *divergenceView {
	never, turns, all := divergencesOf(r)
	if all == 0 && r.Run.SupportCoverage == nil {
		return nil
	}
	v := &divergenceView{divergenceText: divergenceTexts(r.Run.Mode), Never: never, All: all, Untold: max(r.Run.Sessions-all, 0)}
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
