package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// ComparisonText writes a comparison for a terminal; quiet leaves out the tests.
func ComparisonText(w io.Writer, c *result.Comparison, o TextOptions) error {
	d := &document.Document{Sections: []document.Section{comparisonSection(c, "", o.Quiet)}}
	return document.Text(w, d, o.Width, o.Colour)
}

// ComparisonMarkdown writes a comparison for a comment on a pull request.
func ComparisonMarkdown(w io.Writer, c *result.Comparison) error {
	return document.Markdown(w, &document.Document{Sections: []document.Section{comparisonSection(c, "", false)}})
}

// comparisonSection says what changed; gate is what that means for the exit code, if anything. Brief leaves out the
// tests.
func comparisonSection(c *result.Comparison, gate string, brief bool) document.Section {
	s := document.Section{ID: "against", Title: "Compared with the baseline", Nav: "Comparison",
		Lead: text.Capital(changes(c))}
	if c.Baseline.RunID != "" {
		s.Title = "Compared with " + text.OneLine(c.Baseline.RunID, 60)
	}
	remarks := document.List{}
	for _, remark := range remarksOf(c, gate) {
		remarks.Entries = append(remarks.Entries, document.Entry{Text: text.Capital(text.OneLine(remark, 500))})
	}
	s.Lists = append(s.Lists, remarks)
	if brief {
		return s
	}
	for i, l := range listsOf(c) {
		list := document.List{Title: l.name, Verdict: l.verdict, Count: text.Count(len(l.changes)), Open: i <= 1}
		for _, x := range l.changes {
			about := text.OneLine(changed(x), 200)
			if len(x.Codes) > 0 {
				about += " · " + text.OneLine(strings.ReplaceAll(codeWords(x.Codes), " ", ", "), 200)
			}
			list.Entries = append(list.Entries, document.Entry{
				Text: text.OneLine(x.TestID, 200), Note: about, From: text.OneLine(strings.Trim(x.Suite+" · "+x.Target,
					" ·"), 300),
				Verdict: l.verdict,
			})
		}
		if len(l.changes) > 0 {
			s.Lists = append(s.Lists, list)
		}
	}
	if n := len(c.Unchanged); n > 0 {
		s.Notes = append(s.Notes, text.Plural(n, "test")+" as good as before")
	}
	return s
}

// list is one of the lists of a comparison as reports show it.
type list struct {
	name    string
	verdict result.Verdict // whose sign and colour it takes
	changes []result.Change
}

// listsOf returns the lists in the order in which they matter, without the tests that are as good as before.
func listsOf(c *result.Comparison) []list {
	return []list{
		{"Regressed", result.Fail, c.Regressed},
		{"Failed once, not confirmed", result.Fail, c.Unconfirmed},
		{"Still failing", result.Fail, c.StillFailing},
		{"Not graded: error, skipped or ungraded", result.Error, c.NotGraded},
		{"Redefined, not compared", result.Skip, c.Redefined},
		{"Changed, within noise", result.Skip, c.WithinNoise},
		{"Fixed", result.Pass, c.Fixed},
		{"Passing, with another score", result.Pass, c.Moved},
		{"New", result.Skip, c.New},
		{"Gone", result.Skip, c.Gone},
	}
}

// changes counts what changed in a line. It names new tests that fail: no other list shows that they do.
func changes(c *result.Comparison) string {
	var s strings.Builder
	count := func(n int, what string, always bool) {
		if n > 0 || always {
			if s.Len() > 0 {
				s.WriteString(", ")
			}
			s.WriteString(text.Count(n) + " " + what)
		}
	}
	count(len(c.Regressed), "regressed", true)
	count(len(c.Unconfirmed), "not confirmed", false)
	count(len(c.WithinNoise), "within noise", false)
	count(len(c.Fixed), "fixed", true)
	count(len(c.StillFailing), "still failing", true)
	count(len(c.NotGraded), "not graded", false)
	count(len(c.Redefined), "redefined", false)
	count(len(c.New), "new", true)
	failing := idsOf(c.New, func(x result.Change) bool { return x.Now == result.Fail })
	if n := len(failing); n > 0 {
		fmt.Fprintf(&s, " (%s failing: %s)", text.Count(n), named(failing))
	}
	count(len(c.Gone), "gone", true)
	return s.String()
}

// idsOf returns the ids of some tests of a list.
func idsOf(list []result.Change, is func(result.Change) bool) (ids []string) {
	for _, x := range list {
		if is(x) {
			ids = append(ids, text.OneLine(x.TestID, 60))
		}
	}
	return ids
}

// mostNamed is how many tests a sentence names.
const mostNamed = 5

// named lists ids in a sentence.
func named(ids []string) string {
	if more := len(ids) - mostNamed; more > 0 {
		return strings.Join(ids[:mostNamed], ", ") + " and " + text.Count(more) + " more"
	}
	return strings.Join(ids, ", ")
}

// drift describes how the scores moved on average, what that shows, and what it could not have shown.
func drift(c *result.Comparison) string {
	p := c.Paired
	if p.MeanDifference == nil {
		return "the verdict is inconclusive, too few tests: no test was graded alike in both runs"
	}
	interval := ""
	if p.Interval != nil {
		interval = fmt.Sprintf(" (95%% interval %s to %s)", signed(p.Interval[0]), signed(p.Interval[1]))
	}
	return fmt.Sprintf("mean score %s%s over %s%s graded in both runs: %s, %s",
		signed(*p.MeanDifference), interval, text.Plural(p.N, "test"), clusters(p), stats.Verdict(c.Verdict).Text(),
		power(c))
}

