package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/cmd/rehearse/commandline"
	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/ci"
	"github.com/rehearse-dev/rehearse/internal/report/variants"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// replayFlags is what can be said on the command line of replay run.
type replayFlags struct {
	replayrun.Config
	config, format string
	ci, query      string
	quiet, detach  bool
	server         serverFlags
	rules          gateFlags
	counted        dayFlags
}

// gateFlags are the flags of the paired gate, which run and score have in common.
type gateFlags struct{ margins []string }

func (g *gateFlags) register(flags *pflag.FlagSet, rules *replay.Rules) {
	flags.StringVar((*string)(&rules.Require), "require", string(rules.Require),
		"what the paired gate asks for: not_worse, non_inferior or better")
	flags.StringArrayVar(&g.margins, "margin", nil, "loss that does not matter, METRIC=VALUE: completion_match=5pp, "+
		"avg_latency_ms=10% or a number; may be given several times")
	flags.Float64Var(&rules.MinPower, "min-power", rules.MinPower,
		"probability with which a loss beyond the margin must have been found; 0 asks for none")
	flags.Float64Var(&rules.MaxLost, "max-lost", rules.MaxLost,
		"largest share of pairs that may be lost because a lane failed")
	flags.StringVar((*string)(&rules.Cluster), "cluster", string(rules.Cluster),
		"what counts as independent: unit (the user), session, or auto (the user where it is known)")
}

// registerSlow registers the flag of slow turns, which run, score and watch have in common.
func registerSlow(flags *pflag.FlagSet, slow *time.Duration) {
	flags.DurationVar(slow, "slow", replay.DefaultSlow, "latency above which a turn is slow")
}

// checkSlow refuses a threshold that no turn could meet.
func checkSlow(slow time.Duration) error {
	if slow <= 0 {
		return usage("--slow %s is out of range: use a duration above 0, such as 10s", slow)
	}
	return nil
}

