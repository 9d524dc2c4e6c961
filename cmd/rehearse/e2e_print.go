package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"rehearse/internal/dataset"
	"rehearse/internal/evaluation"
	"rehearse/internal/grader"
	"rehearse/internal/sitebot/verify"
)

// printAnswers prints how good the answers are, and whether that is enough.
func printAnswers(out io.Writer, a evaluation.Answers, least float64) {
	if a.Graded == 0 {
		return
	}
	interval, verdict := a.Interval(), "enough"
	if a.Share() < least {
		verdict = "too few"
	}
	fmt.Fprintf(out, "\ngood answers  %d of %d = %.2f (95 %% interval %.2f–%.2f), %s for %.2f\n",
		a.Good, a.Graded, a.Share(), interval[0], interval[1], verdict, least)
	if a.Dimensions == nil {
		return
	}
	var means []string
	for _, name := range grader.Dimensions() {
		means = append(means, fmt.Sprintf("%s %.2f", name, a.Dimensions[name]))
	}
	fmt.Fprintln(out, "mean scores   "+strings.Join(means, ", "))
}

// printWarnings prints what the histories do not tell for sure, counted by kind, and with verbose each.
func printWarnings(out io.Writer, tests []*dataset.Test, verbose, quiet bool) {
	counts, warned := map[string]int{}, 0
	for _, t := range tests {
		if len(t.Rebuilt.Warnings) > 0 {
			warned++
		}
		for _, warning := range t.Rebuilt.Warnings {
			code, _, _ := strings.Cut(warning, ":")
			counts[code]++
			if verbose {
				fmt.Fprintf(out, "warning  %s  %s\n", t.ID, warning)
			}
		}
	}
	if warned == 0 || quiet {
		return
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", code, counts[code]))
	}
	hint := "; --verbose names the items"
	if verbose {
		hint = ""
	}
	fmt.Fprintf(out, "warnings      %s with a history that is not quite clear: %s%s\n", plural(warned, "item"), strings.Join(parts, ", "), hint)
}

// printComparisons prints in which fields rebuilt states differ, with what explains it, and the totals.
func printComparisons(out io.Writer, all []verify.Comparison) error {
	for i := range all {
		c := &all[i]
		if len(c.Differences) == 0 {
			continue
		}
		for _, d := range c.Differences {
			fmt.Fprintf(out, "%s  %s: %s when played, %s when rebuilt\n", c.ID, d.Field, clippedJSON(d.Natural), clippedJSON(d.Rebuilt))
		}
		for _, b := range c.Blocked {
			fmt.Fprintf(out, "%s  turn %d was not answered when played: the abuse gate closed (%s)\n", c.ID, b.Turn, b.Why)
		}
		if len(c.Lost) > 0 {
			fmt.Fprintf(out, "%s  no history tells: %s\n", c.ID, strings.Join(c.Lost, ", "))
		}
	}
	t := verify.Count(all)
	_, err := fmt.Fprintf(out, "%s: %d the same, %d different, %d that no chatbot could have led\n", plural(t.Items, "item"), t.Same, t.Different, t.Unplayable)
	return err
}

// clippedJSON shows a value of a state, cut short.
func clippedJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "unreadable"
	}
	const most = 200
	if len(data) > most {
		return strings.ToValidUTF8(string(data[:most]), "") + "…"
	}
	return string(data)
}
