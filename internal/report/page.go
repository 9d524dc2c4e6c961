package report

import (
	_ "embed"
	"html/template"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/page"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

//go:embed page.html.tmpl
var pageSource string

// pageTemplate returns the parsed template of a run's page: pieces, so that it can be written as a stream.
var pageTemplate = sync.OnceValue(func() *template.Template {
	functions := template.FuncMap{"words": codeWords, "notRun": trialsNotRun}
	return page.Parse(transcript.Style+filterStyle(), transcript.Source+pageSource, transcript.Functions(), functions)
})

// top is what stands above the conversations.
type top struct {
	Run      result.Run
	Verdict  result.Verdict
	Headline string
	Title    string
	Again    string
	Facts    []page.Fact
	Codes    []codeCount
	Rate     Rate
	Bar      page.Bar
	Rule     string
	// Trials are lines about trials, Tags the rates by tag; MoreTags counts the tags without a row.
	Trials   []string
	Tags     [][2]string
	MoreTags int
	Filters  []page.Filter
	Against  *comparison
	Targets  []targetRow
	// Quarantines are the tests that decide nothing, and those that count again.
	Quarantines []quarantineLine
}

// codeCount is a failure code with a bar as long as its share of the most frequent one.
type codeCount struct {
	Code    result.Code
	Count   int
	Meaning string
	Width   float64
}

func topOf(run result.Run, s *survey) top {
	t := top{
		Run: run, Verdict: verdict(run), Headline: text.Capital(headline(run)), Title: text.Capital(headline(run)) + " · rehearse",
		Again: regraded(run), Facts: factsOf(run), Codes: codesCounted(run.Totals), Bar: barOf(run.PassRate), Rate: RateOf(run.Totals, run.PassRate), Rule: ruleOfThree(run),
		Against: comparisonOf(run), Targets: targetRows(run),
	}
	lines, more := quarantineLines(run, s)
	if t.Quarantines = lines; more > 0 {
		t.Quarantines = append(t.Quarantines, quarantineLine{Test: "…", About: text.Plural(more, "more test")})
	}
	t.Trials = trialsWords(run)
	t.Tags, t.MoreTags = tagRows(run.ByTag)
	totals := s.records.Totals()
	t.Filters = append(t.Filters, page.Filter{ID: "all", Label: "All", Count: totals.Tests + len(s.notRun)})
	for _, f := range []page.Filter{
		{ID: "fail", Label: "Failed", Count: totals.Failed},
		{ID: "error", Label: "Errors", Count: totals.Errors},
		{ID: "pass", Label: "Passed", Count: totals.Passed},
		{ID: "ungraded", Label: "Not graded", Count: totals.Ungraded},
		{ID: "skip", Label: "Skipped", Count: totals.Skipped + len(s.notRun)},
		{ID: "quarantine", Label: "Quarantine", Count: totals.Quarantined},
	} {
		if f.Count > 0 {
			t.Filters = append(t.Filters, f)
		}
	}
	if len(t.Filters) <= 2 {
		t.Filters = nil // all are of one kind
	} else {
		t.Filters = append(t.Filters, codeFilters(run)...)
	}
	return t
}

func factsOf(run result.Run) []page.Fact {
	t := run.Totals
	facts := []page.Fact{
		{Name: "Tests", Value: testsHeld(t), Note: text.Plural(t.Conversations, "conversation") + ", " + text.Plural(t.Turns, "turn")},
	}
	if mean := MeanScore(t); mean != "" {
		facts = append(facts, page.Fact{Name: "Mean score", Value: mean, Note: "over the graded tests"})
	}
	if again := reruns(run); again != "" {
		facts = append(facts, page.Fact{Name: "Reruns", Value: text.Count(run.Reruns()), Note: again})
	}
	if t.PassedWithFailures > 0 {
		facts = append(facts, page.Fact{Name: "Passed with failed checks", Value: text.Count(t.PassedWithFailures)})
	}
	if t.Ungraded > 0 {
		facts = append(facts, page.Fact{Name: "Not graded", Value: text.Count(t.Ungraded), Note: "no assertions"})
	}
	all := t.Usage.Add(t.Judge.Usage)
	switch {
	case all.Unknown:
		facts = append(facts, page.Fact{Name: "Tokens", Value: "unknown", Note: tokens(t)})
	case all.Total() > 0:
		facts = append(facts, page.Fact{Name: "Tokens", Value: text.Count(all.Total()), Note: tokens(t)})
	}
	if value := dollars(t.Cost); value != "" {
		note := dollars(t.Judge.Cost)
		if note != "" {
			note = "of which the judge " + note
		}
		facts = append(facts, page.Fact{Name: "Cost", Value: value, Note: note})
	}
	if t.Judge.Calls+t.Judge.CacheHits > 0 {
		note := text.Plural(t.Judge.CacheHits, "verdict") + " from the cache"
		if run.SharesVerdicts() {
			note += "; trials share verdicts"
		}
		facts = append(facts, page.Fact{Name: "Judge calls", Value: text.Count(t.Judge.Calls), Note: note})
	}
	if t.User != nil {
		facts = append(facts, page.Fact{Name: "Simulated user", Value: text.Plural(t.User.Calls, "call"), Note: usersAsked(t.User) + "; " + usersPlayed(t.User)})
	}
	return append(facts, page.Fact{Name: "Duration", Value: text.Milliseconds(run.DurationMS)})
}

func codesCounted(t result.Totals) []codeCount {
	var codes []codeCount
	most := 0
	for _, n := range t.Failures {
		most = max(most, n)
	}
	for _, code := range result.Codes {
		if n := t.Failures[code]; n > 0 {
			codes = append(codes, codeCount{code, n, meaning(code), page.Round(100 * float64(n) / float64(most))})
		}
	}
	slices.SortStableFunc(codes, func(a, b codeCount) int { return b.Count - a.Count })
	return codes
}

// comparison is how a run's comparison stands on the page.
type comparison struct {
	Baseline, Summary string
	Lists             []changeList
}

type changeList struct {
	Name    string
	Verdict result.Verdict
	Count   int
	Changes []changeLine
	Left    int
	Open    bool
}

type changeLine struct{ TestID, Change, Suite, Target string }

// maxPageChanges is how many tests of each list of a comparison the page names.
const maxPageChanges = 200

func comparisonOf(run result.Run) *comparison {
	of := run.Comparison
	if of == nil {
		return nil
	}
	c := &comparison{Baseline: of.Baseline.RunID, Summary: text.Capital(changes(of)) + "."}
	for _, remark := range remarks(of, gate(run)) {
		c.Summary += " " + text.Capital(text.OneLine(remark, 500)) + "."
	}
	if n := len(of.Unchanged); n > 0 {
		c.Summary += " " + text.Plural(n, "test") + " as good as before."
	}
	for i, l := range listsOf(of) {
		n := len(l.changes)
		if n == 0 {
			continue
		}
		shown := changeList{Name: l.name, Verdict: l.verdict, Count: n, Left: max(n-maxPageChanges, 0), Open: i <= 1}
		for _, x := range l.changes[:n-shown.Left] {
			shown.Changes = append(shown.Changes, changeLine{x.TestID, changed(x), x.Suite, x.Target})
		}
		c.Lists = append(c.Lists, shown)
	}
	return c
}
