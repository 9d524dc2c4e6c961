package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/variants"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// watchFlags is what can be said on the command line of replay watch.
type watchFlags struct {
	replayrun.WatchConfig
	since, until, config, format string
	// shown is true when the looks that there are are only shown.
	shown   bool
	margins []string
	counted dayFlags
}

func newReplayWatch(env *Env) *cobra.Command {
	f := &watchFlags{}
	c := &cobra.Command{
		Use:   "watch",
		Short: "Compare an agent with a baseline night after night",
		Long: `Look again and again whether an agent got worse than a baseline. At the end of each period the conversations that ended in it are replayed once, and
all until then are judged. Looks that are due are taken at once, in their order; the next ones wait for their time, until --until.

The intervals are always-valid: over any number of looks, the watch gives a false alarm with a probability of at most
--alpha. A metric is worse, which is the alarm, when its interval excludes 0. All metrics and guards of the gate of
"rehearse replay run" are watched with their margins, too. An alarm stays. What was found is kept in the store under
the name of the watch: the same command goes on, and nothing is replayed twice.

With --show the looks that were taken until now, here or by a server (watches in rehearse.yaml), are shown, and none is taken; only --name is needed.

Exit codes: 0 no alarm; 1 an alarm; 2 wrong usage, or a watch of this name with other settings; 3 it could not be run,
there was nothing to compare in all looks, or the candidate does not report a metric of the baseline; 130 interrupted.`,
		Example: `  rehearse replay watch --name nightly --candidate target:staging --baseline target:production --flow_id ride_book --since 2026-01-01 --every 24h
  rehearse replay watch --name january --candidate variant:new --baseline variant:old --flow_id ride_book --since 2026-01-01 --until 2026-01-31 --format json
  rehearse replay watch --name nightly --show
  rehearse replay watch --name nightly … --alert https://hooks.example.com/rehearse     (REHEARSE_WEBHOOK_SECRET signs what it is sent)`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return outcome(f.run(c.Context(), env)) },
	}
	flags := c.Flags()
	flags.StringVar(&f.Watching.Name, "name", "", "name under which the watch goes on")
	flags.StringVar(&f.Spec.Candidate, "candidate", "",
		"agent to watch: variant:ID, or target:NAME with a target of rehearse.yaml")
	flags.StringVar(&f.Spec.Baseline, "baseline", "", "agent to compare it with, likewise")
	flags.StringVar(&f.Spec.FlowID, "flow-id", "", "flow whose conversations are replayed")
	flags.StringVar(&f.since, "since", "", "day on which the first period begins, YYYY-MM-DD")
	flags.StringVar(&f.until, "until", "", "day with whose end the last look is taken (default: the watch has no end)")
	flags.DurationVar(&f.Watching.Every, "every", 24*time.Hour, "length of a period")
	flags.StringSliceVar(&f.Watching.Metrics, "metrics", replay.DefaultWatched(), "what is compared")
	flags.Float64Var(&f.Watching.Alpha, "alpha", replay.DefaultAlpha,
		"probability of a false alarm over the whole watch")
	flags.StringVar((*string)(&f.Watching.Cluster), "cluster", string(replay.ByAuto),
		"what counts as independent: unit (the user), session, or auto (the user where it is known)")
	flags.StringVar(&f.Alert, "alert", "", "webhook that is told of the alarm")
	flags.IntVar(&f.Spec.MinTurns, "min-turns", 1, "only conversations with at least so many messages of the user's")
	flags.StringVar((*string)(&f.Spec.Mode), "mode", string(replay.Recorded),
		"recorded, forced (the logged state before each message) or simulated (a simulated user goes on)")
	flags.StringVar((*string)(&f.Spec.Side), "states", string(replay.After),
		"states of the log that count: after or before each message of the user's")
	registerSlow(flags, &f.Spec.Slow)
	f.counted.register(flags)
	flags.StringArrayVar(&f.margins, "margin", nil, "loss that does not matter, METRIC=VALUE (repeatable)")
	flags.StringVar(&f.Spec.User, "user", "",
		"model of the simulated user (default: what the user said when asked the same)")
	flags.StringVar(&f.Flows, "flows", "flows", "folder, or file, of the flows that variants name")
	flags.StringVar(&f.Prompts, "prompts", "prompts", "folder of the prompt files that variants name")
	flags.StringVar(&f.config, "config", "", "configuration file with models (default: the nearest rehearse.yaml)")
	flags.StringVar(&f.Store, "store", "", "where events, variants and results are kept: "+historyPlaces)
	flags.IntVarP(&f.Spec.Workers, "workers", "w", replayrun.DefaultWorkers, "conversations at once")
	flags.DurationVar(&f.Spec.TurnTimeout, "turn-timeout", replayrun.DefaultTurnTimeout, "longest wait for one answer")
	flags.BoolVar(&f.shown, "show", false, "show the looks of a watch, and take none")
	flags.StringVar(&f.format, "format", "text", "what is printed: text, or json at the end")
	underscored(c)
	return c
}

