package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/bench/machine"
)

// print writes the table in Markdown, which is also how it is read in docs/speed.md, and what went wrong below it.
func (b *bencher) print(w io.Writer) {
	table := [][]string{{
		"case", "tool", "ideal", "goal", "wall median (min–max)", "CPU", "peak RSS", "requests/s", "in flight", "",
	}}
	// One case after the other, rehearse and those beside it together.
	slices.SortStableFunc(b.rows, func(x, y *row) int { return strings.Compare(x.Case, y.Case) })
	for _, r := range b.rows {
		table = append(table, cells(r))
	}
	fmt.Fprintln(w)
	machine.WriteTable(w, table)
	fmt.Fprintln(w)
	for _, r := range b.rows {
		if r.Error != "" {
			fmt.Fprintf(w, "%s, %s: %s\n", r.Tool, r.What, r.Error)
		}
		if r.Note != "" {
			fmt.Fprintf(w, "%s, %s: %s\n", r.Tool, r.What, r.Note)
		}
		if held := heldTooLong(r); held > 0 {
			fmt.Fprintf(w, "%s, %s: the endpoint held a reply %.1f ms instead of %d, so the machine was busy\n", r.Tool,
				r.What, held, latency.Milliseconds())
		}
	}
}

// cells returns a row as text.
func cells(r *row) []string {
	goals := []string{}
	for _, g := range r.Goals {
		goals = append(goals, g.Text)
	}
	line := []string{
		r.Case + " " + r.What, r.Tool, dash(r.Ideal > 0, seconds(r.Ideal)),
		dash(len(goals) > 0, strings.Join(goals, ", ")),
	}
	if len(r.Runs) == 0 {
		return append(line, "–", "–", "–", "–", "–", "failed")
	}
	wall := r.wall()
	return append(line,
		fmt.Sprintf("%s (%s–%s)", seconds(wall.Median), seconds(wall.Least), seconds(wall.Most)),
		seconds(r.cpu().Median), megabytes(r.rss()),
		dash(r.requestsPerSecond() > 0, fmt.Sprintf("%.0f", r.requestsPerSecond())),
		dash(r.mostInFlight() > 0, fmt.Sprint(r.mostInFlight())), outcome(r))
}

// outcome says which goals were missed.
func outcome(r *row) string {
	missed := []string{}
	for _, g := range r.Goals {
		if !g.Met {
			missed = append(missed, g.Text)
		}
	}
	switch {
	case r.Error != "":
		return "failed"
	case len(r.Goals) == 0:
		return "–"
	case len(missed) == 0:
		return "met"
	}
	return "MISSED " + strings.Join(missed, ", ")
}

// heldTooLong returns how long the endpoint held replies on average, if that alone makes a goal of 5 % doubtful.
func heldTooLong(r *row) (worst float64) {
	for _, u := range r.Runs {
		worst = max(worst, u.HeldMS)
	}
	if r.Ideal == 0 || worst < 1.02*float64(latency)/float64(time.Millisecond) {
		return 0
	}
	return worst
}

func dash(has bool, s string) string {
	if !has {
		return "–"
	}
	return s
}

// writeJSON writes every run, not just the medians.
func (b *bencher) writeJSON(path string) error {
	data, err := json.MarshalIndent(map[string]any{
		"machine": b.machine, "measured_at": time.Now().UTC(), "rows": b.rows,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
