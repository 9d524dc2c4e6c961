package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/fleet/client"
)

func newSchedule(env *Env) *cobra.Command {
	f := &requestFlags{}
	c := group(&cobra.Command{
		Use:   "schedule",
		Short: "Have a server hold a run again and again",
		Long: `Have a server hold a run again and again: at the times of a cron expression in a time zone, or every so often. A run is one of suites, or of
what run, e2e, classify and replay run hold with --server.

The server keeps the run with every file that it names, so a schedule runs what was there when it was added. Of several servers one begins
each run. While the last run of a schedule goes on, a time is skipped; what fell into a time without a server is missed, and not made up for.

CRON has five fields (minute, hour, day of the month, month, day of the week), such as '0 3 * * 1-5', or is '@every D', such as '@every 12h'.`,
		Example: `  rehearse schedule add nightly --cron '0 3 * * *' --timezone Europe/Berlin evals/ --server https://rehearse.example
  rehearse schedule add answers --cron '@every 12h' --server https://rehearse.example -- e2e items.jsonl --sites sites
  rehearse schedule list --server https://rehearse.example
  rehearse schedule run nightly --server https://rehearse.example     now, once
  rehearse schedule rm nightly --server https://rehearse.example`,
	}, newScheduleAdd(env, f), newScheduleList(env, f), newScheduleRemove(env, f), newScheduleRun(env, f))
	f.server.register(c.PersistentFlags(), "base URL of the server")
	c.PersistentFlags().StringVar(&f.format, "format", "text", "text or json")
	return c
}

func newScheduleList(env *Env, f *requestFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the schedules of a server",
		Long: "List the schedules of a server, when each is due next, and what became of its last time: started, " +
			"skipped or missed.",
		Example: "  rehearse schedule list --server http://127.0.0.1:8090",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			server, err := f.open(env)
			if err != nil {
				return err
			}
			defer server.Close()
			all, err := server.Schedules(c.Context())
			if err != nil {
				return outcome(err)
			}
			if f.format == "json" {
				items := make([]json.RawMessage, len(all))
				for i, s := range all {
					items[i] = s.Body
				}
				return printJSON(env.Stdout, map[string]any{"items": items, "next_cursor": nil})
			}
			w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tCRON\tTIMEZONE\tNEXT\tLAST")
			for _, s := range all {
				fmt.Fprintln(w, strings.Join([]string{
					s.Name, s.Cron, s.Timezone, s.NextAt.Local().Format(time.DateTime), lastOf(s),
				}, "\t"))
			}
			return outcome(w.Flush())
		},
	}
}

// lastOf says what became of the last time of a schedule; - before the first.
func lastOf(s client.Schedule) string {
	if s.Last == nil {
		return "-"
	}
	return strings.TrimSpace(s.Last.At.Local().Format(time.DateTime) + " " + s.Last.Outcome + " " + s.Last.RunID)
}

func newScheduleRemove(env *Env, f *requestFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME",
		Short:   "Remove a schedule; its runs stay",
		Example: "  rehearse schedule rm nightly --server http://127.0.0.1:8090",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			server, err := f.open(env)
			if err != nil {
				return err
			}
			defer server.Close()
			return outcome(server.RemoveSchedule(c.Context(), args[0]))
		},
	}
}

func newScheduleRun(env *Env, f *requestFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "run NAME",
		Short: "Begin a run of a schedule now, and print its id",
		Long: "Begin a run of a schedule now, also while its last one goes on, and print its id. " +
			"The schedule goes on as before.",
		Example: "  rehearse runs show $(rehearse schedule run nightly --server $URL) --server $URL",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			server, err := f.open(env)
			if err != nil {
				return err
			}
			defer server.Close()
			run, err := server.RunSchedule(c.Context(), args[0])
			switch {
			case err != nil:
				return refused(err)
			case f.format == "json":
				return printJSON(env.Stdout, run.Body)
			}
			_, err = fmt.Fprintln(env.Stdout, run.ID)
			return outcome(err)
		},
	}
}
