package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// compareFlags is what can be said on the command line of compare.
type compareFlags struct {
	format  string
	failOn  string
	rule    compare.Rule
	options compare.Options
}

func newCompare(env *Env) *cobra.Command {
	f := &compareFlags{}
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two runs test by test",
		Long: `Compare the run A, the baseline, with the run B, test by test. A run is named by its id, its folder, or latest.

A test is its suite, id and target. Every test is in one list: regressed, not confirmed (it failed once, and nothing shows that it always does),
still failing, not graded (an error, skipped or ungraded in B), redefined (not graded alike in both runs), fixed, passing with another score, new,
gone, or as good as before.

Exit codes: B's own (--fail-on any, the default), and 2 or 3 if a run cannot be read. With --fail-on regression: 1 when the mean score is worse, a
required test fell, or an exact test shows that the trials of a test pass less often; 3 when too few tests of A were compared, or a test has an error
that had none in A; else 0. With --fail-on any-change: 1 when a test passed in A and fails in B, 3 when one that passed in A was not graded in B, else
0. A run that was stopped keeps its own code.`,
		Example: `  rehearse compare 20260714-093000-1a2b3 latest
  rehearse compare main/ candidate/ --fail-on regression
  rehearse compare old/ new/ --ignore-target --format md`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, env, args[0], args[1]) },
	}
	c.Flags().StringVar(&f.format, "format", "text", "text, md or json")
	c.Flags().StringVar(&f.failOn, "fail-on", "",
		"exit with B's own code (any, the default), or by what became worse (regression, any-change)")
	c.Flags().Float64Var(&f.rule.MinOverlap, "min-overlap", runspec.DefaultMinOverlap,
		"with --fail-on regression: share of A's graded tests that must be compared")
	c.Flags().BoolVar(&f.options.IgnoreTarget, "ignore-target", false,
		"match tests of different targets; each run has one")
	return c
}

func (f *compareFlags) run(c *cobra.Command, env *Env, a, b string) error {
	var err error
	if f.rule.Gate, err = runspec.ParseGate(f.failOn); err != nil {
		return outcome(err)
	}
	if o := f.rule.MinOverlap; !(o >= 0 && o <= 1) {
		return usage("--min-overlap %g is out of range: use a share between 0 and 1", o)
	}
	f.options.Deterministic = f.rule.Gate == compare.AnyChange
	if f.format != "text" && f.format != "md" && f.format != "json" {
		return usage("unknown format %q: use text, md or json", f.format)
	}
	var dirs [2]string
	var sides [2]compare.Side
	for i, name := range []string{a, b} {
		if dirs[i], err = env.findRun(c.Context(), name, "", "."); err != nil {
			return outcome(err)
		}
		if sides[i], err = compare.Open(dirs[i]); err != nil {
			return usage("cannot compare %s: %w", name, err)
		}
	}
	found, err := compare.Runs(sides[0], sides[1], f.options)
	if err != nil {
		return outcome(err)
	}
	for i, of := range []result.Compared{found.Baseline, found.Candidate} {
		if of.ExitReason == result.ReasonDied {
			fmt.Fprintf(env.Stderr, "rehearse: %s; go on with\n  %s\n",
				report.BrokenOff([]string{"baseline", "candidate"}[i], of), goOn(sides[i].Run, dirs[i]))
		}
	}
	if err := f.print(env, found); err != nil {
		return err
	}
	code, why := f.rule.Exit(found, sides[1].Run.Code())
	if why != "" {
		fmt.Fprintf(env.Stderr, "rehearse: %s\n", why)
	}
	if code != result.ExitPassed {
		return &exitError{code: code}
	}
	return nil
}

func (f *compareFlags) print(env *Env, c *result.Comparison) error {
	switch f.format {
	case "json":
		return json.NewEncoder(env.Stdout).Encode(c)
	case "md":
		return report.ComparisonMarkdown(env.Stdout, c)
	}
	return report.ComparisonText(env.Stdout, c, report.TextOptions{Colour: env.colours(), Width: env.Width})
}
