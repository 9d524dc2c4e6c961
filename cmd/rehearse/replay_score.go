package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// scoreFlags is what can be said on the command line of replay score.
type scoreFlags struct {
	replay.ScoreOptions
	store, format, perSession, looks string
	rules                            gateFlags
	counted                          dayFlags
}

func newReplayScore(env *Env) *cobra.Command {
	f := &scoreFlags{}
	c := &cobra.Command{
		Use:   "score REPLAYS",
		Short: "Score replays that were made elsewhere",
		Long: `Score replays of logged conversations that were made elsewhere: completion, turns, states, latency and collected data of each, their means by flow
and variant, and whether the candidate passes against the baseline.

REPLAYS is a file of JSON Lines, also packed as .gz, of {"session_id", "flow_id", "variant", "replay_completed", "results": [{"turn_number", "state",
"latency_ms", "cost_usd", "timestamp"}], "data_collected", "error", "repeat"}. A conversation counts only when every variant of its flow has played it. One with
an error is a lost pair; of repeats the means count.

Beside the means stands the paired comparison of "rehearse replay run", which prints and never decides here.

The candidate passes when at least 70 % of the metrics that apply are good enough: completion match and state progression not below the baseline's,
turn count ratio at most 1.1 times, latency at most 1.2 times. Its completion match has to reach 80 % besides.

Exit codes: 0 scored, 2 wrong usage or invalid replays, 3 the store cannot be read.`,
		Example: `  rehearse replay score replays.jsonl.gz --store sqlite:history.db
  rehearse replay score replays.jsonl --store postgres://user@localhost/product --flow_id ride_book --min_turns 3 --format json
  rehearse replay score replays.jsonl --per-session sessions.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one file of replays (see `%s --help`)", c.CommandPath())
			}
			return f.run(c.Context(), env, args[0])
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.store, "store", "", "where events are kept: "+historyPlaces)
	flags.StringVar(&f.FlowID, "flow-id", "", "only this flow")
	flags.IntVar(&f.MinTurns, "min-turns", 1, "only conversations with at least so many messages of the user's")
	flags.StringVar((*string)(&f.Side), "states", string(replay.After),
		"states of the log that count: after or before each message of the user's")
	registerSlow(flags, &f.Slow)
	f.counted.register(flags)
	f.Rules = replay.DefaultRules()
	f.rules.register(flags, &f.Rules)
	flags.StringVar(&f.looks, "looks", "",
		"day adds a watch, with a look at the end of each day on which conversations began")
	flags.StringVar(&f.format, "format", "text", "text or json")
	flags.StringVar(&f.perSession, "per-session", "", "also write a row per conversation and variant to this file")
	underscored(c)
	return c
}

func (f *scoreFlags) run(ctx context.Context, env *Env, file string) error {
	if err := errors.Join(textOrJSON(f.format), checkSlow(f.Slow), f.counted.check()); err != nil {
		return err
	}
	var zone error
	f.SessionGap = f.counted.gap
	if f.Zone, zone = replay.ReadZone(f.counted.timezone); zone != nil {
		return outcome(zone)
	}
	if f.looks != "" && f.looks != "day" {
		return usage("--looks %q: use day", f.looks)
	}
	f.Interims = f.looks != ""
	if err := errors.Join(f.Rules.SetMargins(f.rules.margins), f.ScoreOptions.Check()); err != nil {
		return outcome(err)
	}
	played, err := replay.ReadPlayedFile(file)
	if err != nil {
		return outcome(err)
	}
	return withLoaded(ctx, env, f.store, func(h *storage.History) error {
		scored, err := f.score(ctx, h, played)
		if err != nil {
			return err
		}
		for _, note := range scored.Notes() {
			fmt.Fprintln(env.Stderr, "rehearse: "+note)
		}
		if f.format == "json" {
			return writeJSON(env.Stdout, map[string]any{"flows": scored.Flows})
		}
		return scored.Text(env.Stdout)
	})
}

// score measures the replays, and writes a row for each where that was asked for.
func (f *scoreFlags) score(ctx context.Context, events replay.Events, played []replay.Played) (*replay.Scored, error) {
	if f.perSession == "" {
		return replay.ScoreAll(ctx, events, played, f.ScoreOptions)
	}
	out, err := os.OpenFile(f.perSession, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, usage("cannot write --per-session: %w", err)
	}
	buffered := bufio.NewWriter(out)
	rows := json.NewEncoder(buffered)
	f.Each = func(m replay.Metrics) error { return rows.Encode(m) }
	scored, err := replay.ScoreAll(ctx, events, played, f.ScoreOptions)
	return scored, errors.Join(err, buffered.Flush(), out.Close())
}
