package main

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func newShow(env *Env) *cobra.Command {
	var test, format string
	var quiet bool
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show a finished run again, or list the runs",
		Example: `  rehearse show                         list the latest runs
  rehearse show latest
  rehearse show latest --test refund-twice   one test with its whole transcript
  rehearse show .rehearse/runs/ID --format md`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listRuns(c, env)
			}
			dir, err := env.findRun(c.Context(), args[0], "", ".")
			if err != nil {
				return err
			}
			run, err := runlog.Inspect(dir)
			if err != nil {
				return usage("cannot show the run: %w", err)
			}
			if run.ExitReason == result.ReasonDied {
				defer fmt.Fprintf(env.Stderr, "rehearse: the run died; go on with\n  %s\n", goOn(run, dir))
			}
			tests := runlog.ReadRecords(dir, run)
			if test != "" {
				if tests, err = onlyTest(tests, test); err != nil {
					return outcome(err)
				}
				if tests == nil {
					return usage("the run has no test called %q: `rehearse show %s` lists them", test, args[0])
				}
			}
			url, err := env.published("")
			if err != nil {
				return err
			}
			r := report.New(run, tests).At(url)
			switch {
			case format == "text" && test != "":
				if err := r.Transcript(env.Stdout); err != nil {
					return outcome(err)
				}
				return outcome(r.Text(env.Stdout, report.TextOptions{
					Width: env.Width, Verbose: true, Page: report.PageOf(dir, url),
				}))
			case format == "text":
				return outcome(r.Text(env.Stdout, report.TextOptions{
					Colour: env.colours(), Width: env.Width, Verbose: !quiet, Quiet: quiet, Dir: dir,
					Page: report.PageOf(dir, url),
				}))
			case format == "md":
				return outcome(r.Markdown(env.Stdout))
			}
			return usage("unknown format %q: use text or md; the folder %s has all of them", format, dir)
		},
	}
	c.Flags().StringVar(&test, "test", "", "only this test, with its transcript")
	c.Flags().StringVar(&format, "format", "text", "text or md")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "print only the totals")
	return c
}

// onlyTest returns the records of a test, which are read once, and what could not be read; nil where the run lacks
// the test.
func onlyTest(tests runlog.Stream, id string) (runlog.Stream, error) {
	var found []*runlog.Record
	var failed error
	for r, err := range tests {
		var t *result.Test
		if err == nil && r.Brief.TestID == id {
			t, err = r.Decode()
		}
		failed = errors.Join(failed, err)
		if t != nil {
			found = append(found, runlog.RecordOf(t))
		}
	}
	if len(found) == 0 {
		return nil, failed
	}
	return func(yield func(*runlog.Record, error) bool) {
		for _, r := range found {
			if !yield(r, nil) {
				return
			}
		}
		if failed != nil {
			yield(nil, failed)
		}
	}, nil
}

func listRuns(c *cobra.Command, env *Env) error {
	s, err := env.here(wire.Options{})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	index, err := s.Store(c.Context())
	if err != nil {
		return outcome(err)
	}
	runs, err := index.Runs(c.Context(), 20)
	if err != nil {
		return outcome(err)
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(env.Stdout, "no runs yet: start with `rehearse run SUITE`")
		return err
	}
	table := tabwriter.NewWriter(env.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tSTARTED\tRESULT\tTESTS\tPASSED\tFAILED\tERRORS\tFOLDER")
	for _, r := range runs {
		if r.ExitReason == result.ReasonRunning && !runlog.Locked(r.Dir) {
			r.ExitReason = result.ReasonDied
		}
		t := r.Totals
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", r.ID, r.StartedAt.Local().Format(time.DateTime),
			r.ExitReason, t.Tests, t.Passed, t.Failed, t.Errors, r.Dir)
	}
	return table.Flush()
}
