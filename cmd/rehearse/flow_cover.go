package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/chatsession"
	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay/cover"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// coverFlags is what can be said on the command line of flow cover.
type coverFlags struct {
	run, format    string
	sessions       bool
	store, write   string
	most           int
	suites         []string
	nodes, options float64
}

func newFlowCover(env *Env) *cobra.Command {
	f := &coverFlags{}
	c := &cobra.Command{
		Use:   "cover FILE[#ID]",
		Short: "Say which nodes and options of a flow a run has reached",
		Long: `Say which nodes and options of a flow the conversations of a run have reached, and which they have not. The run is one that was held with
--target flow:FILE; --suite holds suites now, with the small model inside, and keeps them as a run of their own; --sessions reads the
logged sessions of a store. --write FILE then writes a suite of few of them that together reach as much as all.

Exit codes: 0 enough was reached, 1 less than --min-nodes or --min-options, 2 wrong usage, 3 nothing of the flow was held.`,
		Example: `  rehearse flow cover support.flow.yaml --run latest
  rehearse flow cover support.flow.yaml --suite suite.yaml --min-nodes 1 --min-options 0.8
  rehearse flow cover support.flow.yaml --sessions --store sqlite:history.db --write regression.yaml
  rehearse flow cover flows.yaml#refund --run .rehearse/runs/ID --format json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return outcome(f.cover(c.Context(), env, args[0])) },
	}
	c.Flags().StringVar(&f.run, "run", "", "a run: its id, folder, or latest")
	c.Flags().StringArrayVar(&f.suites, "suite", nil, "suite to hold now; may be given several times")
	c.Flags().BoolVar(&f.sessions, "sessions", false, "the logged sessions of the flow")
	c.Flags().StringVar(&f.store, "store", "", "with --sessions: where they are kept: "+historyPlaces)
	c.Flags().StringVar(&f.write, "write", "",
		"with --sessions: write a suite of few sessions that reach as much as all")
	c.Flags().IntVar(&f.most, "most", 100, "with --write: how many sessions at most")
	c.Flags().StringVar(&f.format, "format", "text", "text or json")
	c.Flags().Float64Var(&f.nodes, "min-nodes", 0, "least share of the nodes, from 0 to 1")
	c.Flags().Float64Var(&f.options, "min-options", 0, "least share of the options, from 0 to 1")
	return c
}

// cover reads or holds the conversations, and prints what they reach.
func (f *coverFlags) cover(ctx context.Context, env *Env, name string) error {
	switch {
	case textOrJSON(f.format) != nil:
		return textOrJSON(f.format)
	case f.sources() != 1:
		return usage("say what has been held: --run RUN or --sessions, or what to hold: --suite FILE")
	case f.write != "" && !f.sessions:
		return usage("--write belongs to --sessions: it writes a suite of them")
	case f.most < 1:
		return usage("--most counts from 1")
	case !(f.nodes >= 0 && f.nodes <= 1) || !(f.options >= 0 && f.options <= 1):
		return usage("--min-nodes and --min-options are shares from 0 to 1")
	}
	of, err := flowNamed(name)
	if err != nil {
		return err
	}
	covered, from := cover.Of(of), ""
	switch {
	case f.sessions:
		if f.store, err = env.history(f.store); err != nil {
			return outcome(err)
		}
		from = "sessions of " + f.store
		err = f.logged(ctx, env, covered)
	case f.run != "":
		from, err = env.findRun(ctx, f.run, "", ".")
	default:
		from, err = f.hold(ctx, env, name)
	}
	if err != nil {
		return err
	}
	if !f.sessions {
		run, err := runlog.ReadRun(from)
		if err != nil {
			return err
		}
		guessed, err := covered.Run(&run, runlog.Read(from))
		if err != nil {
			return err
		}
		if len(guessed) > 0 {
			fmt.Fprintf(env.Stderr,
				"rehearse: the run does not say which flow %s follows: its turns count by the names of their nodes\n",
				strings.Join(guessed, ", "))
		}
	}
	if covered.Turns == 0 {
		return &exitError{
			result.ExitNotRun,
			fmt.Errorf("no turn of %s is one of the flow %s: hold it with --target flow:FILE", from, of.ID),
		}
	}
	report := covered.Report()
	write := report.Text
	if f.format == "json" {
		write = report.JSON
	}
	if err := write(env.Stdout); err != nil {
		return err
	}
	if report.Nodes.Share() < f.nodes || report.Options.Share() < f.options {
		return &exitError{code: result.ExitFailed}
	}
	return nil
}

// sources counts where the conversations are to come from.
func (f *coverFlags) sources() (n int) {
	for _, said := range []bool{f.run != "", len(f.suites) > 0, f.sessions} {
		if said {
			n++
		}
	}
	return n
}

// logged reads the logged sessions of the flow, and writes the suite of few of them.
func (f *coverFlags) logged(ctx context.Context, env *Env, covered *cover.Coverage) error {
	return withLoaded(ctx, env, f.store, func(h *storage.History) error {
		chosen, err := covered.Sessions(ctx, h, f.most)
		if err != nil || f.write == "" || len(chosen) == 0 {
			return err
		}
		data, err := chatsession.Chosen(ctx, h, covered.Flow().ID, chosen, env.secrets.Text)
		if err != nil {
			return err
		}
		if _, err := os.Stat(f.write); err == nil {
			return usage("%s is there already: name another file with --write", f.write)
		}
		if err := os.WriteFile(f.write, data, 0o644); err != nil {
			return usage("cannot write the suite: %w", err)
		}
		fmt.Fprintf(env.Stderr, "rehearse: %s written to %s\n", plural(len(chosen), "session"), f.write)
		return nil
	})
}

// hold holds the suites with the flow and the small model, and returns the folder of the run.
func (f *coverFlags) hold(ctx context.Context, env *Env, name string) (dir string, err error) {
	s, err := env.open(wire.Options{Model: "lexical"})
	if err != nil {
		return "", err
	}
	defer env.closed(s)
	e, err := evaluation.New(ctx, evaluation.Config{
		Setup: s, Spec: runspec.Spec{
			Schema: runspec.Schema, Suites: f.suites, Targets: []string{"flow:" + name}, Model: "lexical",
		}, Version: version(),
	})
	if err != nil {
		return "", err
	}
	held, err := e.Run(ctx)
	if err != nil {
		return "", err
	}
	if _, err := e.Conclude(held); err != nil {
		return "", err
	}
	if held.Run.Stopped() {
		return "", &exitError{result.ExitNotRun, fmt.Errorf("the suites were not held whole: %s", held.Run.ExitReason)}
	}
	fmt.Fprintf(env.Stderr, "rehearse: held as run %s\n", held.Run.ID)
	return held.Dir, nil
}
