package variants

import (
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/document"
)

// assertionsSection counts the conversations that met the run's assertions, and names those that got worse; it is empty
// without any.
func assertionsSection(r *replay.Report, anchors map[string]string, page string) document.Section {
	s := document.Section{ID: "assertions", Title: "Assertions", Nav: "Assertions"}
	a := r.Assertions
	if a == nil {
		return s
	}
	s.Lead = "Every conversation must meet every assertion. `rehearse show FOLDER` prints what failed; the folder " +
		"`baseline` has the baseline's conversations."
	t := document.Table{Columns: document.Columns(1, "Agent", "Passed", "Failed", "Not graded")}
	counts := []struct {
		name string
		of   *replay.AssertionCounts
	}{{"baseline", a.Baseline}, {"candidate", &a.Candidate}}
	for _, c := range counts {
		if c.of != nil {
			t.Rows = append(t.Rows, document.Words(c.name, text.Count(c.of.Passed), text.Count(c.of.Failed),
				text.Count(c.of.Errors)))
		}
	}
	s.Tables = []document.Table{t}
	if a.Baseline == nil {
		return s
	}
	worse := listOf("newly-failed", "Newly failed", "met by the baseline, not by the candidate", "", a.NewlyFailed,
		len(a.NewlyFailed), anchors, page)
	worse.Open = len(a.NewlyFailed) > 0
	s.Lists = []document.List{worse, listOf("newly-passed", "Newly passed",
		"met by the candidate, not by the baseline", "", a.NewlyPassed, len(a.NewlyPassed), anchors, page)}
	return s
}

// repliesSection counts which replies the judge prefers; it is empty without a judge.
func repliesSection(r *replay.Report) document.Section {
	s := document.Section{ID: "replies", Title: "Replies: which the judge prefers", Nav: "Replies"}
	c := r.Replies
	if c == nil {
		return s
	}
	s.Lead = "The judge compared the replies in each session twice, the second time in the other order."
	t := document.Table{Columns: document.Columns(1, "Verdict", "Replays")}
	for _, line := range []struct {
		name, meaning string
		n             int
	}{
		{"candidate", "the candidate's replies are better", c.Wins},
		{"baseline", "the baseline's replies are better", c.Losses},
		{"tie", "neither: equal replies, which are not sent to the judge, in " + text.Count(c.Same) +
			"; a preference that depends on the order in " + text.Count(c.ByOrder), c.Ties},
		{"unknown", "the judge gave no verdict", c.Unknown},
	} {
		row := document.Words(line.name, text.Count(line.n))
		row.Cells[0].Note = line.meaning
		t.Rows = append(t.Rows, row)
	}
	s.Tables = []document.Table{t}
	return s
}
