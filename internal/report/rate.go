package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Rate is a pass rate in words. Every output that shows one takes it from here.
type Rate struct {
	// Value is the rate, or its bounds where a test is unknown; empty without tests to count.
	Value string
	// Note has the counts and the interval.
	Note string
	line string
}

// RateOf returns a pass rate in words.
func RateOf(t result.Totals, r result.PassRate) Rate {
	if r.Bounds == nil {
		return Rate{}
	}
	if unknown := t.Unknown(); unknown > 0 {
		value := fmt.Sprintf("between %s and %s", text.Percent(r.Bounds[0]), text.Percent(r.Bounds[1]))
		note := fmt.Sprintf("%s of %s passed, %s%s", text.Count(t.Passed), text.Count(t.Graded()+unknown),
			unknownWords(t), notGraded(t))
		return Rate{Value: value, Note: note, line: note + ": " + value}
	}
	value, interval := text.Percent(*r.Rate), "95% interval "+text.PercentRange(*r.Interval)
	if t.Ungraded > 0 {
		counts := fmt.Sprintf("%s of %s%s", text.Count(t.Passed), text.Plural(t.Graded(), "graded test"), notGraded(t))
		return Rate{Value: value, Note: counts + ", " + interval, line: fmt.Sprintf("%s: %s (%s)", counts, value,
			interval)}
	}
	return Rate{Value: value, Note: interval, line: fmt.Sprintf("%s (%s)", value, interval)}
}

// String returns the rate in one line; empty without one.
func (r Rate) String() string { return r.line }

// unknownWords says how many tests have no outcome, and why.
func unknownWords(t result.Totals) string {
	var parts []string
	for _, p := range []struct {
		n     int
		words string
	}{{t.Errors, "could not be graded"}, {t.Skipped - t.UserInvalid, "skipped"}, {t.NotRun, "not run"}} {
		if p.n > 0 {
			parts = append(parts, text.Count(p.n)+" "+p.words)
		}
	}
	return strings.Join(parts, ", ")
}

// notGraded returns " (5 not graded)", or nothing.
func notGraded(t result.Totals) string {
	if t.Ungraded == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s not graded)", text.Count(t.Ungraded))
}

// MeanScore returns a mean score in words, as bounds where a test is unknown; empty without one.
func MeanScore(t result.Totals) string {
	switch {
	case t.MeanScoreBounds != nil && t.Unknown() > 0:
		return fmt.Sprintf("between %s and %s", score(t.MeanScoreBounds[0]), score(t.MeanScoreBounds[1]))
	case t.MeanScore != nil:
		return score(*t.MeanScore)
	}
	return ""
}

// trialsWords says how the trials of a run came out, a line each: conversations, pass^k and pass@k. It is nil without
// trials.
func trialsWords(run result.Run) []string {
	t := run.Trials
	if t == nil {
		return nil
	}
	n := run.Totals
	lines := []string{fmt.Sprintf("%s of %s passed, %s of %s", text.Count(t.ConversationsPassed),
		text.Plural(t.Conversations, "conversation"), text.Count(n.Passed), text.Plural(n.Graded()+n.Unknown(),
			"test"))}
	if t.Unknown > 0 {
		lines[0] += fmt.Sprintf("; not in these figures: %s with a trial that was not graded", text.Plural(t.Unknown,
			"test"))
	}
	row := func(name string, rates []float64, intervals [][2]float64) {
		var cells []string
		for i, rate := range rates {
			if i == maxTrials {
				cells = append(cells, fmt.Sprintf("… and %d more in run.json", len(rates)-i))
				break
			}
			cells = append(cells, fmt.Sprintf("%s%d %s (%s)", name, i+1, text.Percent(rate),
				text.PercentRange(intervals[i])))
		}
		if len(cells) > 0 {
			lines = append(lines, strings.Join(cells, " · "))
		}
	}
	row("pass^", t.PassHatK, t.Intervals.PassHatK)
	row("pass@", t.PassAtK, t.Intervals.PassAtK)
	return lines
}

// maxTrials is how many k of pass^k are printed.
const maxTrials = 10

// tagTable has a row for each tag with its rate, in the order of their names.
func tagTable(byTag map[string]result.GroupResult) document.Table {
	t := document.Table{Columns: document.Columns(2, "Tag", "Passed"), Noun: "tag", Elsewhere: " in run.json"}
	names := slices.Sorted(maps.Keys(byTag))
	for _, name := range names[:min(len(names), maxTags)] {
		of := byTag[name]
		rate := RateOf(of.Totals, of.PassRate)
		words := rate.String()
		if rate.Value != "" && of.Totals.Unknown() == 0 {
			words = fmt.Sprintf("%s of %s (%s)", text.Count(of.Totals.Passed), text.Count(of.Totals.Graded()),
				rate.Value)
			if of.Totals.Ungraded > 0 {
				words += notGraded(of.Totals)
			}
		}
		if words == "" {
			words = "no test was graded"
		}
		t.Rows = append(t.Rows, document.Words(text.OneLine(name, 60), words))
	}
	t.Left = len(names) - len(t.Rows)
	return t
}

// maxTags is how many tags have a row in a report.
const maxTags = 50

// TrialsPassed returns how many trials of a test passed, in words.
func TrialsPassed(t *result.Trials) string {
	return fmt.Sprintf("%d of %s passed%s", t.Passed, text.Plural(t.Count, "trial"), trialsNotRun(t))
}

// trialsNotRun returns how many planned trials a cost limit left out, in words; "" for none, and where a pass was
// enough.
func trialsNotRun(t *result.Trials) string {
	if t.Planned <= t.Count || t.Early() && t.Passed > 0 {
		return ""
	}
	return fmt.Sprintf(", %d of %d not run", t.Planned-t.Count, t.Planned)
}

// failedWords says which checks of a passed test failed: "1 of 6 checks failed: contains …"; empty for another test.
func failedWords(t *result.Test) string {
	if t == nil || !t.PassedWithFailures() || t.Trials != nil {
		return ""
	}
	f := t.FailedChecks()
	if f.Failed == 0 {
		return ""
	}
	words := fmt.Sprintf("%d of %s failed: ", f.Failed, text.Plural(f.Total, "check"))
	for i, what := range f.Texts[:min(len(f.Texts), maxFailedChecks)] {
		if i > 0 {
			words += "; "
		}
		words += text.OneLine(what, 120)
	}
	if more := f.Failed - maxFailedChecks; more > 0 {
		words += fmt.Sprintf("; and %d more", more)
	}
	if f.Lowest != "" && len(t.Turns) > 1 {
		words += fmt.Sprintf(" · lowest: %s, %s", positionName(f.Lowest), score(f.LowestScore))
	}
	return words
}

// maxFailedChecks is how many failed checks of a passed test are named.
const maxFailedChecks = 3

// scoreWords returns a test's score, with its graded score where that differs.
func scoreWords(s float64, graded *float64) string {
	if graded != nil && score(*graded) != score(s) {
		return fmt.Sprintf("%s, graded %s", score(s), score(*graded))
	}
	return score(s)
}

// barOf returns the bar of a pass rate or of its bounds; nil where nothing was graded.
func barOf(r result.PassRate) *document.Bar {
	switch {
	case r.Bounds == nil:
		return nil
	case !r.Known() || r.Rate == nil:
		return new(document.BarOf(r.Bounds[0], *r.Bounds))
	}
	return new(document.BarOf(*r.Rate, *r.Interval))
}
