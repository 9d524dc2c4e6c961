package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rehearse/internal/replay"
)

// replayFlags is what can be said on the command line of replay run.
type replayFlags struct {
	store, variant, baseline, flow string
	from, to                       string
	sample, minTurns               int
	mode, gate, require, states    string
	user                           string
	aa                             bool
	flows, prompts, config         string
	workers                        int
	turnTimeout                    time.Duration
	runID, out, format             string
	perSession, quiet              bool

	// begin and end are the days that from and to say, end being excluded.
	begin, end time.Time
}

func (f *replayFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.variant, "variant-id", "", "variant to evaluate: the candidate")
	flags.StringVar(&f.baseline, "baseline-variant-id", "", "variant to compare it with")
	flags.StringVar(&f.flow, "flow-id", "", "flow whose past conversations are replayed")
	flags.StringVar(&f.from, "start-date", "", "first day, YYYY-MM-DD")
	flags.StringVar(&f.to, "end-date", "", "last day, YYYY-MM-DD")
	flags.IntVar(&f.sample, "sample-size", 0, "only so many conversations, the same ones every time (default all)")
	flags.IntVar(&f.minTurns, "min-turns", 1, "only conversations with at least so many messages of the user's")
	flags.StringVar(&f.mode, "mode", string(replay.Recorded), "recorded, forced (the logged state before each message) or simulated (a simulated user goes on)")
	flags.StringVar(&f.gate, "gate", replay.GatePaired, "what decides: paired (with intervals) or spec (70 % of the metrics)")
	flags.StringVar(&f.require, "require", string(replay.NotWorse), "what the paired gate asks for: not_worse, non_inferior or better")
	flags.BoolVar(&f.aa, "aa", false, "replay the baseline against itself, to see the noise")
	flags.StringVar(&f.states, "states", string(replay.After), "states of the log that count: after or before each message of the user's")
	flags.StringVar(&f.user, "user", "", "model of the simulated user (default: what the user said when asked the same)")
	flags.StringVar(&f.flows, "flows", "flows", "folder, or file, of the flows that variants name")
	flags.StringVar(&f.prompts, "prompts", "prompts", "folder of the prompt files that variants name")
	flags.StringVar(&f.config, "config", "", "configuration file with models (default: the nearest rehearse.yaml)")
	flags.StringVar(&f.store, "store", defaultHistory, "where events, variants and results are kept: sqlite:PATH or postgres://…")
	flags.IntVarP(&f.workers, "workers", "w", 8, "conversations at once")
	flags.DurationVar(&f.turnTimeout, "turn-timeout", 2*time.Minute, "longest wait for one answer")
	flags.StringVar(&f.runID, "evaluation-run-id", "", "id of the run; one that is known goes on where it ended")
	flags.StringVarP(&f.out, "out", "o", "", "folder for the reports (default .rehearse/replays/ID)")
	flags.StringVar(&f.format, "format", "text", "what is printed: text or json")
	flags.BoolVar(&f.perSession, "per-session", false, "also write every conversation in all its lanes to sessions.jsonl")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
}

// check checks what was said, and reads the days.
func (f *replayFlags) check() (err error) {
	if f.aa && f.variant == "" {
		f.variant = f.baseline
	}
	if f.aa && f.baseline == "" {
		f.baseline = f.variant
	}
	for _, needed := range []struct{ name, value string }{
		{"variant_id", f.variant}, {"flow_id", f.flow}, {"start_date", f.from}, {"end_date", f.to},
	} {
		if needed.value == "" {
			return usage("--%s is missing (see `rehearse replay run --help`)", needed.name)
		}
	}
	if f.begin, f.end, err = dateRange(f.from, f.to); err != nil {
		return err
	}
	switch {
	case !slices.Contains(replay.Modes, replay.Mode(f.mode)):
		return usage("unknown --mode %q: use recorded, forced or simulated", f.mode)
	case !slices.Contains(replay.Gates, f.gate):
		return usage("unknown --gate %q: use %s", f.gate, strings.Join(replay.Gates, " or "))
	case !slices.Contains(replay.Requirements, replay.Requirement(f.require)):
		return usage("unknown --require %q: use not_worse, non_inferior or better", f.require)
	case f.states != string(replay.After) && f.states != string(replay.Before):
		return usage("unknown --states %q: use after or before", f.states)
	case f.format != "text" && f.format != "json":
		return usage("unknown format %q: use text or json", f.format)
	case f.sample < 0 || f.minTurns < 0 || f.turnTimeout < 0:
		return usage("--sample_size, --min_turns and --turn_timeout cannot be negative")
	case f.workers < 1 || f.workers > 10_000:
		return usage("--workers %d is out of range: use 1 to 10000", f.workers)
	case f.user != "" && f.mode != string(replay.Simulated):
		return usage("--user is for --mode simulated only")
	case f.aa && f.variant != f.baseline:
		return usage("--aa replays one variant against itself: name only --baseline_variant_id %s", f.baseline)
	}
	return nil
}

// datasetVersion names the sessions that are replayed (S4.34).
func (f *replayFlags) datasetVersion() string { return fmt.Sprintf("%s_%s_%s", f.flow, f.from, f.to) }
