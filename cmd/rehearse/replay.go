package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

func newReplay(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "replay",
		Short: "Replay past conversations: is a new flow or prompt better?",
		Long: `Replay past conversations against a new flow or prompt, and against the one that is in use: is the new one better, worse, or not told apart?

The log of a product is loaded once; variants name flows, prompts and models; a run plays every conversation in both and compares them.`,
		Example: `  rehearse replay import events.jsonl.gz --store sqlite:history.db
  rehearse replay variant add variants.yaml --store sqlite:history.db
  rehearse replay run --variant_id new --baseline_variant_id old --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31 --store sqlite:history.db
  rehearse replay list --store sqlite:history.db`,
	}
	return group(c, newReplayImport(env), newReplayExport(env), newReplayVariant(env), newReplayRun(env),
		newReplayWatch(env), newReplayList(env), newReplayScore(env))
}

// historyPlaces says where a --store of logged events may be.
const historyPlaces = "sqlite:PATH or postgres://… (default: that of the nearest rehearse.yaml, " +
	"else sqlite:.rehearse/rehearse.db)"

// dayFlags are the flags that set how days and sessions are counted.
type dayFlags struct {
	timezone string
	gap      time.Duration
}

// registerZone registers the time zone of days.
func (f *dayFlags) registerZone(flags *pflag.FlagSet) {
	flags.StringVar(&f.timezone, "timezone", "", "time zone of the days, such as Europe/Brussels (default UTC)")
}

// register registers both flags.
func (f *dayFlags) register(flags *pflag.FlagSet) {
	f.registerZone(flags)
	flags.DurationVar(&f.gap, "session-gap", replay.DefaultSessionGap,
		"time after an end from which on a session id begins a new session")
}

// check rejects a gap that would end every session at once.
func (f *dayFlags) check() error {
	if f.gap <= 0 {
		return usage("--session-gap %s is out of range: use a duration above 0, such as 24h", f.gap)
	}
	return nil
}

// days reads the first and the last day of a range, which the flags first and last name.
func (f *dayFlags) days(from, to, first, last string) (days replay.Days, zone *time.Location, err error) {
	if zone, err = replay.ReadZone(f.timezone); err == nil {
		days, err = replay.ReadDays(from, to, zone)
	}
	if err != nil {
		err = usage("%s", strings.NewReplacer("--start_date", first, "--end_date", last).Replace(err.Error()))
	}
	return days, zone, err
}

// history returns the address of the store of logged events: the one that was named, else the one whose sessions
// `rehearse view` shows.
func (e *Env) history(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	s, err := e.here(wire.Options{})
	if err != nil {
		return "", err
	}
	defer e.closed(s)
	return s.StorePath(), nil
}

// underscored lets flags be written with dashes as well as with underscores, as the scripts of both worlds do.
func underscored(c *cobra.Command) {
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
}

// withHistory calls use with the store at an address, which is made where it is not there.
func withHistory(ctx context.Context, env *Env, address string, use func(*storage.History) error) error {
	return withOpened(ctx, env, address, storage.OpenHistory, use)
}

// withLoaded calls use with the store at an address, into which a log has been loaded.
func withLoaded(ctx context.Context, env *Env, address string, use func(*storage.History) error) error {
	return withOpened(ctx, env, address, storage.FindHistory, use)
}

func withOpened(
	ctx context.Context, env *Env, address string, open func(context.Context, string) (*storage.History, error),
	use func(*storage.History) error,
) error {
	address, err := env.history(address)
	if err != nil {
		return outcome(err)
	}
	h, err := open(ctx, address)
	if err != nil {
		return outcome(err)
	}
	return outcome(errors.Join(use(h), h.Close()))
}
