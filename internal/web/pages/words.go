package pages

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// functions are what templates call beside those of the frame.
func functions() template.FuncMap {
	return template.FuncMap{
		"plain": plain, "score2": scoreOf, "codes": codesOf, "when": when,
		"clock": func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
		"ago":   func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") },

		"segment": frame.Segment,
		"choices": func(all []string, chosen string) choices { return choices{all, chosen} },
		"list":    func(words ...string) []string { return words },
		"named":   func(name string, s side) namedSide { return namedSide{name, s} },
		"metrics": func(of []metric, counted string) metricsOfTarget {
			return metricsOfTarget{Metrics: of, Counted: counted}
		},
		"pairof": func(a, b held) []held { return []held{a, b} },
		"words":  func(code string) string { return cmp.Or(verdictWords[code], code) },
		"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	}
}

// verdictWords are verdicts as people read them; the others are words already.
var verdictWords = map[string]string{
	"non_inferior": "not worse", "not_judgeable": "not judgeable", "inconclusive": "not told apart",
}

// choices are what a control offers, and what is chosen.
type choices struct {
	All    []string
	Chosen string
}

// namedSide is a run of a comparison with its letter.
type namedSide struct {
	Name string
	Side side
}

// metricsOfTarget are metrics; Target names what they are of where there are several. Counted is the head of the column
// that says over how many.
type metricsOfTarget struct {
	Metrics         []metric
	Target, Counted string
}

func addressOfRun(id string) string { return "/runs/" + frame.Segment(id) }

// addressOfTest returns the address of a conversation; from is the query of the list that it is opened from.
func addressOfTest(run string, t runindex.Test, trials []string, from string) string {
	values := url.Values{"suite": {t.Suite}, "target": {t.Target}}
	if len(trials) > 0 {
		values["trial"] = trials
	}
	if from != "" {
		values.Set("from", from)
	}
	return frame.Address(addressOfRun(run)+"/tests/"+frame.Segment(t.ID),
		frame.Only(values, "suite", "target", "trial", "from"))
}

// surelyShown is how many turns of a usual conversation a page shows, whatever was said in them.
const surelyShown = 20

// atTurn returns the address of a turn of a conversation. One that may not fit onto the page is asked for.
func atTurn(address string, turn int) string {
	number := strconv.Itoa(turn)
	if turn > surelyShown {
		address += map[bool]string{true: "&", false: "?"}[strings.Contains(address, "?")] + fromTurn + "=" + number
	}
	return address + "#turn-" + number
}

// plain writes a number, or one that may be unknown.
func plain(x any) string {
	switch x := x.(type) {
	case float64:
		return frame.Plain(x)
	case *float64:
		if x != nil {
			return frame.Plain(*x)
		}
	}
	return ""
}

// scoreOf returns the score of a verdict as an attribute has it; nothing for what was not graded.
func scoreOf(v result.Verdict, score float64) string {
	if !v.Graded() {
		return ""
	}
	return frame.Plain(score)
}

func codesOf(codes []result.Code) string {
	words := make([]string, len(codes))
	for i, c := range codes {
		words[i] = string(c)
	}
	return strings.Join(words, " ")
}

// when writes a time for people.
func when(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2 Jan 2006, 15:04:05 UTC")
}

// figures writes numbers of totals for people and as attributes.

func count(name, label string, n int) frame.Figure {
	return frame.Figure{Name: name, Label: label, Value: text.Count(n), Data: fmt.Sprint(n)}
}

func tokensFigure(u chat.Usage) frame.Figure {
	f := frame.Figure{Name: "tokens", Label: "Tokens", Value: "unknown"}
	if !u.Unknown {
		f.Value, f.Data = text.Count(u.Total()), fmt.Sprint(u.Total())
	}
	return f
}

func costFigure(c chat.Cost) frame.Figure {
	f := frame.Figure{Name: "cost_usd", Label: "Cost", Value: "unknown"}
	if !c.Unknown {
		f.Value, f.Data = text.Dollars(c.USD), frame.Plain(c.USD)
	}
	return f
}

func rateFigure(t result.Totals, r result.PassRate) frame.Figure {
	words := report.RateOf(t, r)
	f := frame.Figure{
		Name: "pass_rate", Label: "Pass rate", Value: cmp.Or(words.Value, "unknown"),
		Note: cmp.Or(words.Note, "no test was graded"),
	}
	if r.Rate != nil {
		f.Data, f.Low, f.High = frame.Plain(*r.Rate), frame.Plain(r.Interval[0]), frame.Plain(r.Interval[1])
	}
	if r.Bounds != nil && !r.Known() { // the interval leaves out the unknown tests
		f.Low, f.High = frame.Plain(r.Bounds[0]), frame.Plain(r.Bounds[1])
	}
	return f
}

// reviewedRate is the figure of a rate over tests that people have decided.
func reviewedRate(passed, graded int) frame.Figure {
	t := result.Totals{Passed: passed, Failed: graded - passed}
	return rateFigure(t, t.PassRate(stats.Wilson(passed, graded)))
}

func meanFigure(t result.Totals) frame.Figure {
	f := frame.Figure{Name: "mean_score", Label: "Mean score", Value: cmp.Or(report.MeanScore(t), "unknown")}
	if t.MeanScore != nil {
		f.Data = frame.Plain(*t.MeanScore)
	}
	if t.MeanScoreBounds != nil && t.Unknown() > 0 {
		f.Low, f.High = frame.Plain(t.MeanScoreBounds[0]), frame.Plain(t.MeanScoreBounds[1])
	}
	return f
}

// totals are the figures of a run, or of one of its targets.
func totals(t result.Totals) []frame.Figure {
	return []frame.Figure{
		count("tests", "Tests", t.Tests), count("passed", "Passed", t.Passed), count("failed", "Failed", t.Failed),
		count("errors", "Errors", t.Errors), count("ungraded", "Not graded", t.Ungraded),
		count("skipped", "Skipped", t.Skipped),
	}
}

// used are the figures of what a run has used.
func used(t result.Totals) []frame.Figure {
	return []frame.Figure{
		tokensFigure(t.Usage.Add(t.Judge.Usage)), costFigure(t.Cost),
		count("judge_calls", "Judge calls", t.Judge.Calls),
		count("judge_cache_hits", "Verdicts from the cache", t.Judge.CacheHits),
	}
}
