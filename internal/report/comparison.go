package report

import (
	"fmt"

	"rehearse/internal/compare"
	"rehearse/internal/result"
	"rehearse/internal/text"
)

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
		{"Still failing", result.Fail, c.StillFailing},
		{"Not comparable: error or skipped", result.Error, c.Ungraded},
		{"Fixed", result.Pass, c.Fixed},
		{"Passing, with another score", result.Pass, c.Moved},
		{"New", result.Skip, c.New},
		{"Gone", result.Skip, c.Gone},
	}
}

// changes says in a line what changed.
func changes(c *result.Comparison) string {
	s := fmt.Sprintf("%s regressed, %s fixed, %s still failing, ",
		text.Count(len(c.Regressed)), text.Count(len(c.Fixed)), text.Count(len(c.StillFailing)))
	if n := len(c.Ungraded); n > 0 {
		s += text.Count(n) + " not comparable, "
	}
	return s + fmt.Sprintf("%s new, %s gone", text.Count(len(c.New)), text.Count(len(c.Gone)))
}

// drift says how the scores moved on average and what that shows, or "" when there is nothing to compare.
func drift(c *result.Comparison) string {
	p := c.Paired
	switch {
	case p.MeanDifference == nil:
		return ""
	case p.Interval == nil:
		return "score " + signed(*p.MeanDifference) + " in the one test graded in both runs: " + c.Verdict
	}
	return fmt.Sprintf("mean score %s (95%% interval %s to %s) over %s graded in both runs: %s",
		signed(*p.MeanDifference), signed(p.Interval[0]), signed(p.Interval[1]), text.Plural(p.N, "test"), c.Verdict)
}

// BrokenOff says how far one of two compared runs came that did not come to its end, or "". Name says which of the two it is.
func BrokenOff(name string, of result.Compared) string {
	if !of.Stopped() {
		return ""
	}
	return name + ": " + stopped(result.Run{
		ExitReason: of.ExitReason, Totals: result.Totals{Planned: of.Planned, Completed: of.Held, NotRun: of.NotRun},
	})
}

// gate says why a run has the exit code that it has, where its baseline decided that; else "".
func gate(run result.Run) string {
	if run.Stopped() || run.ExitMessage == "" {
		return ""
	}
	return fmt.Sprintf("exit code %d: %s", run.Code(), run.ExitMessage)
}

// remarks are sentences about a comparison as a whole: how the scores moved, what limits what it says, and what the gate makes of it.
func remarks(c *result.Comparison, gate string) []string {
	var said []string
	for _, s := range []string{BrokenOff("baseline", c.Baseline), BrokenOff("candidate", c.Candidate), compare.Unmatched(c), drift(c), gate} {
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
	return s
}
