package main

import (
	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

func newReplayExport(env *Env) *cobra.Command {
	var address, flow, from, to string
	var zone dayFlags
	c := &cobra.Command{
		Use:   "export",
		Short: "Write logged events as JSON Lines",
		Long:  `Write the events of a store as JSON Lines, ordered by session and time. The last day of --end_date is included.`,
		Example: `  rehearse replay export --store sqlite:history.db > events.jsonl
  rehearse replay export --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31 | gzip > january.jsonl.gz`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
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
	c.Flags().StringVar(&address, "store", "", "where events are kept: "+historyPlaces)
	c.Flags().StringVar(&flow, "flow-id", "", "only this flow")
	c.Flags().StringVar(&from, "start-date", "", "only from this day on, YYYY-MM-DD")
	c.Flags().StringVar(&to, "end-date", "", "only up to this day, YYYY-MM-DD")
	zone.registerZone(c.Flags())
	underscored(c)
	return c
}
