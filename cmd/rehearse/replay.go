package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rehearse/internal/replay"
	"rehearse/internal/setup"
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
	c.AddCommand(newReplayImport(env), newReplayExport(env), newReplayVariant(env), newReplayRun(env), newReplayList(env), newReplayScore(env))
	return c
}

// defaultHistory is where events are kept when nothing else is said.
const defaultHistory = "sqlite:" + setup.StateDir + "/history.db"

// underscored lets flags be written with dashes as well as with underscores, as the scripts of both worlds do.
func underscored(c *cobra.Command) {
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
}

// loaded refuses the address of a file that is not there: opening would make an empty store, in which nothing can be found.
func loaded(address string) error {
	path, ok := strings.CutPrefix(address, "sqlite:")
	if !ok {
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return usage("there is no store %s: name the one into which `rehearse replay import` has loaded the log, with --store", address)
	}
	return nil
}

// withHistory calls use with the events of the store at an address.
func withHistory(ctx context.Context, address string, use func(replay.Events) error) error {
	return withStore(ctx, address, func(h *setup.History) error { return use(h.Events) })
}

// withStore calls use with the store at an address.
func withStore(ctx context.Context, address string, use func(*setup.History) error) (err error) {
	h, err := setup.OpenHistory(ctx, address)
	if err != nil {
		return err
	}
	defer func() {
		if closing := h.Close(); err == nil && closing != nil {
			err = outcome(closing)
		}
	}()
	return use(h)
}
