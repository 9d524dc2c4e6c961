package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"rehearse/internal/replay"
	"rehearse/internal/result"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

func newReplayRun(env *Env) *cobra.Command {
	f := &replayFlags{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Replay past conversations against a variant and a baseline",
		Long: `Replay past conversations against a variant and a baseline, and say whether the variant is better, worse, or not told apart.

Every conversation is played in three lanes: what was logged, the baseline and the candidate. A message of the log says something about a lane only
as long as the lane has asked for the same thing; up to there it is supported. Every figure is given for whole conversations, and for the turns
that are supported in both lanes.

The paired gate compares both lanes conversation by conversation and passes unless a metric is known to be worse (--require asks for more). The spec
gate compares means, and asks for 80 % completion match besides. Both are printed, --gate says which decides.

Results are kept in the store as they are finished. A run that was broken off goes on with the same command and --evaluation_run_id.

Exit codes: 0 passed, or nothing to compare with; 1 the gate was not passed; 2 wrong usage, unknown variant or flow, no conversations; 3 it could not
be run; 130 interrupted.`,
		Example: `  rehearse replay run --variant_id new --baseline_variant_id old --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31
  rehearse replay run --variant_id new --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31 --mode forced --sample_size 500
  rehearse replay run --aa --baseline_variant_id old --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.run(c.Context(), env)
		},
	}
	f.register(c.Flags())
	underscored(c)
	return c
}

// errInterrupted is why a run ends that its user stops.
var errInterrupted = errors.New("interrupted")

func (f *replayFlags) run(ctx context.Context, env *Env) (err error) {
	if err := loaded(f.store); err != nil {
		return err
	}
	s, err := env.open(setup.Options{Config: f.config})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	if s, err = s.At("."); err != nil {
		return outcome(err)
	}
	h, err := setup.OpenHistory(ctx, f.store)
	if err != nil {
		return outcome(err)
	}
	defer func() { err = errors.Join(err, outcome(h.Close())) }()
	if _, err := h.Runs.Sweep(ctx, env.Now()); err != nil {
		return outcome(err)
	}
	e, err := f.evaluation(ctx, env, s, h)
	if err != nil {
		return err
	}
	id := e.Head.Run.ID
	sink, err := f.openReports(id)
	if err != nil {
		return err
	}
	e.Each = sink.each
	progress := f.progress(env)
	e.Progress = progress.done
	if !f.quiet {
		fmt.Fprintf(env.Stderr, "rehearse: run %s; if it is broken off, the same command with --evaluation_run_id %s goes on\n", id, id)
	}
	ctx, release := stoppable(ctx, env)
	defer release()
	report, err := e.Evaluate(ctx)
	progress.end()
	if closing := sink.close(); err == nil {
		err = outcome(closing)
	}
	if err != nil {
		return f.explain(ctx, h, err, id)
	}
	return f.conclude(env, report, sink.dir)
}

// explain says why there is no report.
func (f *replayFlags) explain(ctx context.Context, h *setup.History, err error, id string) error {
	switch {
	case errors.Is(context.Cause(ctx), errInterrupted):
		return &exitError{result.ExitInterrupted, fmt.Errorf("interrupted; what was replayed is kept: go on with --evaluation_run_id %s", id)}
	case errors.Is(err, replay.ErrNoSessions):
		return f.nothing(ctx, h.Events)
	case errors.Is(err, replay.ErrNothingReplayed):
		return outcome(fmt.Errorf("%w: a lane failed in each of them; the table exp.conversation_replay_sessions says why (run %s)", err, id))
	}
	return outcome(fmt.Errorf("%w (what was replayed is kept: go on with --evaluation_run_id %s)", err, id))
}

// evaluation sets everything up.
func (f *replayFlags) evaluation(ctx context.Context, env *Env, s *setup.Setup, h *setup.History) (*replay.Evaluation, error) {
	agents := &replayAgents{env: env, setup: s, variants: h.Variants, flows: f.flows, prompts: f.prompts}
	candidate, err := agents.open(ctx, f.variant)
	if err != nil {
		return nil, err
	}
	player := &replay.Replayer{
		Candidate: candidate.agent, Mode: replay.Mode(f.mode), User: replay.Recalled{}, TurnTimeout: f.turnTimeout, Seed: replay.Seed, Now: env.Now,
	}
	head := replay.Report{Candidate: candidate.Replayed, AA: f.aa, From: f.begin, To: f.end.AddDate(0, 0, -1)}
	settings := map[string]any{
		"candidate": candidate.settings, "mode": f.mode, "from": f.from, "to": f.to, "flow": f.flow, "sample_size": f.sample, "min_turns": f.minTurns,
		"states": f.states, "user": f.user, "seed": replay.Seed,
	}
	if f.baseline != "" {
		baseline, err := agents.open(ctx, f.baseline)
		if err != nil {
			return nil, err
		}
		player.Baseline, head.Baseline, settings["baseline"] = baseline.agent, &baseline.Replayed, baseline.settings
	}
	if f.user != "" {
		model, err := s.Model(f.user)
		if err != nil {
			return nil, err
		}
		player.User = &replay.ModelUser{Model: model}
	}
	encoded, err := json.Marshal(settings)
	if err != nil {
		return nil, outcome(err)
	}
	head.Run = replay.Run{
		ID: f.runID, VariantID: f.variant, BaselineID: f.baseline, FlowID: f.flow, DatasetVersion: f.datasetVersion(),
		Mode: replay.Mode(f.mode), Gate: f.gate, Settings: encoded,
	}
	e := &replay.Evaluation{
		Events: h.Events, Runs: h.Runs, From: f.begin, To: f.end, MinTurns: f.minTurns, SampleSize: f.sample, Side: replay.Side(f.states),
		Replayer: player, Workers: f.workers, Head: head, Requirement: replay.Requirement(f.require), Now: env.Now,
	}
	return e, f.identify(ctx, e, h)
}

// alive is how long a run that goes on may have said nothing; it says so every second.
const alive = 15 * time.Second

// identify gives the run its id, or finds the run that goes on.
func (f *replayFlags) identify(ctx context.Context, e *replay.Evaluation, h *setup.History) error {
	run := &e.Head.Run
	if run.ID == "" {
		run.ID = uuid.NewString()
		return nil
	}
	if _, err := uuid.Parse(run.ID); err != nil {
		return usage("--evaluation_run_id %q is no UUID: leave it out for a new one", run.ID)
	}
	former, err := h.Runs.Run(ctx, run.ID)
	switch {
	case errors.Is(err, replay.ErrUnknown):
		return nil
	case err != nil:
		return outcome(err)
	case former.Status == replay.Running && e.Now().Sub(former.Seen) < alive:
		return usage("run %s still goes on elsewhere: wait for it, or until it has been silent for %s", run.ID, alive)
	case !source.SameJSON(run.Settings, former.Settings):
		return usage("run %s was another one: its variants, flows, prompts or days differ; leave --evaluation_run_id out for a new run", run.ID)
	}
	e.Resumed = true
	return nil
}

// stoppable returns a context that ends with the first signal.
func stoppable(ctx context.Context, env *Env) (stopped context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		select {
		case <-env.Signals:
			cancel(errInterrupted)
		case <-ended:
		}
	}()
	return ctx, func() { close(ended); cancel(nil) }
}

// replayProgress says on the terminal how far a run is.
type replayProgress struct {
	env           *Env
	quiet         bool
	started, told time.Time
	n             int
}

func (f *replayFlags) progress(env *Env) *replayProgress {
	return &replayProgress{env: env, quiet: f.quiet, started: env.Now(), told: env.Now()}
}

func (p *replayProgress) done(n int) {
	p.n = n
	now := p.env.Now()
	wait := plainInterval
	if p.env.Interactive {
		wait = 200 * time.Millisecond
	}
	if p.quiet || now.Sub(p.told) < wait {
		return
	}
	p.told = now
	line := fmt.Sprintf("rehearse: %s replayed, %.0f a second", plural(n, "conversation"), float64(n)/max(now.Sub(p.started).Seconds(), 1e-9))
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
