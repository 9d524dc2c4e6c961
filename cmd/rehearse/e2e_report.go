package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"rehearse/internal/evaluation"
	"rehearse/internal/grader"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/stats"
)

// e2eSummary is what an evaluation of answers came to.
type e2eSummary struct {
	good, graded int
	// dimensions are the sums of the scores of each dimension, over scored answers.
	dimensions map[string]float64
	scored     int
}

// summarise reads the results of a run.
func summarise(dir string) (e2eSummary, error) {
	s := e2eSummary{dimensions: map[string]float64{}}
	names := grader.Dimensions()
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return s, err
		}
		if t.Verdict != result.Pass && t.Verdict != result.Fail {
			continue
		}
		s.graded++
		if t.Verdict == result.Pass {
			s.good++
		}
		s.add(t, names)
	}
	return s, nil
}

func (s *e2eSummary) add(t *result.Test, names []string) {
	scored := false
	for _, score := range t.Scores {
		for _, a := range score.Assertions {
			if a.Score != nil && slices.Contains(names, a.Text) {
				s.dimensions[a.Text] += *a.Score
				scored = true
			}
		}
	}
	if scored {
		s.scored++
	}
}

// conclude writes the reports, prints what the evaluation came to, and decides by the share of good answers.
func (f *e2eFlags) conclude(ctx context.Context, env *Env, e *evaluation.Evaluation, run *evaluation.Held, items []*e2eItem, log *e2eLog) error {
	s, err := summarise(run.Dir)
	if err != nil {
		return outcome(err)
	}
	accuracy := share(s.good, s.graded)
	if run.Run.ExitCode == result.ExitFailed || run.Run.ExitCode == result.ExitPassed {
		run.Run.ExitCode, run.Run.ExitReason = result.ExitPassed, "passed"
		if accuracy < f.accuracy {
			run.Run.ExitCode, run.Run.ExitReason = result.ExitFailed, "failed"
		}
	}
	r, err := e.Conclude(run)
	ended := errors.Join(f.asRun().show(env, run, r), err)
	f.print(env.Stdout, s, accuracy)
	f.printWarnings(env.Stdout, items)
	if err := log.finish(ctx, run, s, accuracy); err != nil && ended == nil {
		return err
	}
	return ended
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func (f *e2eFlags) print(out io.Writer, s e2eSummary, accuracy float64) {
	if s.graded == 0 {
		return
	}
	interval, verdict := stats.Wilson(s.good, s.graded), "enough"
	if accuracy < f.accuracy {
		verdict = "too few"
	}
	fmt.Fprintf(out, "\ngood answers  %d of %d = %.2f (95 %% interval %.2f–%.2f), %s for %.2f\n",
		s.good, s.graded, accuracy, interval[0], interval[1], verdict, f.accuracy)
	if s.scored == 0 {
		return
	}
	var means []string
	for _, name := range grader.Dimensions() {
		means = append(means, fmt.Sprintf("%s %.2f", name, s.dimensions[name]/float64(s.scored)))
	}
	fmt.Fprintln(out, "mean scores   "+strings.Join(means, ", "))
}

// printWarnings says what the histories do not tell for sure, counted by kind.
func (f *e2eFlags) printWarnings(out io.Writer, items []*e2eItem) {
	counts, warned := map[string]int{}, 0
	for _, item := range items {
		if len(item.rebuilt.Warnings) > 0 {
			warned++
		}
		for _, warning := range item.rebuilt.Warnings {
			code, _, _ := strings.Cut(warning, ":")
			counts[code]++
			if f.verbose {
				fmt.Fprintf(out, "warning  %s  %s\n", item.id, warning)
			}
		}
	}
	if warned == 0 || f.quiet {
		return
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", code, counts[code]))
	}
	hint := "; --verbose names the items"
	if f.verbose {
		hint = ""
	}
	fmt.Fprintf(out, "warnings      %s with a history that is not quite clear: %s%s\n", plural(warned, "item"), strings.Join(parts, ", "), hint)
}
