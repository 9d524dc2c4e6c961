package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/bench/machine"
)

func cpuOf(r run) float64   { return r.CPU }
func speedOf(r run) float64 { return r.Speed }
func rssOf(r run) float64   { return float64(r.RSS) }

func (r *row) of(what func(run) float64) machine.Spread[float64] {
	var all []float64
	for _, one := range r.Runs {
		all = append(all, what(one))
	}
	return machine.SpreadOf(all)
}

// text gives the median and the range, in a unit.
func text(s machine.Spread[float64], unit float64) string {
	return fmt.Sprintf("%.0f (%.0f–%.0f)", s.Median/unit, s.Least/unit, s.Most/unit)
}

// print writes the tables in Markdown, which is also how they are read in docs/speed.md.
func (b *bencher) print(w io.Writer) {
	fmt.Fprintln(w, b.Machine)
	if b.Node != "" {
		fmt.Fprintln(w, "Node.js", b.Node+",", strings.Join(packages, " "))
	}
	taken := [][]string{{"runtime", "sessions × turns", "CPU µs/turn", "turns/s", "peak RSS, MB", "goals"}}
	left := [][]string{{
		"runtime", "nodes/turn", "supersteps/turn", "checkpoints/turn",
		"bytes added by turn 2", fmt.Sprintf("by turn %d", long), "growth", fmt.Sprintf("held after %d turns", long),
	}}
	for _, r := range b.rows {
		taken = append(taken, []string{
			r.Name, fmt.Sprintf("%d × %d", r.Sessions, turns),
			text(r.of(cpuOf), 1), text(r.of(speedOf), 1), text(r.of(rssOf), 1e6), r.outcome(),
		})
		if len(r.Added) == 0 {
			continue
		}
		early, late := r.Added[1], r.Added[long-1]
		left = append(left, []string{
			r.Name, fmt.Sprint(late.Nodes), fmt.Sprint(late.Steps), fmt.Sprint(late.Checkpoints),
			fmt.Sprint(early.Bytes), fmt.Sprint(late.Bytes),
			fmt.Sprintf("× %.2f", float64(late.Bytes)/float64(early.Bytes)), fmt.Sprint(r.held()),
		})
	}
	for _, table := range [][][]string{taken, left} {
		fmt.Fprintln(w)
		machine.WriteTable(w, table)
	}
	if b.Joins != nil {
		fmt.Fprintf(w, "\nLangGraph.js runs finalize in one turn: %d × with single edges, %d × with one edge from "+
			"all of its parents, %d × with defer\n", b.Joins["edges"], b.Joins["barrier"], b.Joins["defer"])
	}
}

// held returns the bytes that the store holds of one conversation.
func (r *row) held() (bytes int64) {
	for _, a := range r.Added {
		bytes += a.Bytes
	}
	return bytes
}

func (r *row) outcome() string {
	switch {
	case !r.goals:
		return "–"
	case len(r.Missed) == 0:
		return "met"
	}
	return "MISSED " + strings.Join(r.Missed, ", ")
}

// all is what goes into the JSON file: every run, not just the medians.
func (b *bencher) all() any {
	return map[string]any{
		"machine": b.Machine, "node": b.Node, "packages": packages, "measured_at": time.Now().UTC(),
		"rows": b.rows, "finalize_runs_by_join": b.Joins,
	}
}