// clusters describes the clusters of the tests; empty where every test is one.
func clusters(p result.Paired) string {
	if p.Clusters == p.N || p.Clusters == 0 {
		return ""
	}
	s := fmt.Sprintf(" in %s (the largest has %s, design effect %s", text.Plural(p.Clusters, "cluster"),
		text.Plural(p.LargestCluster, "test"),
		strconv.FormatFloat(p.DesignEffect, 'f', 1, 64))
	if p.ICC != nil {
		s += ", ICC " + score(*p.ICC)
	}
	return s + ")"
}

// power describes the smallest difference that would have been found, and how many tests would find half of it.
func power(c *result.Comparison) string {
	of, half := "no difference can be found", 0.5
	if c.Detectable != nil && c.Paired.Interval != nil {
		of, half = "a difference of "+score(*c.Detectable)+" or more is found with 80% power", *c.Detectable/2
	} else {
		of = "too few tests: " + of
	}
	if c.TestsNeeded != nil {
		of += fmt.Sprintf(", %s needs %s", score(half), text.Plural(*c.TestsNeeded, "test"))
	}
	return of
}

// differing lists the settings that differ between the runs; empty where none does.
func differing(c *result.Comparison) string {
	var all []string
	unknown := ""
	for _, d := range c.Differences {
		s := d.What
		if d.Was == result.Unknown {
			unknown = "the " + d.What + " of " + text.Plural(d.Tests, "test") +
				" is unknown: records of an earlier version do not have it"
			continue
		}
		if d.Was+d.Now != "" {
			s += fmt.Sprintf(" (%s, then %s)", cmp.Or(text.OneLine(d.Was, 60), "none"), cmp.Or(text.OneLine(d.Now, 60),
				"none"))
		}
		if d.Tests > 0 {
			s += " of " + text.Plural(d.Tests, "test")
		}
		all = append(all, s)
	}
	if all == nil {
		return unknown
	}
	s := "the runs differ in: " + strings.Join(all, "; ")
	if unknown != "" {
		s += "; " + unknown
	}
	return s
}

// repeated describes the repeats; empty where none were run.
func repeated(c *result.Comparison) (said []string) {
	if of := c.Confirmation; of != nil && of.Falls > 0 {
		s := fmt.Sprintf("%s that passed before failed and ran again up to %s", text.Plural(of.Falls, "test"),
			text.Plural(of.Repeats, "time"))
		if of.Default {
			s += ", until the first pass: if each test of an unchanged agent passes at least half of the time, " +
				"all repeats of one fail by chance in at most 5% of runs"
		}
		said = append(said, s)
	}
	if of := c.Confirmation; of != nil && of.Errors > 0 {
		said = append(said, fmt.Sprintf("%s with an error ran again", text.Plural(of.Errors, "test")))
	}
	if retried := idsOf(c.GradedOnRetry, func(result.Change) bool { return true }); len(retried) > 0 {
		said = append(said, "graded on retry: "+named(retried))
	}
	if c.Confirmation != nil && c.Confirmation.Missing != "" {
		said = append(said, "not every fall could be confirmed: "+c.Confirmation.Missing)
	}
	return said
}

// BrokenOff says how far one of two compared runs came that did not come to its end, or "". Name says which of the two
// it is.
func BrokenOff(name string, of result.Compared) string {
	if !of.Stopped() {
		return ""
	}
	return name + ": " + stopped(result.Run{
		ExitReason: of.ExitReason, Totals: result.Totals{Planned: of.Planned, Completed: of.Completed,
			NotRun: of.NotRun},
	})
}

// gate says why a run has the exit code that it has, where its baseline decided that; else "".
func gate(run result.Run) string {
	if run.Stopped() || run.ExitMessage == "" {
		return ""
	}
	return fmt.Sprintf("exit code %d: %s", run.Code(), run.ExitMessage)
}

// remarksOf returns sentences about a comparison as a whole: how the scores moved, what limits what it says, and what
// the gate makes of it.
func remarksOf(c *result.Comparison, gate string) []string {
	var said []string
	for _, s := range slices.Concat([]string{
		BrokenOff("baseline", c.Baseline), BrokenOff("candidate", c.Candidate), compare.Unmatched(c), differing(c),
		drift(c),
	}, repeated(c), []string{gate}) {
		if s != "" {
			said = append(said, s)
		}
	}
	return said
}

// changed says what happened to a test.
func changed(c result.Change) string {
	v := func(v result.Verdict, s *float64) string {
		switch {
		case s != nil:
			return fmt.Sprintf("%s %s", v, score(*s))
		case v == result.NotRun:
			return "not run"
		}
		return string(v)
	}
	switch {
	case c.Was == "":
		return v(c.Now, c.NowScore)
	case c.Now == "":
		return "was " + v(c.Was, c.WasScore)
	}
	s := v(c.Was, c.WasScore) + " → " + v(c.Now, c.NowScore)
	if delta, ok := c.Delta(); ok {
		s += " (" + signed(delta) + ")"
	}
	if len(c.Differs) > 0 {
		s += ", other " + strings.Join(c.Differs, ", ")
	}
	passed := 0
	for _, v := range c.Repeats {
		if v == result.Pass {
			passed++
		}
	}
	if n := len(c.Repeats); n > 0 {
		s += fmt.Sprintf(", %d of %s passed", passed, text.Plural(n, "repeat"))
	}
	return s
}
