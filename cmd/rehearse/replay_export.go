package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/chatsession"
	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

func newReplayExport(env *Env) *cobra.Command {
	var address, flow, from, to, run string
	var regressed bool
	var zone dayFlags
	c := &cobra.Command{
		Use:   "export",
		Short: "Write logged events, or regressed sessions as tests",
		Long: `Write the events of a store as JSON Lines, ordered by session and time. The last day of --end-date is
included.

With --regressed, write the sessions in which a replay's candidate did worse than its baseline as a suite: a test for
each session, with the logged messages, the replay's assertions and, for each turn, similar words as in the log.`,
		Example: `  rehearse replay export --store sqlite:history.db > events.jsonl
  rehearse replay export --flow-id ride_book --start-date 2026-01-01 | gzip > january.jsonl.gz
  rehearse replay export --regressed --store sqlite:history.db > regressed.yaml
  rehearse run regressed.yaml --target staging`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case regressed && (flow != "" || from != "" || to != ""):
				return usage("--regressed writes the sessions of a replay: choose it with --run, without flow and days")
			case run != "" && !regressed:
				return usage("--run is for --regressed only")
			case regressed:
				return withLoaded(c.Context(), env, address, func(h *storage.History) error {
					return exportRegressed(c.Context(), env, h, run)
				})
			}
			days, _, err := zone.days(from, to, "--start_date", "--end_date")
			if err != nil {
				return err
			}
			return withLoaded(c.Context(), env, address, func(h *storage.History) error {
				return replay.WriteJSONL(env.Stdout, h.Each(c.Context(), replay.Filter{
					FlowID: flow, From: days.From, To: days.To,
				}))
			})
		},
	}
	c.Flags().StringVar(&address, "store", "", "where events are stored: "+historyPlaces)
	c.Flags().StringVar(&flow, "flow-id", "", "only this flow")
	c.Flags().StringVar(&from, "start-date", "", "only from this day on, YYYY-MM-DD")
	c.Flags().StringVar(&to, "end-date", "", "only up to this day, YYYY-MM-DD")
	c.Flags().BoolVar(&regressed, "regressed", false, "write the sessions that regressed in a replay as a suite")
	c.Flags().StringVar(&run, "run", "", "id of the replay for --regressed (default: the latest finished one)")
	zone.registerZone(c.Flags())
	underscored(c)
	return c
}

// exportRegressed writes the sessions of a replay that regressed as a suite.
func exportRegressed(ctx context.Context, env *Env, h *storage.History, run string) error {
	found, err := replayrun.FindRegressed(ctx, h, run)
	if err != nil {
		return err
	}
	if len(found.Pairs) == 0 {
		fmt.Fprintf(env.Stderr, "rehearse: no session regressed in replay %s\n", found.Run.ID)
		return nil
	}
	var sessions []chatsession.Message
	for _, p := range found.Pairs {
		m := chatsession.Message{ID: p.SessionID}
		for _, t := range p.Variation(replay.Observed).Turns {
			m.Turns = append(m.Turns, chatsession.Turn{Message: t.User, Reply: chat.Reply{Text: t.Bot}})
		}
		if chatsession.Savable(m.Turns) {
			sessions = append(sessions, m)
		}
	}
	name := "regressed in " + found.Run.FlowID
	data, err := chatsession.Written(name, found.Assertions, sessions, chatsession.Saving{Mask: env.secrets.Text})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "rehearse: %s of replay %s regressed\n", text.Plural(len(sessions), "session"),
		found.Run.ID)
	_, err = env.Stdout.Write(data)
	return err
}
