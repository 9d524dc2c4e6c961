package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/eval/judge/calibration"
	calibrationreport "github.com/rehearse-dev/rehearse/internal/report/calibration"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// calibrateFlags is what can be said on the command line of judge calibrate.
type calibrateFlags struct {
	judge, config, format         string
	minKappa, minAccuracy         float64
	threshold                     float64
	samples, workers              int
	grace                         time.Duration
	quiet, hasAccuracy, judgeSaid bool
}

// leastKappa is the agreement from which a judge passes by default (statistics.md).
const leastKappa = 0.6

// mostSamples is how often a judge can be asked about one answer.
const mostSamples = 100

func newJudgeCalibrate(env *Env) *cobra.Command {
	f := &calibrateFlags{}
	c := &cobra.Command{
		Use:   "calibrate LABELS",
		Short: "Say how far a judge agrees with people",
		Long: `Ask a judge about answers that people have labelled, and say how far it agrees with them: accuracy with its Wilson interval, Cohen's κ,
Krippendorff's α, the confusion, all of it for each criterion, the answers on which they differ with the judge's reasoning, and what it cost.
With --samples the judge is asked several times, which shows how far it agrees with itself; the first verdict is the one that counts.

LABELS is JSON Lines, or CSV with a header line (.jsonl, .csv, also .gz), a row for each label:
  {"id", "question", "answer", "criterion", "label"}
The label is pass, fail or unclear; a score between 0 and 1 may stand in its place. A question is a text or a list of messages. There may be an
expected_output, a context, and an annotator: rows of several people about the same answer and criterion are one answer, on which most of them
decide. A row with answer_a and answer_b is a pair, labelled a, b, tie or unclear, about which the judge is asked in both orders. Rows may also
be judgements that were labelled by hand, {"run_id", "suite", "test_id", "item", "assertion", "label", "judged", …}: what the judge said stands in
judged, and nobody is asked. With --judge every answer is judged anew.

An answer on which the judge gives no usable verdict is never counted as agreement. Remembered verdicts are not used.

Exit codes: 0 the gate is met, 1 it is missed, 2 wrong usage or faulty labels, 3 the judge could not decide everything, 130 interrupted. Without a
gate, 3 also says that no answer can be compared.`,
		Example: `  rehearse judge calibrate labels.jsonl
  rehearse judge calibrate labels.csv --judge openai:gpt-5 --samples 3
  rehearse judge calibrate labels.jsonl --min-kappa 0.7 --min-accuracy 0.85 --format md
  rehearse judge calibrate labels.jsonl --min-kappa -1     report only`,
		Args: named(1, "name one file of labels"),
		RunE: func(c *cobra.Command, args []string) error {
			f.hasAccuracy, f.judgeSaid = c.Flags().Changed("min-accuracy"), c.Flags().Changed("judge")
			if err := f.check(); err != nil {
				return err
			}
			return outcome(f.run(c.Context(), env, args[0]))
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.judge, "judge", "", "model that judges: a name from rehearse.yaml, or PROVIDER:MODEL; "+
		"several with commas between them are a panel (default: the configured judge)")
	flags.StringVar(&f.config, "config", "", "configuration file (default: the nearest rehearse.yaml above the labels)")
	flags.Float64Var(&f.minKappa, "min-kappa", leastKappa, "least Cohen's κ; -1 asks for none")
	flags.Float64Var(&f.minAccuracy, "min-accuracy", 0, "least accuracy (default: none)")
	flags.Float64Var(&f.threshold, "threshold", suite.DefaultThreshold,
		"score from which an answer passes, where people gave scores")
	flags.IntVar(&f.samples, "samples", 1, "how often the judge is asked about each answer")
	flags.IntVarP(&f.workers, "workers", "w", 8, "answers judged at once")
	flags.StringVar(&f.format, "format", "text", "text, json or md")
	flags.DurationVar(&f.grace, "grace", 15*time.Second, "after Ctrl-C, how long asks in flight may take to finish")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	return c
}

// check refuses what cannot be meant. A number that is none is in no range.
func (f *calibrateFlags) check() error {
	switch {
	case !slices.Contains([]string{"text", "json", "md"}, f.format):
		return usage("unknown format %q: use text, json or md", f.format)
	case !(f.minKappa >= -1 && f.minKappa <= 1):
		return usage("--min-kappa %g is out of range: use -1 to 1", f.minKappa)
	case !(f.minAccuracy >= 0 && f.minAccuracy <= 1):
		return usage("--min-accuracy %g is out of range: use 0 to 1", f.minAccuracy)
	case !(f.threshold >= 0 && f.threshold <= 1):
		return usage("--threshold %g is out of range: use 0 to 1", f.threshold)
	case f.samples < 1 || f.samples > mostSamples:
		return usage("--samples %d is out of range: use 1 to %d", f.samples, mostSamples)
	case f.workers < 1 || f.workers > 1000:
		return usage("--workers %d is out of range: use 1 to 1000", f.workers)
	case f.grace < 0:
		return usage("--grace cannot be negative")
	}
	return nil
}

// run reads the labels, asks the judge, and prints the report.
func (f *calibrateFlags) run(ctx context.Context, env *Env, file string) error {
	labels, err := calibration.Load(file)
	if err != nil {
		return err
	}
	if item := labels.Unanswered(f.judgeSaid); item != nil {
		return usage("%s:%d: the row has no answer to be judged: add it, or leave --judge out to count what the "+
			"judge said before", file, item.Line)
	}
	if len(labels.Ignored) > 0 {
		fmt.Fprintf(env.Stderr, "rehearse: columns that are not read: %s\n", strings.Join(labels.Ignored, ", "))
	}
	first, err := env.open(wire.Options{Config: f.config})
	if err != nil {
		return err
	}
	defer env.closed(first)
	s, err := first.At(filepath.Dir(file))
	if err != nil {
		return err
	}
	r, err := f.calibrate(ctx, env, s, labels)
	if err != nil {
		return err
	}
	if err := f.print(env, r); err != nil {
		return err
	}
	if code := r.Exit(); code != result.ExitPassed {
		return &exitError{code: code}
	}
	return nil
}

// calibrate asks the judge that s names, unless the labels hold what it said.
func (f *calibrateFlags) calibrate(ctx context.Context, env *Env, s *wire.Setup,
	labels *calibration.Labels) (*calibration.Report, error) {
	o := calibration.Options{Samples: f.samples, Workers: f.workers, Threshold: f.threshold, Again: f.judgeSaid}
	gate := calibration.Gate{}
	if f.minKappa > -1 {
		gate.MinKappa = &f.minKappa
	}
	if f.hasAccuracy {
		gate.MinAccuracy = &f.minAccuracy
	}
	if !labels.NeedsJudge(o.Again) {
		o.Samples = 1
		asked, use := calibration.Judge(ctx, nil, nil, labels, o)
		return calibration.New(cmp.Or(labels.Judges(), "none"), labels, asked, use, o, gate), nil
	}
	judging := wire.Judging{Name: f.judge}
	j, err := s.Judge(judging)
	if err != nil {
		return nil, err
	}
	progress := newProgress(env, f.quiet)
	progress.words = [4]string{"labels", "agree", "differ", "undecided"}
	progress.Begin(result.Run{}, len(labels.Items))
	o.Observe = func(p calibration.Progress) {
		progress.Observe(orchestrator.Progress{Totals: result.Totals{
			Tests: p.Done, Passed: p.Agreed, Failed: p.Differing, Errors: p.Undecided, Judge: p.Use,
		}, InFlight: p.InFlight})
	}
	working, stop, release := env.interruptible(ctx, f.grace, progress.note)
	asked, use := calibration.Judge(working, stop, j, labels, o)
	release()
	progress.End()
	name := s.JudgeName(judging)
	if before := labels.Judges(); before != "" && !o.Again {
		name += ", and before " + before
	}
	return calibration.New(name, labels, asked, use, o, gate), nil
}

func (f *calibrateFlags) print(env *Env, r *calibration.Report) error {
	switch f.format {
	case "json":
		return writeJSON(env.Stdout, r)
	case "md":
		return calibrationreport.Markdown(env.Stdout, r)
	}
	return calibrationreport.Text(env.Stdout, r)
}