func newReplayRun(env *Env) *cobra.Command {
	f := &replayFlags{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Replay past conversations against an agent and a baseline",
		Long: `Replay past conversations against an agent and a baseline, and say whether the agent is better, worse, or not told apart.

An agent is variant:ID, a variant of the store, or target:NAME, a target of rehearse.yaml of any kind. It is opened as for a suite, and each
conversation is one of its own.

Every conversation is played in three lanes: what was logged, the baseline and the candidate. A message of the log says something about a lane only
as long as the lane has asked for the same thing; up to there it is supported. Every figure is given for whole conversations, and for the turns
that are supported in both lanes.

The paired gate compares both lanes conversation by conversation. It does not pass when a metric or guard is worse
(completion, states, turns, latency, slow turns, collected data, cost and others) or too many pairs are lost. It cannot
say when a loss that matters could have gone unnoticed, or when the candidate does not report what the baseline does.
--require asks for more. The spec gate compares means, and asks for 80 % completion match besides. Both are printed, --gate says which decides.

With --server, a server holds the run: its log and its variants are those of its store, and the configuration, the flows and the prompts of here are
sent there, keys and other secrets are not. Output, reports and exit code are those of a local run. Ctrl-C cancels it.

Results are kept in the store as they are finished. A run that was broken off goes on with the same command and --evaluation_run_id.

Exit codes: 0 passed, or nothing to compare with; 1 the gate was not passed; 2 wrong usage, unknown variant or flow, no conversations; 3 it could not
be run, or every pair was lost; 4 the gate cannot say: too few sessions; 5 it cannot be judged from this log; 130 interrupted.`,
		Example: `  rehearse replay run --variant_id new --baseline_variant_id old --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31
  rehearse replay run --candidate target:staging --baseline target:production --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31
  rehearse replay run --variant_id new --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31 --mode forced --sample_size 500
  rehearse replay run --variant_id new --baseline_variant_id old --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31 --server https://rehearse.example
  rehearse replay run --aa --baseline_variant_id old --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.checkServer(c.Flags()); err != nil {
				return err
			}
			if f.server.url != "" {
				return outcome(f.onServer(c.Context(), env, c.Flags()))
			}
			f.Command = append([]string{"replay"}, commandline.Of("run", c.Flags(), nil, notKept...)...)
			return outcome(f.run(c.Context(), env))
		},
	}
	f.register(c.Flags())
	underscored(c)
	return c
}

func (f *replayFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Spec.Candidate, "candidate", "",
		"agent to evaluate: variant:ID, or target:NAME with a target of rehearse.yaml")
	flags.StringVar(&f.Spec.Baseline, "baseline", "", "agent to compare it with, likewise")
	flags.StringVar(&f.Spec.VariantID, "variant-id", "", "the same as --candidate variant:ID")
	flags.StringVar(&f.Spec.BaselineID, "baseline-variant-id", "", "the same as --baseline variant:ID")
	flags.Lookup("variant-id").Hidden, flags.Lookup("baseline-variant-id").Hidden = true, true
	flags.StringVar(&f.Spec.FlowID, "flow-id", "", "flow whose past conversations are replayed")
	flags.StringVar(&f.Spec.FirstDay, "start-date", "", "first day, YYYY-MM-DD")
	flags.StringVar(&f.Spec.LastDay, "end-date", "", "last day, YYYY-MM-DD")
	f.counted.register(flags)
	flags.IntVar(&f.Spec.SampleSize, "sample-size", 0,
		"only so many conversations, the same ones every time (default all)")
	flags.IntVar(&f.Spec.MinTurns, "min-turns", 1, "only conversations with at least so many messages of the user's")
	flags.StringVar((*string)(&f.Spec.Mode), "mode", string(replay.Recorded),
		"recorded, forced (the logged state before each message) or simulated (a simulated user goes on)")
	flags.StringVar(&f.Spec.Gate, "gate", replay.GatePaired,
		"what decides: paired (with intervals) or spec (70 % of the metrics)")
	f.Spec.Rules = replay.DefaultRules()
	f.rules.register(flags, &f.Spec.Rules)
	flags.Float64Var(&f.Spec.Rules.MinSupport, "min-support", f.Spec.Rules.MinSupport,
		"least share of logged messages that answer what a lane had asked (recorded mode)")
	flags.Float64Var(&f.Spec.Rules.MinFidelity, "min-fidelity", f.Spec.Rules.MinFidelity,
		"least fidelity of the simulated user (simulated mode)")
	flags.BoolVar(&f.Spec.AA, "aa", false, "replay the baseline against itself, to see the noise")
	flags.StringVar((*string)(&f.Spec.Side), "states", string(replay.After),
		"states of the log that count: after or before each message of the user's")
	registerSlow(flags, &f.Spec.Slow)
	flags.StringVar(&f.Spec.User, "user", "",
		"model of the simulated user (default: what the user said when asked the same)")
	flags.IntVar(&f.Spec.MaxExtraTurns, "max-extra-turns", replay.DefaultMaxExtraTurns,
		"turns of the simulated user beyond as many as the log has (simulated mode)")
	flags.StringVar(&f.Spec.Judge, "judge", "", "model that compares the replies of both agents, in both orders")
	flags.StringArrayVar(&f.Spec.Rules.Slices, "slice", nil,
		"field of context or metadata in each slice of which nothing may get worse (repeatable)")
	flags.StringVar(&f.Flows, "flows", "flows", "folder, or file, of the flows that variants name")
	flags.StringVar(&f.Prompts, "prompts", "prompts", "folder of the prompt files that variants name")
	flags.StringVar(&f.config, "config", "", "configuration file with models (default: the nearest rehearse.yaml)")
	flags.StringVar(&f.Store, "store", "", "where events, variants and results are kept: "+historyPlaces)
	flags.StringVar(&f.Assert, "assert", "", "file of assertions that every conversation must meet")
	flags.StringVar(&f.Log, "log", "", "read the log from this PostgreSQL database, and change nothing there")
	flags.StringVar(&f.query, "query", "", "file with the SQL query of the rows of --log (default: all of exp.events)")
	flags.IntVar(&f.Spec.Repeats, "repeats", 1, "how often each conversation is replayed in each lane")
	flags.IntVarP(&f.Spec.Workers, "workers", "w", replayrun.DefaultWorkers, "conversations at once")
	flags.DurationVar(&f.Spec.TurnTimeout, "turn-timeout", replayrun.DefaultTurnTimeout, "longest wait for one answer")
	flags.StringVar(&f.Spec.RunID, "evaluation-run-id", "", "id of the run; one that is known goes on where it ended")
	flags.StringVarP(&f.Out, "out", "o", "", "folder for the reports (default .rehearse/replays/ID)")
	flags.StringVar(&f.format, "format", "text", "what is printed: text or json")
	flags.BoolVar(&f.Sessions, "per-session", false, "also write every conversation in all its lanes to sessions.jsonl")
	registerCI(flags, &f.ci)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	f.server.register(flags, "base URL of a server that holds the run")
	flags.BoolVar(&f.detach, "detach", false, "with --server: print the run's id and return")
}

// check refuses flags that make no sense, wherever the run is held.
func (f *replayFlags) check() error {
	if err := errors.Join(textOrJSON(f.format), ci.Check(f.ci), checkSlow(f.Spec.Slow), f.counted.check()); err != nil {
		return err
	}
	if err := f.readQuery(); err != nil {
		return err
	}
	f.Spec.Timezone, f.Spec.SessionGap = f.counted.timezone, f.counted.gap
	if f.Spec.Repeats < 1 {
		return usage("--repeats %d is out of range: use 1 or more", f.Spec.Repeats)
	}
	if err := f.Spec.Rules.SetMargins(f.rules.margins); err != nil {
		return err
	}
	return nil
}

// readQuery reads the query of the log.
func (f *replayFlags) readQuery() error {
	if f.query == "" {
		return nil
	}
	if f.Log == "" {
		return usage("--query is for --log: name the database of the log")
	}
	sql, err := os.ReadFile(f.query)
	f.Query = strings.TrimSpace(strings.TrimPrefix(string(sql), "\ufeff"))
	if err == nil && f.Query == "" {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return usage("cannot read --query: %w", err)
	}
	return nil
}

// run opens what is replayed, replays it, and shows the report.
func (f *replayFlags) run(ctx context.Context, env *Env) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	s, err := env.open(wire.Options{Config: f.config})
	if err != nil {
		return err
	}
	defer env.closed(s)
	if f.Setup, err = s.At("."); err != nil {
		return err
	}
	f.Store, f.Version, f.Commit = cmp.Or(f.Store, f.Setup.StorePath()), version(), evaluation.Commit()
	progress := &replayProgress{env: env, quiet: f.quiet, started: env.Now(), told: env.Now()}
	f.Progress = progress.done
	r, err := replayrun.Open(ctx, f.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if !f.quiet {
		fmt.Fprintf(env.Stderr,
			"rehearse: run %s; if it is broken off, the same command with --evaluation_run_id %s goes on\n", r.ID, r.ID)
	}
	working, release := stoppable(ctx, env)
	defer release()
	report, err := r.Run(working)
	progress.end()
	switch {
	case err != nil && errors.Is(context.Cause(working), errInterrupted):
		return &exitError{
			result.ExitInterrupted,
			fmt.Errorf("interrupted; what was replayed is kept: go on with --evaluation_run_id %s", r.ID),
		}
	case err != nil:
		return err
	}
	return f.show(env, report, r.Dir)
}

// show prints the figures, and says by the exit code how the gate decided.
func (f *replayFlags) show(env *Env, r *replay.Report, dir string) error {
	write := variants.Text
	if f.format == "json" {
		write = variants.JSON
		if warning := r.States.Warning(); warning != "" { // text begins with it
			fmt.Fprintln(env.Stderr, "rehearse: warning: "+warning)
		}
	}
	if err := write(env.Stdout, r); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "rehearse: see %s\n", filepath.Join(dir, "report.html"))
	if r.Gate != nil {
		env.tellCI(f.ci, f.format == "text", ci.Verdict(dir, "replay", r.Gate.Headline,
			r.Gate.ExitCode == result.ExitPassed))
	}
	if code := r.ExitCode(); code != result.ExitPassed {
		return &exitError{code: code}
	}
	return nil
}

// errInterrupted is why a run ends that its user stops.
var errInterrupted = errors.New("interrupted")

// stoppable returns a context that ends with the first signal.
func stoppable(ctx context.Context, env *Env) (stopped context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-env.Signals:
			cancel(errInterrupted)
		case <-ended:
		}
	}()
	return ctx, func() {
		close(ended)
		<-watched
		cancel(nil)
	}
}

// replayProgress says on the terminal how far a run is.
type replayProgress struct {
	env           *Env
	quiet         bool
	started, told time.Time
}

func (p *replayProgress) done(n int) {
	now := p.env.Now()
	wait := plainInterval
	if p.env.Interactive {
		wait = 200 * time.Millisecond
	}
	if p.quiet || now.Sub(p.told) < wait {
		return
	}
	p.told = now
	line := fmt.Sprintf("rehearse: %s replayed, %.0f a second", plural(n, "conversation"),
		float64(n)/max(now.Sub(p.started).Seconds(), 1e-9))
	if p.env.Interactive {
		fmt.Fprintf(p.env.Stderr, "\r%s\x1b[K", line)
		return
	}
	fmt.Fprintln(p.env.Stderr, line)
}

func (p *replayProgress) end() {
	if p.env.Interactive && !p.quiet {
		fmt.Fprint(p.env.Stderr, "\r\x1b[K")
	}
}
