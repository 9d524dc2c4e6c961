package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"rehearse/internal/replay"
	"rehearse/internal/setup"
	"rehearse/internal/stats"
)

// scoreFlags is what can be said on the command line of replay score.
type scoreFlags struct {
	store, flow, states, format, perSession string
	minTurns                                int
}

func newReplayScore(env *Env) *cobra.Command {
	f := &scoreFlags{}
	c := &cobra.Command{
		Use:   "score REPLAYS",
		Short: "Score replays that were made elsewhere",
		Long: `Score replays of logged conversations that were made elsewhere: completion, turns, states, latency and collected data of each, their means by flow
and variant, and whether the candidate passes against the baseline.

REPLAYS is a file of JSON Lines, also packed as .gz, of {"session_id", "flow_id", "variant", "replay_completed", "results": [{"turn_number", "state",
"latency_ms", "timestamp"}], "data_collected"}. A conversation counts only when every variant of its flow has played it.

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
			if err := f.check(); err != nil {
				return err
			}
			return f.run(c.Context(), env, args[0])
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.store, "store", defaultHistory, "where events are kept: sqlite:PATH or postgres://…")
	flags.StringVar(&f.flow, "flow-id", "", "only this flow")
	flags.IntVar(&f.minTurns, "min-turns", 1, "only conversations with at least so many messages of the user's")
	flags.StringVar(&f.states, "states", string(replay.After), "states of the log that count: after or before each message of the user's")
	flags.StringVar(&f.format, "format", "text", "text or json")
	flags.StringVar(&f.perSession, "per-session", "", "also write a row per conversation and variant to this file")
	underscored(c)
	return c
}

func (f *scoreFlags) check() error {
	switch {
	case f.format != "text" && f.format != "json":
		return usage("unknown format %q: use text or json", f.format)
	case f.states != string(replay.After) && f.states != string(replay.Before):
		return usage("unknown --states %q: use after or before", f.states)
	case f.minTurns < 0:
		return usage("--min_turns cannot be negative")
	}
	return nil
}

func (f *scoreFlags) run(ctx context.Context, env *Env, file string) error {
	played, err := readPlayed(file)
	if err != nil {
		return usage("%s: %w", file, err)
	}
	options := replay.ScoreOptions{FlowID: f.flow, MinTurns: f.minTurns, Side: replay.Side(f.states), Similarity: stats.LevenshteinSimilarity[string]}
	finish := func() error { return nil }
	if f.perSession != "" {
		out, err := os.Create(f.perSession)
		if err != nil {
			return usage("cannot write --per-session: %w", err)
		}
		buffered := bufio.NewWriter(out)
		rows := json.NewEncoder(buffered)
		options.Each = func(m replay.Metrics) error { return rows.Encode(m) }
		finish = func() error { return errors.Join(buffered.Flush(), out.Close()) }
	}
	if err := loaded(f.store); err != nil {
		return err
	}
	return withHistory(ctx, f.store, func(events replay.Events) error {
		scored, err := replay.ScoreAll(ctx, events, played, options)
		if err = errors.Join(err, finish()); err != nil {
			return outcome(err)
		}
		f.tell(env.Stderr, scored)
		if f.format == "json" {
			return outcome(writeJSON(env.Stdout, map[string]any{"flows": scored.Flows}))
		}
		return outcome(printScored(env.Stdout, scored))
	})
}

// tell says what does not count, and why.
func (*scoreFlags) tell(out io.Writer, s *replay.Scored) {
	if s.Missing > 0 {
		fmt.Fprintf(out, "rehearse: %s of conversations that are not in the store, or too short, or of another flow\n", plural(s.Missing, "replay"))
	}
	if s.Unpaired > 0 {
		fmt.Fprintf(out, "rehearse: %s dropped, as another variant has not played the conversation\n", plural(s.Unpaired, "replay"))
	}
	for _, kind := range setup.Names(s.Faults.Counts) {
		fmt.Fprintf(out, "rehearse: %d times in the log: %s (%s)\n", s.Faults.Counts[kind], kind, oneLine(strings.Join(s.Faults.Examples[kind], ", ")))
	}
}

func readPlayed(file string) ([]replay.Played, error) {
	f, err := openPacked(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return replay.ReadPlayed(f)
}

// printScored prints a block for each flow.
func printScored(out io.Writer, s *replay.Scored) error {
	for _, flow := range setup.Names(s.Flows) {
		f := s.Flows[flow]
		fmt.Fprintf(out, "%s: %s\n", oneLine(flow), plural(f.Sessions, "conversation"))
		variants := setup.Names(f.Variants)
		fmt.Fprintf(out, "  %-26s %s\n", "", strings.Join(padded(variants), " "))
		for _, metric := range replay.MetricNames {
			cells := make([]string, 0, len(variants))
			for _, name := range variants {
				cells = append(cells, cellOf(f.Variants[name][metric]))
			}
			verdict := ""
			if f.Comparison != nil {
				if passed, applies := f.Comparison.Tests[metric]; applies {
					verdict = map[bool]string{true: "passed", false: "failed"}[passed]
				}
			}
			fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  %-26s %s %s", metric, strings.Join(padded(cells), " "), verdict), " "))
		}
		if c := f.Comparison; c != nil {
			fmt.Fprintf(out, "  gate: %s with %.0f %% of the metrics; completion match of 80 %%: %s\n",
				map[bool]string{true: "passed", false: "failed"}[c.Passed], 100*c.PassedRatio, map[bool]string{true: "reached", false: "not reached"}[c.Hard])
		}
	}
	if len(s.Flows) == 0 {
		_, err := fmt.Fprintln(out, "no replay belongs to a conversation of the store")
		return err
	}
	return nil
}

func padded(cells []string) []string {
	wide := make([]string, len(cells))
	for i, cell := range cells {
		wide[i] = fmt.Sprintf("%16s", oneLine(cell))
	}
	return wide
}

func cellOf(m *replay.Mean) string {
	if m == nil || m.Value == nil {
		return "–"
	}
	return fmt.Sprintf("%.4g (%d)", *m.Value, m.N)
}