// run takes the looks, prints them, and says by the exit code whether there was an alarm.
func (f *watchFlags) run(ctx context.Context, env *Env) error {
	if err := textOrJSON(f.format); err != nil {
		return err
	}
	if f.shown {
		return f.look(ctx, env)
	}
	if err := errors.Join(checkSlow(f.Spec.Slow), f.counted.check()); err != nil {
		return err
	}
	if err := f.period(); err != nil {
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
	f.Store = cmp.Or(f.Store, f.Setup.StorePath())
	f.Spec.MaxExtraTurns = replay.DefaultMaxExtraTurns
	f.Spec.Gate, f.Spec.Rules, f.Secret = replay.GatePaired, replay.DefaultRules(),
		env.Getenv("REHEARSE_WEBHOOK_SECRET")
	if err := f.Spec.Rules.SetMargins(f.margins); err != nil {
		return err
	}
	f.hear(env)
	working, release := stoppable(ctx, env)
	defer release()
	state, err := replayrun.Watch(working, f.WatchConfig)
	if err != nil && errors.Is(context.Cause(working), errInterrupted) {
		err = &exitError{
			result.ExitInterrupted, errors.New("interrupted; what was found is kept: the same command goes on"),
		}
	}
	if state == nil {
		return err
	}
	report := state.Report(f.Watching.Name)
	if shown := f.show(env, &report); err == nil {
		err = shown
	}
	if err != nil {
		return err
	}
	return ended(&report)
}

// ended is how a watch ends: by an alarm, as one that could not have alarmed, or well.
func ended(r *replay.WatchReport) error {
	switch {
	case r.Alarmed:
		return &exitError{code: result.ExitFailed}
	case len(r.Interims) > 0 && !r.Compared():
		return &exitError{code: result.ExitNotRun}
	case len(r.Concealed()) > 0:
		hidden := r.Concealed()
		margin := "100%"
		if replay.UnitOf(hidden[0]) == replay.Share {
			margin = "100pp"
		}
		return &exitError{result.ExitNotRun, fmt.Errorf(
			"the baseline reports %s and the candidate does not, so that no loss could be seen: "+
				"report it, or accept it in a new watch with --margin %s=%s",
			strings.Join(hidden, ", "), hidden[0], margin)}
	}
	return nil
}

// look shows what a watch has found until now.
func (f *watchFlags) look(ctx context.Context, env *Env) error {
	return withLoaded(ctx, env, f.Store, func(h *storage.History) error {
		state, err := h.Runs.Watch(ctx, f.Watching.Name)
		switch {
		case err != nil:
			return err
		case state == nil:
			return usage("there is no watch %q in the store: name it with --name, and its store with --store",
				f.Watching.Name)
		}
		report := state.Report(f.Watching.Name)
		f.Watching.Metrics = state.Watched()
		if f.format == "text" {
			for i := range report.Interims {
				fmt.Fprintln(env.Stdout, variants.WatchLine(&report.Interims[i], f.Watching.Metrics))
			}
		}
		if err := f.show(env, &report); err != nil {
			return err
		}
		return ended(&report)
	})
}

// period reads the days of the watch.
func (f *watchFlags) period() error {
	days, _, err := f.counted.days(f.since, f.until, "--since", "--until")
	f.Watching.Since, f.Watching.Until = days.From, days.To
	f.Spec.Timezone, f.Spec.SessionGap = f.counted.timezone, f.counted.gap
	return err
}

// hear prints looks as they are taken, and what goes wrong.
func (f *watchFlags) hear(env *Env) {
	if f.format == "text" {
		f.Took = func(look replay.Interim) { fmt.Fprintln(env.Stdout, variants.WatchLine(&look, f.Watching.Metrics)) }
		f.Began = func(looks []replay.Interim) {
			for i := range looks {
				f.Took(looks[i])
			}
		}
	}
	f.Alarmed = func(look replay.Interim) {
		fmt.Fprintf(env.Stderr, "rehearse: alarm of watch %q: %s\n", f.Watching.Name,
			variants.WatchLine(&look, f.Watching.Metrics))
	}
	f.Trouble = func(err error) { fmt.Fprintf(env.Stderr, "rehearse: watch %q: %v\n", f.Watching.Name, err) }
}

// show prints what was found so far.
func (f *watchFlags) show(env *Env, r *replay.WatchReport) error {
	if f.format == "json" {
		return json.NewEncoder(env.Stdout).Encode(r)
	}
	_, err := fmt.Fprint(env.Stdout, variants.WatchTrend(r, f.Watching.Metrics))
	return err
}
