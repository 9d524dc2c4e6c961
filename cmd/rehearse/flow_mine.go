package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rehearse/internal/mine"
	"rehearse/internal/replay"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// mineFlags is what can be said on the command line of flow mine.
type mineFlags struct {
	store, flow, id, from, to, examples, out string
	minCount, minTurns                       int
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
	flags.StringVar(&f.store, "store", defaultHistory, "where events are kept: sqlite:PATH or postgres://…")
	flags.StringVar(&f.id, "id", "", "id of the learned flow (default: that of --flow_id)")
	flags.StringVar(&f.from, "start-date", "", "only sessions that began on this day or later, YYYY-MM-DD")
	flags.StringVar(&f.to, "end-date", "", "only sessions that began on this day or earlier, YYYY-MM-DD")
	flags.IntVar(&f.minCount, "min-count", 2, "how often a state or a transition has to occur")
	flags.StringVar(&f.examples, "examples", "20", "how many examples an option keeps, the most frequent first; all or 0 keeps every one")
	flags.IntVar(&f.minTurns, "min-turns", 1, "only sessions with at least so many messages of the user's")
	flags.StringVarP(&f.out, "out", "o", "", "file to write (default: standard output)")
	underscored(c)
	return c
}

// flowID is what the id of a flow looks like: it stands in file names, in FILE#ID and in logs.
var flowID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,200}$`)

func (f *mineFlags) options() (mine.Options, error) {
	o := mine.Options{ID: f.id, MinCount: f.minCount, MinTurns: f.minTurns}
	if f.flow == "" {
		return o, usage("--flow_id is missing: name the flow whose sessions are learned from")
	}
	if o.ID == "" {
		o.ID = f.flow
	}
	if !flowID.MatchString(o.ID) {
		return o, usage("%q cannot be the id of a flow: give one of letters, digits, _, . and - with --id", o.ID)
	}
	if f.minCount < 1 {
		return o, usage("--min_count %d is too small: 1 keeps everything", f.minCount)
	}
	if f.minTurns < 0 {
		return o, usage("--min_turns %d is below 0", f.minTurns)
	}
	o.Examples = mine.All
	if f.examples != "all" {
		n, err := strconv.Atoi(f.examples)
		if err != nil || n < 0 {
			return o, usage("--examples %q is no number: write 1, 20 or all", f.examples)
		}
		o.Examples = n
	}
	return o, nil
}

func (f *mineFlags) run(c *cobra.Command, env *Env) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	from, to, err := dateRange(f.from, f.to)
	if err != nil {
		return err
	}
	if err := loaded(f.store); err != nil {
		return err
	}
	return withHistory(c.Context(), f.store, func(events replay.Events) error {
		var faults replay.Faults
		learned, err := mine.Learn(beganWithin(c.Context(), events, f.flow, from, to, &faults), options)
		if nothing, ok := errors.AsType[*mine.NothingError](err); ok {
			return f.nothing(c.Context(), events, nothing)
		}
		if err != nil {
			return outcome(err)
		}
		var text bytes.Buffer
		if err := learned.Write(&text, mineCommand(c.Flags())); err != nil {
			return outcome(err)
		}
		if f.out == "" {
			_, err = env.Stdout.Write(text.Bytes())
		} else {
			err = os.WriteFile(f.out, text.Bytes(), 0o644)
		}
		if err != nil {
			return outcome(err)
		}
		tellMined(env.Stderr, learned, &faults)
		return nil
	})
}

// beganWithin yields the sessions of a flow that began in a range of time. Events of a day around it are read too, so that a session which goes on
// past midnight is whole.
func beganWithin(ctx context.Context, events replay.Events, flow string, from, to time.Time, faults *replay.Faults) iter.Seq2[*replay.Session, error] {
	filter := replay.Filter{FlowID: flow, Types: []string{replay.Started, replay.Message, replay.Completed, replay.DroppedOff}}
	if !from.IsZero() {
		filter.From = from.AddDate(0, 0, -1)
	}
	if !to.IsZero() {
		filter.To = to.AddDate(0, 0, 1)
	}
	return func(yield func(*replay.Session, error) bool) {
		for s, err := range replay.Sessions(events.Each(ctx, filter), faults) {
			if err == nil && (s.Started.Before(from) || !to.IsZero() && !s.Started.Before(to)) {
				continue
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// mineCommand is the command as the file tells it: without the store, whose address may hold a password, and without the file.
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

// nothing says why nothing was learned. Where the log does not know the flow, it names those that it has.
func (f *mineFlags) nothing(ctx context.Context, events replay.Events, reason *mine.NothingError) error {
	for _, err := range events.Each(ctx, replay.Filter{FlowID: f.flow}) {
		if err != nil {
			return outcome(err)
		}
		return usage("flow %q%s: %w", f.flow, f.days(), reason)
	}
	known, err := flowsOf(ctx, events)
	if err != nil {
		return outcome(err)
	}
	if len(known) == 0 {
		return usage("the log has no flow %q: load sessions with `rehearse replay import`", f.flow)
	}
	return usage("the log has no flow %q: %s", f.flow, source.Suggest(f.flow, known))
}

// days names the range of days, with a blank before it.
func (f *mineFlags) days() string {
	text := ""
	if f.from != "" {
		text += " from " + f.from
	}
	if f.to != "" {
		text += " to " + f.to
	}
	return text
}

// tellMined says what was learned, and what was left out.
func tellMined(w io.Writer, f *mine.Flow, faults *replay.Faults) {
	fmt.Fprintf(w, "%s: %s with %s, from %s with %s\n", f.ID, plural(len(f.Nodes), "node"), plural(f.Options(), "option"),
		plural(f.Learned.Sessions, "session"), plural(f.Learned.Messages, "message"))
	for _, line := range f.Left.Lines() {
		fmt.Fprintln(w, "  left out: "+line)
	}
	for _, kind := range setup.Names(faults.Counts) {
		fmt.Fprintf(w, "  %s: %d, first in event %s\n", kind, faults.Counts[kind], faults.Examples[kind][0])
	}
}
