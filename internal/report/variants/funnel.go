package variants

import (
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/page"
)

// funnelView says what became of each session of the log.
type funnelView struct {
	Rows   []funnelRow
	Faults []faultRow
	// Left counts the kinds of faults that are not shown.
	Left int
	// Short says that the lines do not add up to what was read; empty where they do.
	Short string
}

// funnelRow is a line of the table. Sum is true of what was read and of what was compared, Part of a part of the latter.
type funnelRow struct {
	Name, Meaning, Share string
	Sessions             int
	Sum, Part            bool
	// Width draws the share, in percent.
	Width float64
}

// faultRow are the rows of the log that say nothing, or contradict themselves, in one way.
type faultRow struct {
	Kind, Meaning string
	Count         int
	Examples      []string
}

// maxFaults is how many kinds of faults are shown. There are ten.
const maxFaults = 20

// funnelOf is nil where the sessions did not come from a log.
func funnelOf(r *replay.Report) *funnelView {
	c := r.LogToFigures
	if c == nil {
		return nil
	}
	v := &funnelView{Rows: funnelRows(c)}
	if sum := c.OtherFlow + c.MixedFlow + c.CutLeft + c.CutRight + c.BelowMinTurns + c.NotSampled + c.Lost + c.Compared; sum != c.Read {
		v.Short = "The lines add up to " + text.Count(sum) + ", not to what was read."
	}
	v.Left = max(len(c.RowFaults)-maxFaults, 0)
	for i := range c.RowFaults[:len(c.RowFaults)-v.Left] {
		f := &c.RowFaults[i]
		row := faultRow{Kind: text.OneLine(f.Kind, 40), Meaning: text.OneLine(replay.FaultText(f.Kind), maxNoteText), Count: f.Count}
		for _, e := range f.Examples[:min(len(f.Examples), maxExamples)] {
			row.Examples = append(row.Examples, text.OneLine(e, 80))
		}
		v.Faults = append(v.Faults, row)
	}
	return v
}

// funnelRows are the lines in their order: what was read, why sessions were left out, and what was compared with its parts.
func funnelRows(c *replay.LogToFigures) (rows []funnelRow) {
	for _, line := range []struct {
		name, meaning string
		n             int
		sum, part     bool
	}{
		{"read", "sessions with a usable event in the range", c.Read, true, false},
		{"other flow", "no row names the flow", c.OtherFlow, false, false},
		{"mixed flow", "the rows name two flows", c.MixedFlow, false, false},
		{"cut left", "began before the range", c.CutLeft, false, false},
		{"cut right", "go on behind the range", c.CutRight, false, false},
		{"below min turns", "fewer user messages than --min_turns", c.BelowMinTurns, false, false},
		{"not sampled", "not drawn for the sample", c.NotSampled, false, false},
		{"lost", "a lane failed", c.Lost, false, false},
		{"compared", "in the figures of this report", c.Compared, true, false},
		{"completed", "of those compared, in the log", c.Completed, false, true},
		{"dropped off", "of those compared, in the log", c.DroppedOff, false, true},
		{"unknown outcome", "of those compared; left out of what compares ends", c.UnknownOutcome, false, true},
	} {
		row := funnelRow{Name: line.name, Meaning: line.meaning, Sessions: line.n, Sum: line.sum, Part: line.part}
		if c.Read > 0 {
			share := min(max(float64(line.n)/float64(c.Read), 0), 1)
			row.Share, row.Width = quantity(share, replay.Share), page.Round(100*share)
		}
		rows = append(rows, row)
	}
	return rows
}

// funnelTable are the lines as rows, those that are parts of others indented.
func funnelTable(v *funnelView) [][]string {
	lines := [][]string{{"From log to figures", "Sessions", meaningColumn}}
	for _, row := range v.Rows {
		name := row.Name
		switch {
		case row.Part:
			name = "    " + name
		case !row.Sum:
			name = "  " + name
		}
		lines = append(lines, []string{name, text.Count(row.Sessions), row.Meaning})
	}
	return lines
}
