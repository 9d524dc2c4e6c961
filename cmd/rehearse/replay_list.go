package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

func newReplayList(env *Env) *cobra.Command {
	var address, format string
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List the runs of a store",
		Long: `List the runs of a store, the newest first: what was replayed, how far it came, and what it found. A run that was killed is partial: the command that
began it, with --evaluation_run_id, goes on.`,
		Example: `  rehearse replay list --store sqlite:history.db
  rehearse replay list --limit 5 --format json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			return withLoaded(c.Context(), env, address, func(h *storage.History) error {
				if _, err := h.Runs.Sweep(c.Context(), env.Now()); err != nil {
					return err
				}
				runs, err := h.Runs.Runs(c.Context(), limit)
				switch {
				case err != nil:
					return err
				case format == "json":
					return writeJSON(env.Stdout, map[string]any{"runs": runs})
				}
				return printReplayRuns(env.Stdout, runs)
			})
		},
	}
	c.Flags().StringVar(&address, "store", "", "where results are kept: "+historyPlaces)
	c.Flags().IntVar(&limit, "limit", 20, "how many runs, 0 for all")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	underscored(c)
	return c
}

func printReplayRuns(w io.Writer, runs []replay.Run) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(w, "there are no runs: begin one with `rehearse replay run` (see its --help)")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "run\tstarted\tstatus\tsessions\tflow\tcandidate\tbaseline\tmode\tverdict")
	for _, r := range runs {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", r.ID,
			r.Started.Local().Format(time.DateTime), r.Status, r.Sessions, oneLine(r.FlowID),
			oneLine(r.VariantID), orDash(r.BaselineID), r.Mode, cmp.Or(r.Verdict, "–"))
	}
	return table.Flush()
}
