package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func newDoctor(env *Env) *cobra.Command {
	var server serverFlags
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check that everything which a run needs is there",
		Long: `Check the configuration, the folder for results, the store, and the models that configuration and environment name: is the key there, and does
the server answer, where it is not the provider's own?
Nothing is asked of a model and nothing is changed but the store. The exit code is 0 when all is well and 3 otherwise.

With --server, only ask a server or a worker whether it can work (GET /healthz): a health check where no other program is.`,
		Example: `  rehearse doctor
  rehearse doctor --server http://127.0.0.1:8090`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d := &doctor{env: env}
			if server.url != "" {
				return d.askServer(c.Context(), &server)
			}
			here := d.checkConfig()
			d.checkFolder()
			if here == nil {
				d.note("store", "not looked at: the configuration may name it")
			} else {
				defer env.closed(here)
				d.checkStore(c.Context(), here)
				d.checkModels(c.Context(), here)
			}
			if d.ill {
				return &exitError{code: result.ExitNotRun}
			}
			return nil
		},
	}
	server.register(command.Flags(), "only ask whether the server or worker at this address can work")
	return command
}

// healthWait is how long a server may take to say that it can work.
const healthWait = 5 * time.Second

// askServer asks a server for its health.
func (d *doctor) askServer(ctx context.Context, at *serverFlags) error {
	server, err := at.client(d.env, func(string) {})
	if err != nil {
		return err
	}
	defer server.Close()
	ctx, done := context.WithTimeout(ctx, healthWait)
	defer done()
	if _, err := server.Get(ctx, "/healthz"); err != nil {
		d.bad("server", "%s: %v", at.url, err)
		return &exitError{code: result.ExitNotRun}
	}
	d.well("server", "%s can work", at.url)
	return nil
}

type doctor struct {
	env *Env
	ill bool
}

func (d *doctor) well(what, format string, args ...any) {
	fmt.Fprintf(d.env.Stdout, "ok    %-14s %s\n", what, fmt.Sprintf(format, args...))
}

func (d *doctor) note(what, format string, args ...any) {
	fmt.Fprintf(d.env.Stdout, "note  %-14s %s\n", what, fmt.Sprintf(format, args...))
}

func (d *doctor) bad(what, format string, args ...any) {
	d.ill = true
	fmt.Fprintf(d.env.Stdout, "FAIL  %-14s %s\n", what, fmt.Sprintf(format, args...))
}

// checkConfig returns the setup of the configuration that applies here, nil when it is faulty. Close it.
func (d *doctor) checkConfig() *wire.Setup {
	s, err := d.env.here(wire.Options{})
	if err != nil {
		d.bad("configuration", "%s", strings.ReplaceAll(err.Error(), "\n", "\n      "))
		return nil
	}
	c := s.Config()
	if c.Path == "" {
		d.note("configuration", "no %s here or above; `rehearse init` writes one", config.Name)
		return s
	}
	d.well("configuration", "%s: %s, %s", c.Path, plural(len(c.Targets), "target"), plural(len(c.Models), "model"))
	return s
}

func (d *doctor) checkFolder() {
	if err := os.MkdirAll(wire.StateDir, 0o700); err != nil {
		d.bad("results", "cannot write here: %v; use --out with a folder that you may write", err)
		return
	}
	f, err := os.CreateTemp(wire.StateDir, "doctor-*")
	if err != nil {
		d.bad("results", "cannot write in %s: %v", wire.StateDir, err)
		return
	}
	_ = f.Close() // it is empty
	if err := os.Remove(f.Name()); err != nil {
		d.bad("results", "cannot remove a file in %s: %v", wire.StateDir, err)
		return
	}
	d.well("results", "%s", filepath.Join(wire.StateDir, "runs"))
}

func (d *doctor) checkStore(ctx context.Context, here *wire.Setup) {
	s, err := here.Store(ctx)
	if err != nil {
		d.bad("store", "%v", err)
		return
	}
	runs, err := s.Runs(ctx, 1000)
	if err != nil {
		d.bad("store", "%v", err)
		return
	}
	d.well("store", "%s, %s", s.Path(), plural(len(runs), "run"))
}

// checkModels looks at the key of every model that the configuration names. It asks each server for its models, but for
// the providers' own.
func (d *doctor) checkModels(ctx context.Context, here *wire.Setup) {
	found := here.Models()
	if m := here.Provided("openai"); m.KeySet || !m.Own { // the environment says so
		found["openai"] = m
	}
	seen, remote := map[string]bool{}, false
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m := found[name]
		if m.Address == "" && m.Key == "" {
			continue
		}
		remote = true
		if key := m.Model.Provider + " " + m.Address + " " + m.Key; !seen[key] {
			seen[key] = true
			d.checkModel(ctx, here, name, m)
		}
	}
	if !remote {
		d.note("models",
			"none is asked over the network: scripted models work; for others set their key, see `rehearse models`")
	}
}

func (d *doctor) checkModel(ctx context.Context, here *wire.Setup, name string, m wire.Dependency) {
	switch {
	case m.Address == "":
		d.note("models", "%s: there is no address for %s; see `rehearse models`", name, m.Model.Provider)
		return
	case m.Key != "" && m.KeySet:
		d.well("models", "%s is set, for %s", m.Key, m.Model.Provider)
	case m.Key != "" && m.Own:
		d.note("models", "%s is not set: %s cannot be asked", m.Key, name)
	case m.Key != "":
		d.note("models", "%s is not set; a local endpoint may not need one", m.Key)
	}
	if m.Own && m.Key != "" {
		return
	}
	lists, err := here.Lists(ctx, m.Model)
	switch {
	case err != nil:
		d.bad("endpoint", "%v", err)
	case !lists:
		d.note("endpoint", "%s answers, but does not list its models", m.Address)
	default:
		d.well("endpoint", "%s answers", m.Address)
	}
}
