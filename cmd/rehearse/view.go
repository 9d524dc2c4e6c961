package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/spf13/cobra"

	"rehearse/internal/archive"
	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/view"
	"rehearse/internal/view/frame"
)

// viewFlags is what can be said on the command line of view.
type viewFlags struct {
	addr     string
	hosts    []string
	store    string
	config   string
	readOnly bool
	noOpen   bool
}

func newView(env *Env) *cobra.Command {
	f := &viewFlags{}
	c := &cobra.Command{
		Use:   "view [RUN|DIR]…",
		Short: "Show runs as pages in the browser",
		Long: `Show runs as pages in the browser: those of the nearest .rehearse/runs at or above this folder, and those that appear later; or those that are
named, by id, as latest, by a run's folder or by a folder of runs. Nothing else has to run, and nothing is changed.

The first line on stdout is the address. Off this machine a token is asked for, that of ` + defaultTokenEnv + `. Ctrl-C ends it.`,
		Example: `  rehearse view
  rehearse view latest
  rehearse view .rehearse/runs/ID ../other/runs
  REHEARSE_TOKEN=… rehearse view --addr :8091 --host ci.example --no-open`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), env, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	flags.StringSliceVar(&f.hosts, "host", nil, "name by which browsers may ask for the pages, beside the address and localhost")
	flags.StringVar(&f.store, "store", "", "store of sessions and datasets: sqlite:PATH or postgres://… (default: that of the configuration)")
	flags.StringVar(&f.config, "config", "", "configuration file (default: the nearest rehearse.yaml)")
	flags.BoolVar(&f.readOnly, "read-only", false, "refuse everything that changes something")
	flags.BoolVar(&f.noOpen, "no-open", false, "do not open the browser")
	return c
}

func (f *viewFlags) run(ctx context.Context, env *Env, args []string) error {
	runs, one, err := archive.Open(args, ".", env.Now)
	if err != nil {
		return outcome(err)
	}
	store, closing, err := f.openStore(env)
	if err != nil {
		return outcome(err)
	}
	defer closing()
	log := slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return outcome(view.Serve(ctx, view.Serving{
		Config: view.Config{Runs: runs, Store: store, Now: env.Now, Frame: frame.Config{Hosts: f.hosts, ReadOnly: f.readOnly, Log: log}},
		Addr:   f.addr, Token: env.Getenv(defaultTokenEnv), TokenEnv: defaultTokenEnv, Stop: env.Signals,
		Opened: func(base string) {
			address := base + view.Start(one)
			fmt.Fprintln(env.Stdout, address)
			fmt.Fprintln(env.Stderr, "rehearse: showing the pages until Ctrl-C")
			if env.Interactive && !f.noOpen {
				if err := view.Browse(ctx, address); err != nil {
					fmt.Fprintf(env.Stderr, "rehearse: open the address in a browser (%v)\n", err)
				}
			}
		},
	}))
}

// openStore returns what opens the store when a page first asks for it. One that there is not yet is looked for again at the next page.
func (f *viewFlags) openStore(env *Env) (open func(context.Context) (*view.Stored, error), closing func(), err error) {
	address := f.store
	if address == "" {
		s, err := env.here(setup.Options{Config: f.config})
		if err != nil {
			return nil, nil, err
		}
		address = s.StorePath()
		env.closed(s)
	}
	var mu sync.Mutex
	var opened *setup.History
	open = func(ctx context.Context) (*view.Stored, error) {
		mu.Lock()
		defer mu.Unlock()
		if opened == nil {
			found, err := setup.FindHistory(ctx, address)
			if source.IsInvalid(err) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			opened = found
		}
		return &view.Stored{Sessions: opened, Datasets: opened.Datasets}, nil
	}
	return open, func() {
		if opened != nil {
			_ = opened.Close() // nothing was written
		}
	}, nil
}
