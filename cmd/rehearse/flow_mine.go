package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay/mine"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// mineFlags is what can be said on the command line of flow mine.
type mineFlags struct {
	mine.Options
	store, flow, from, to, examples, out string
	counted                              dayFlags
}

func newFlowMine(env *Env) *cobra.Command {
	f := &mineFlags{}
	c := &cobra.Command{
		Use:   "mine",
		Short: "Learn a node flow from logged sessions",
		Long: `Learn a node flow from logged sessions: the states of the log become nodes, the states that followed become options, and what users said there
becomes the examples of the option. The lexical model runs such a flow without a language model.

A state and a transition have to occur --min_count times. A state is a stop when completed sessions end there at least every other time that it is
entered. What is left out is counted on standard error. The same log gives the same file, byte for byte.

Exit codes: 0 written, 2 wrong usage or nothing to learn from, 3 the store cannot be read or the file not be written.`,
		Example: `  rehearse flow mine --flow_id ride_book --store sqlite:history.db > ride_book.yaml
  rehearse flow mine --flow_id ride_book --end_date 2026-01-31 --examples all --id ride_book_candidate --out candidate.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, env) },
	}
	flags := c.Flags()
	flags.StringVar(&f.flow, "flow-id", "", "the flow whose sessions are learned from")
	flags.StringVar(&f.store, "store", "", "where events are kept: "+historyPlaces)
	flags.StringVar(&f.ID, "id", "", "id of the learned flow (default: that of --flow_id)")
	flags.StringVar(&f.from, "start-date", "", "only sessions that began on this day or later, YYYY-MM-DD")
	flags.StringVar(&f.to, "end-date", "", "only sessions that began on this day or earlier, YYYY-MM-DD")
	flags.IntVar(&f.MinCount, "min-count", 2, "how often a state or a transition has to occur")
	flags.StringVar(&f.examples, "examples", "20",
		"how many examples an option keeps, the most frequent first; all or 0 keeps every one")
	flags.IntVar(&f.MinTurns, "min-turns", 1, "only sessions with at least so many messages of the user's")
	flags.StringVarP(&f.out, "out", "o", "", "file to write (default: standard output)")
	f.counted.register(flags)
	underscored(c)
	return c
}

func (f *mineFlags) run(c *cobra.Command, env *Env) error {
	if f.flow == "" {
		return usage("--flow_id is missing: name the flow whose sessions are learned from")
	}
	f.ID = cmp.Or(f.ID, f.flow)
	var read error
	if f.out != "" {
		if err := inFolder("--out", f.out); err != nil {
			return err
		}
	}
	f.Examples, read = mine.ReadExamples(f.examples)
	days, _, err := f.counted.days(f.from, f.to, "--start_date", "--end_date")
	if err := cmp.Or(f.Check(), read, err, f.counted.check()); err != nil {
		return outcome(err)
	}
	return withLoaded(c.Context(), env, f.store, func(h *storage.History) error {
		log := mine.Log{Events: h, FlowID: f.flow, Days: days, SessionGap: f.counted.gap}
		learned, err := log.Learn(c.Context(), f.Options)
		if err != nil {
			return err
		}
		write := func(w io.Writer) error { return learned.Write(w, mineCommand(c.Flags())) }
		if f.out == "" {
			err = write(env.Stdout)
		} else {
			err = runlog.WriteFile(f.out, write)
		}
		if err == nil {
			fmt.Fprintln(env.Stderr, strings.Join(learned.Summary(), "\n"))
		}
		return err
	})
}

// mineCommand is the command as the file tells it: without the store, whose address may hold a password, and without
// the file.
func mineCommand(flags *pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("rehearse flow mine")
	flags.Visit(func(f *pflag.Flag) {
		if f.Name != "store" && f.Name != "out" {
			fmt.Fprintf(&b, " --%s %s", strings.ReplaceAll(f.Name, "-", "_"), f.Value)
		}
	})
	return b.String()
}
