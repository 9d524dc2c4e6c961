package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"rehearse/internal/replay"
)

func newReplayExport(env *Env) *cobra.Command {
	var address, flow, from, to string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write logged events as JSON Lines",
		Long:  `Write the events of a store as JSON Lines, ordered by session and time. The last day of --end_date is included.`,
		Example: `  rehearse replay export --store sqlite:history.db > events.jsonl
  rehearse replay export --flow_id ride_book --start_date 2026-01-01 --end_date 2026-01-31 | gzip > january.jsonl.gz`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			filter := replay.Filter{FlowID: flow}
			var err error
			if filter.From, filter.To, err = dateRange(from, to); err != nil {
				return err
			}
			if err := loaded(address); err != nil {
				return err
			}
			return withHistory(c.Context(), address, func(events replay.Events) error {
				out := bufio.NewWriterSize(env.Stdout, 64<<10)
				encoder := json.NewEncoder(out)
				encoder.SetEscapeHTML(false)
				for e, err := range events.Each(c.Context(), filter) {
					if err == nil {
						err = encoder.Encode(e)
					}
					if err != nil {
						return outcome(errors.Join(err, out.Flush()))
					}
				}
				return outcome(out.Flush())
			})
		},
	}
	c.Flags().StringVar(&address, "store", defaultHistory, "where events are kept: sqlite:PATH or postgres://…")
	c.Flags().StringVar(&flow, "flow-id", "", "only this flow")
	c.Flags().StringVar(&from, "start-date", "", "only from this day on, YYYY-MM-DD")
	c.Flags().StringVar(&to, "end-date", "", "only up to this day, YYYY-MM-DD")
	underscored(c)
	return c
}

// dateRange reads two days; the range ends with the second one. An empty day is no bound.
func dateRange(first, last string) (from, to time.Time, err error) {
	if first != "" {
		if from, err = time.Parse(time.DateOnly, first); err != nil {
			return from, to, usage("--start_date %q is no day: write YYYY-MM-DD", first)
		}
	}
	if last != "" {
		if to, err = time.Parse(time.DateOnly, last); err != nil {
			return from, to, usage("--end_date %q is no day: write YYYY-MM-DD", last)
		}
		to = to.AddDate(0, 0, 1)
	}
	if first != "" && last != "" && !from.Before(to) {
		return from, to, usage("--start_date %s is after --end_date %s: change them over", first, last)
	}
	return from, to, nil
}
