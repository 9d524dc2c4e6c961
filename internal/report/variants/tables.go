package variants

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Limits of the parts of a report in the console and in Markdown, which the page and the JSON report show in full.
const (
	consoleListed = 10  // sessions of a list
	mdListed      = 200 // sessions of a list
	consoleSlices = 6   // slices of a kind
	mdSlices      = 21
	// consoleSliceMetrics and mdSliceMetrics are how many metrics a slice has there.
	consoleSliceMetrics = 2
	mdSliceMetrics      = 6
)

// endsTable sets the ends of the log against those of each lane, as a row for each way; nil where there are none.
func endsTable(r *replay.Report) (table [][]string, left []string) {
	views := endsOf(r)
	if len(views) == 0 {
		return nil, nil
	}
	table = [][]string{{"Logged end → replayed end"}}
	for i := range views {
		v := &views[i]
		table[0] = append(table[0], v.Lane)
		for _, said := range v.Left {
			if said = "Not counted: " + said + "."; len(left) == 0 || left[len(left)-1] != said {
				left = append(left, said)
			}
		}
	}
	for way := range 2 {
		for _, completed := range []bool{true, false} {
			name, row := views[0].Rows[way].Logged+" → not completed", []string{}
			if completed {
				name = views[0].Rows[way].Logged + " → completed"
			}
			for i := range views {
				cell := views[i].Rows[way].Not
				if completed {
					cell = views[i].Rows[way].Completed
				}
				row = append(row, views[i].countWords(cell.Count))
			}
			table = append(table, append([]string{name}, row...))
		}
	}
	return table, left
}

// slicesTable has a row for each slice with the differences of the first metrics that decide. It says what is left out of most slices of a kind
// and columns metrics.
func slicesTable(r *replay.Report, most, columns int) (table [][]string, said string) {
	left, unshown := 0, []string{}
	for _, kind := range slicesOf(r) {
		shown := min(columns, len(kind.Metrics))
		if table == nil {
			table, unshown = [][]string{append([]string{"By", "Slice", "Sessions"}, kind.Metrics[:shown]...)}, kind.Metrics[shown:]
		}
		for i := range kind.Rows {
			if i >= most {
				left++
				continue
			}
			row := []string{strings.ToLower(kind.Name), kind.Rows[i].Value, text.Count(kind.Rows[i].Sessions)}
			for _, c := range kind.Rows[i].Cells[:shown] {
				row = append(row, c.words())
			}
			table = append(table, row)
		}
	}
	said = starMeans
	if left > 0 {
		said += " " + text.Plural(left, "more slice") + " in the JSON report."
	}
	if len(unshown) > 0 {
		said += " " + listed(unshown) + ": in the other reports."
	}
	return table, said
}

// words are the cell in one line. A star marks what is told apart from chance.
func (c *sliceCell) words() string {
	if c.Absent {
		return c.Difference
	}
	said := c.Difference + " " + c.Interval
	if c.Told {
		said += " *"
	}
	return said
}

const starMeans = "A slice decides nothing. * is told apart from chance among all slices (Holm, p < 0.05)."

// repeatsTable splits the spread of the metrics that come first; nil where each session was played once.
func repeatsTable(v *repeatsView) [][]string {
	table := [][]string{{"Metric", "Lane", "Mean", "Within a session", "Between sessions", "Chance"}}
	for _, row := range v.Rows {
		table = append(table, []string{row.Metric, row.Lane, row.Mean, row.Model, row.Session, row.Share})
	}
	return table
}

// passWords say pass^k of each lane.
func passWords(v *repeatsView) []string {
	said := make([]string, 0, len(v.Passes))
	for _, row := range v.Passes {
		var parts []string
		for _, c := range row.Cells {
			parts = append(parts, "pass^"+c.K+" "+c.Value)
		}
		if v.LeftKs > 0 {
			parts = append(parts, text.Plural(v.LeftKs, "more")+" between")
		}
		said = append(said, row.Lane+": "+strings.Join(parts, ", "))
	}
	return said
}

// fidelityWords say how like the real users the simulated one is, part by part; empty in other modes.
func fidelityWords(r *replay.Report) []string {
	v := fidelityOf(r)
	if v == nil {
		return nil
	}
	said := []string{v.Said}
	parts := make([]string, 0, len(v.Rows))
	for _, row := range v.Rows {
		parts = append(parts, strings.ToLower(row.Name)+" "+row.Value)
	}
	if len(parts) > 0 {
		said[0] += " " + text.Capital(strings.Join(parts, ", ")) + "."
	}
	for _, row := range v.Spoken {
		said = append(said, fmt.Sprintf("%s: %s messages, %s simulated, %s invented, %s in a state that the log never visited.",
			row.Lane, row.Messages, row.Simulated, row.Invented, row.Elsewhere))
	}
	return said
}
