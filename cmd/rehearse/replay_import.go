package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/spf13/cobra"

	"rehearse/internal/replay"
	"rehearse/internal/setup"
)

func newReplayImport(env *Env) *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Load logged events",
		Long: `Load logged events from files of JSON Lines or CSV, each also packed as .gz, into a store. An event that is there already, by its event_id, is
left as it is, so importing again adds nothing. Rows that are no events are counted, and the first of them named; everything else is loaded.

An event is {"event_id", "event_type", "unit_type", "unit_id", "experiments", "context": {"session_id", "flow_id", "current_state"}, "metrics",
"payload", "timestamp"}; the types conversation_started, message_sent, flow_completed and user_dropped_off make up conversations.`,
		Example: `  rehearse replay import events.jsonl.gz --store sqlite:history.db
  rehearse replay import a.csv b.jsonl --store postgres://user@localhost/product`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name at least one file of events (see `%s --help`)", c.CommandPath())
			}
			for _, file := range args {
				if _, err := os.Stat(file); err != nil {
					return usage("cannot read the events: %w", err)
				}
			}
			return withHistory(c.Context(), address, func(h *setup.History) error { return importFiles(c.Context(), env, h, args) })
		},
	}
	c.Flags().StringVar(&address, "store", defaultHistory, "where events are kept: sqlite:PATH or postgres://…")
	return c
}

// maxNamedRejects is how many rejected rows are named.
const maxNamedRejects = 10

// importFiles loads the events of files, names what is no event, and says what was loaded.
func importFiles(ctx context.Context, env *Env, events replay.Events, files []string) error {
	rejected := 0
	added, sessions, err := events.Put(ctx, counted(env, replay.ReadFiles(files, func(file string, r replay.Reject) {
		if rejected++; rejected <= maxNamedRejects {
			fmt.Fprintf(env.Stderr, "%s:%d: not an event: %s\n", file, r.Line, r.Reason)
		}
	})))
	if rejected > maxNamedRejects {
		fmt.Fprintf(env.Stderr, "rehearse: %d more rows are no events\n", rejected-maxNamedRejects)
	}
	if err != nil {
		return fmt.Errorf("import events: %w (what was loaded stays; run the command again to load the rest)", err)
	}
	_, err = fmt.Fprintf(env.Stdout, "imported %d events, %d sessions, %d rejected\n", added, sessions, rejected)
	return err
}

// counted says from time to time how many events have gone through.
func counted(env *Env, events iter.Seq2[replay.Event, error]) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		read, told := 0, env.Now()
		for e, err := range events {
			if !yield(e, err) || err != nil {
				return
			}
			if read++; read%10_000 == 0 && env.Now().Sub(told) > 2*time.Second {
				told = env.Now()
				fmt.Fprintf(env.Stderr, "rehearse: %d events read\n", read)
			}
		}
	}
}
