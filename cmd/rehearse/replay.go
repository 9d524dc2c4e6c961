package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rehearse/internal/replay"
	"rehearse/internal/store"
)

func newReplay(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "replay",
		Short: "Score replays of past conversations",
		Long:  `Keep the log of past conversations, and score replays of them: is a candidate better than the baseline?`,
		Example: `  rehearse replay import events.jsonl.gz --store sqlite:history.db
  rehearse replay score replays.jsonl --store sqlite:history.db
  rehearse replay export --flow_id ride_book --store sqlite:history.db > events.jsonl`,
	}
	c.AddCommand(newReplayImport(env), newReplayExport(env), newReplayRun(env), newReplayScore(env), newReplayVariant(env))
	return c
}

// defaultHistory is where events are kept when nothing else is said.
const defaultHistory = "sqlite:" + stateDir + "/history.db"

// underscored lets flags be written with dashes as well as with underscores, as the scripts of both worlds do.
func underscored(c *cobra.Command) {
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
}

// history is an opened store of events, of variants and of what their evaluations found. Close it.
type history struct {
	replay.Events
	variants *store.Variants
	runs     *store.Runs
	close    func() error
}

// openHistory opens the store that an address names.
func openHistory(ctx context.Context, address string) (*history, error) {
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		p, err := store.OpenPostgres(ctx, address)
		if err != nil {
			return nil, notRun(err)
		}
		return &history{p.Events(), p.Variants(), p.ReplayRuns(), p.Close}, nil
	}
	path, ok := strings.CutPrefix(address, "sqlite:")
	if !ok || path == "" {
		return nil, usage("--store %q names no store: write sqlite:PATH, or postgres://USER@HOST/DATABASE", address)
	}
	s, err := store.Open(ctx, path)
	if err != nil {
		return nil, notRun(err)
	}
	return &history{s.Events(), s.Variants(), s.ReplayRuns(), s.Close}, nil
}

// withHistory calls use with the store of an address.
func withHistory(ctx context.Context, address string, use func(replay.Events) error) (err error) {
	h, err := openHistory(ctx, address)
	if err != nil {
		return err
	}
	defer func() {
		if closing := h.close(); err == nil && closing != nil {
			err = notRun(closing)
		}
	}()
	return use(h.Events)
}
