package variants

import (
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/document"
)

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
