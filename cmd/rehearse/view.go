package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// viewFlags is what can be said on the command line of view.
type viewFlags struct {
	addr     string
	hosts    []string
	store    string
	config   string
	readOnly bool
	noOpen   bool
	flows    string
}

func newView(env *Env) *cobra.Command {
	f := &viewFlags{}
	c := &cobra.Command{
		Use:   "view [RUN|DIR]…",
		Short: "Show runs as pages in the browser",
		Long: `Show runs as pages in the browser: those of the nearest .rehearse/runs at or above this folder, and those that appear later; or those that are
named, by id, as latest, by a run's folder or by a folder of runs. Nothing else has to run. Verdicts of people, quarantines and items of datasets are
kept in the store and beside the run; --read-only refuses them.

The first line on stdout is the address. Off this machine a token is asked for, that of ` + defaultTokenEnv +
			`. Ctrl-C ends it.`,
		Example: `  rehearse view
  rehearse view latest
  rehearse view .rehearse/runs/ID ../other/runs
  REHEARSE_TOKEN=… rehearse view --addr :8091 --host ci.example --no-open`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), env, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	flags.StringSliceVar(&f.hosts, "host", nil,
		"name by which browsers may ask for the pages, beside the address and localhost")
	flags.StringVar(&f.store, "store", "",
		"store of sessions and datasets: sqlite:PATH or postgres://… (default: that of the configuration)")
	flags.StringVar(&f.flows, "flows", "",
		"file or folder of the flows that are drawn (default: those of the configuration's targets)")
	flags.StringVar(&f.config, "config", "", "configuration file (default: the nearest rehearse.yaml)")
	flags.BoolVar(&f.readOnly, "read-only", false, "refuse everything that changes something")
	flags.BoolVar(&f.noOpen, "no-open", false, "do not open the browser")
	return c
}

func (f *viewFlags) run(ctx context.Context, env *Env, args []string) error {
	runs, one, err := runindex.Open(args, ".", env.Now)
	if err != nil {
		return outcome(err)
	}
	runs.Warm(one)
	store, err := f.opener(env)
	if err != nil {
		return outcome(err)
	}
	log := slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	defer logged(log, store.Close)
	return outcome(pages.Serve(ctx, pages.Serving{
		Config: pages.Config{
			Runs: runs, Store: store.Open, Make: store.Make, Flows: f.known(env), Mask: env.secrets.Text, Now: env.Now,
			Frame: frame.Config{Hosts: f.hosts, ReadOnly: f.readOnly, Log: log},
		}, Addr: f.addr, Token: env.Getenv(defaultTokenEnv), TokenEnv: defaultTokenEnv, Stop: env.Signals,
		Opened: func(base string) {
			address := base + pages.Start(one)
			fmt.Fprintln(env.Stdout, address)
			fmt.Fprintln(env.Stderr, "rehearse: showing the pages until Ctrl-C")
			if env.Interactive && !f.noOpen {
				if err := pages.Browse(ctx, address); err != nil {
					fmt.Fprintf(env.Stderr, "rehearse: open the address in a browser (%v)\n", err)
				}
			}
		},
	}))
}

// opener opens the store when a page first asks for it.
func (f *viewFlags) opener(env *Env) (*pages.Opener, error) {
	address := f.store
	if address == "" {
		s, err := env.here(wire.Options{Config: f.config})
		if err != nil {
			return nil, err
		}
		address = s.StorePath()
		env.closed(s)
	}
	if err := storage.NamesStore(address); err != nil { // pages would say that there is no store yet
		return nil, err
	}
	return &pages.Opener{Address: address}, nil
}

// known returns what reads the flows that are drawn.
func (f *viewFlags) known(env *Env) func() ([]*flow.Flow, error) {
	return func() ([]*flow.Flow, error) {
		s, err := env.here(wire.Options{Config: f.config})
		if err != nil {
			return nil, err
		}
		defer env.closed(s)
		return s.Flows(f.flows)
	}
}
