package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/app/wire/chatbot"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// sessionsExport is what can be said on the command line of sessions export.
type sessionsExport struct {
	sessionFilter
	as, out string
	turn    int
}

func newSessionsExport(env *Env) *cobra.Command {
	f := &sessionsExport{}
	c := &cobra.Command{
		Use:   "export [SESSION…] --as dataset|events --out FILE",
		Short: "Make a dataset or logged events of sessions",
		Long: `Make a file of sessions: of those that are named, or of all that the filters select. --as dataset writes an item of each (rehearse e2e): the query is what the
visitor said in a turn, what is expected what was answered, the history what was said before. --as events writes what happened as logged events
(rehearse replay import). Prints how many items or events were written; sessions of which nothing was answered have none.`,
		Example: `  rehearse sessions export --since 24h --outcome failed --as dataset --out failed.jsonl --store sqlite:chat.db
  rehearse sessions export --since 24h --as events --out night.jsonl --store sqlite:chat.db
  rehearse sessions export 4f1c --turn 2 --as dataset --out items.jsonl --store sqlite:chat.db`,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.as != "dataset" && f.as != "events":
				return usage("--as %q: use dataset or events", f.as)
			case f.out == "" || !dataset.IsLines(f.out):
				return usage("--out %q: name a file that ends in .jsonl or .jsonl.gz", f.out)
			case !isDir(filepath.Dir(f.out)):
				return inFolder("--out", f.out)
			case c.Flags().Changed("turn") && f.turn < 1:
				return usage("--turn counts from 1")
			case len(args) > 0 && (f.text != "" || f.since != "" || f.until != "" || f.outcome != "" || f.limit != 0):
				return usage("name sessions, or choose them by filters: not both")
			}
			q, err := f.query(env.Now())
			if err != nil {
				return err
			}
			return f.open(c.Context(), env, func(s *chatbot.Sessions) error {
				var rows []sessionindex.Row
				if len(args) > 0 {
					rows, err = s.Named(c.Context(), f.site, args)
				} else if list, failed := s.Listed(c.Context(), q); failed == nil {
					rows, err = list.Sessions, unsearched(list)
				} else {
					err = failed
				}
				if err != nil {
					return err
				}
				return f.export(c.Context(), env, s, rows)
			})
		},
	}
	f.declare(c.Flags())
	c.Flags().StringVar(&f.as, "as", "", "dataset or events")
	c.Flags().StringVar(&f.out, "out", "", "the file that is written: .jsonl or .jsonl.gz")
	c.Flags().IntVar(&f.turn, "turn", 0,
		"the turn of the item, or the last one of the events, from 1 (default: the last)")
	c.Flags().IntVar(&f.limit, "limit", 0, "at most so many sessions, those with the newest message (default: all)")
	return c
}

// export writes the file and says how much is in it.
func (f *sessionsExport) export(ctx context.Context, env *Env, s *chatbot.Sessions, rows []sessionindex.Row) error {
	var n int
	var skipped []string
	if f.as == "dataset" {
		items, without, err := s.Items(ctx, rows, f.turn, env.secrets.Bytes)
		if err == nil {
			err = dataset.Write(f.out, items)
		}
		if err != nil {
			return err
		}
		n, skipped = len(items), without
	} else {
		events, without, err := s.Events(ctx, rows, f.turn, env.Now())
		if err == nil {
			err = dataset.WriteWith(f.out, func(w io.Writer) error { return writeEvents(w, events) })
		}
		if err != nil {
			return err
		}
		n, skipped = len(events), without
	}
	fmt.Fprintf(env.Stdout, "exported %d\n", n)
	if len(skipped) > 0 {
		const named = 5
		fmt.Fprintf(env.Stderr, "%s left out, without such a turn: %s\n", text.Plural(len(skipped), "session"),
			harmless(strings.Join(skipped[:min(named, len(skipped))], ", ")))
	}
	return nil
}

func writeEvents(w io.Writer, events []replay.Event) error {
	return replay.WriteJSONL(w, func(yield func(replay.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	})
}
