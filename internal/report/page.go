package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"sync"

	"rehearse/internal/result"
	"rehearse/internal/text"
)

//go:embed page.html.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

// page returns the parsed template of a run's page: pieces, so that it can be written as a stream.
var page = sync.OnceValue(func() *template.Template { return parsePage(pageStyle, pageSource) })

// parsePage parses the pieces of a page with its style sheet.
// The policy allows the page's one style sheet, by its hash, and pictures that are in the page itself. Nothing else is
// loaded or run, whatever a transcript manages to put there.
func parsePage(style, source string) *template.Template {
	style = regexp.MustCompile(`(?s)/\*.*?\*/\s*`).ReplaceAllString(style, "")
	hash := sha256.Sum256([]byte(style))
	source = strings.NewReplacer(
		"[style]", style, "[style hash]", "sha256-"+base64.StdEncoding.EncodeToString(hash[:]),
	).Replace(source)
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"count": text.Count, "many": text.Plural, "percent": text.Percent, "between": text.PercentRange, "score": score,
		"took": text.Milliseconds, "capital": text.Capital, "line": text.OneLine, "word": verdictWord,
		"check": func(passed bool) result.Verdict {
			if passed {
				return result.Pass
			}
			return result.Fail
		},
	}).Parse(source))
}

// verdictWord is a verdict as a word on the page.
func verdictWord(v result.Verdict) string {
	switch v {
	case result.Pass:
		return "passed"
	case result.Fail:
		return "failed"
	case result.Error:
		return "error"
	}
	return "skipped"
}

// top is what stands above the conversations.
type top struct {
	Run      result.Run
	Verdict  result.Verdict
	Headline string
	Title    string
	Facts    []fact
	Codes    []codeCount
	Bar      bar
	Rule     string
	Filters  []filter
	Against  *comparison
}

type fact struct{ Name, Value, Note string }

// filter is one choice of which tests are shown.
type filter struct {
	ID, Label string
	Count     int
}

// codeCount is a failure code with a bar as long as its share of the most frequent one.
type codeCount struct {
	Code    result.Code
	Count   int
	Meaning string
	Width   float64
}

// bar is an interval from 0 to 100 with the rate in it, in units of its drawing.
type bar struct{ Low, Width, At float64 }

func barOf(rate float64, interval [2]float64) bar {
	return bar{Low: round(100 * interval[0]), Width: round(100 * (interval[1] - interval[0])), At: round(100 * rate)}
}

func round(x float64) float64 { return float64(int(x*100+0.5)) / 100 }

func topOf(run result.Run, s *survey, against *Diff) top {
	t := top{
		Run: run, Verdict: verdict(run), Headline: text.Capital(headline(run)), Title: text.Capital(headline(run)) + " · rehearse",
		Facts: factsOf(run), Codes: codesCounted(run.Totals), Bar: barOf(run.PassRate, run.Interval), Rule: ruleOfThree(run),
		Against: comparisonOf(against),
	}
	totals := s.totals
	t.Filters = append(t.Filters, filter{"all", "All", totals.Tests})
	for _, f := range []filter{
		{"fail", "Failed", totals.Failed},
		{"error", "Errors", totals.Errors},
		{"pass", "Passed", totals.Passed},
		{"skip", "Skipped", totals.Skipped},
	} {
		if f.Count > 0 {
			t.Filters = append(t.Filters, f)
		}
	}
	if len(t.Filters) <= 2 {
		t.Filters = nil // all are of one kind
	}
	return t
}

func factsOf(run result.Run) []fact {
	t := run.Totals
	facts := []fact{
		{"Tests", text.Count(t.Tests), text.Plural(t.Conversations, "conversation") + ", " + text.Plural(t.Turns, "turn")},
	}
	if t.Passed+t.Failed > 0 {
		facts = append(facts, fact{"Mean score", score(t.MeanScore), "over the tests that could be graded"})
	}
	if n := t.Usage.Total() + t.Judge.Usage.Total(); n > 0 {
		facts = append(facts, fact{"Tokens", text.Count(n), tokens(t)})
	}
	if t.CostUSD > 0 {
		note := ""
		if t.Judge.CostUSD > 0 {
			note = "of which the judge " + text.Dollars(t.Judge.CostUSD)
		}
		facts = append(facts, fact{"Cost", text.Dollars(t.CostUSD), note})
	}
	if t.Judge.Calls+t.Judge.CacheHits > 0 {
		facts = append(facts, fact{"Judge calls", text.Count(t.Judge.Calls), text.Plural(t.Judge.CacheHits, "verdict") + " from the cache"})
	}
	return append(facts, fact{"Duration", text.Milliseconds(run.DurationMS), ""})
}

func codesCounted(t result.Totals) []codeCount {
	var codes []codeCount
	most := 0
	for _, n := range t.Failures {
		most = max(most, n)
	}
	for _, code := range result.Codes {
		if n := t.Failures[code]; n > 0 {
			codes = append(codes, codeCount{code, n, meaning(code), round(100 * float64(n) / float64(most))})
		}
	}
	slices.SortStableFunc(codes, func(a, b codeCount) int { return b.Count - a.Count })
	return codes
}

// comparison is a Diff on the page.
type comparison struct {
	Baseline, Summary string
	Lists             []changeList
}

type changeList struct {
	Name    string
	Verdict result.Verdict
	Count   int
	Changes []Change
	Left    int
	Open    bool
}

// maxPageChanges is how many tests of each list of a comparison the page names.
const maxPageChanges = 200

func comparisonOf(d *Diff) *comparison {
	if d == nil {
		return nil
	}
	c := &comparison{Baseline: d.Baseline, Summary: text.Capital(d.headline()) + "."}
	if drift := d.drift(); drift != "" {
		c.Summary += " " + text.Capital(drift) + "."
	}
	if d.Unchanged > 0 {
		c.Summary += " " + text.Plural(d.Unchanged, "test") + " as good as before."
	}
	for i, l := range d.lists() {
		if n := len(l.changes); n > 0 {
			c.Lists = append(c.Lists, changeList{
				Name: l.name, Verdict: l.verdict, Count: n, Changes: l.changes[:min(n, maxPageChanges)],
				Left: max(n-maxPageChanges, 0), Open: i == 0,
			})
		}
	}
	return c
}
