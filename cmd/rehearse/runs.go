package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/fleet/client"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// requestFlags are what the commands of servers have in common.
type requestFlags struct {
	server serverFlags
	format string
}

// open checks the flags and returns a client.
func (f *requestFlags) open(env *Env) (*client.Client, error) {
	if f.server.url == "" {
		return nil, usage("name the server with --server")
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.server.client(env, nil)
}

func (f *requestFlags) check() error {
	if f.format != "text" && f.format != "json" {
		return usage("unknown format %q: use text or json", f.format)
	}
	return nil
}

func newRuns(env *Env) *cobra.Command {
	f := &sourceFlags{}
	c := group(&cobra.Command{
		Use:   "runs",
		Short: "List, show, cancel and prune runs",
		Long: `List, show, cancel and prune runs: those of a server with --server, those of servers in their store with --store, else those that were held in
this folder.`,
		Example: `  rehearse runs list
  rehearse runs list --server https://rehearse.example --status running --limit 10
  rehearse runs show ID --server https://rehearse.example --format json
  rehearse runs cancel ID --server https://rehearse.example
  rehearse runs prune --older-than 30d --keep 100 --store postgres://rehearse@db.example/rehearse`,
	}, newRunsList(env, f), newRunsShow(env, f), newRunsCancel(env, f), newRunsPrune(env, f))
	f.server.register(c.PersistentFlags(), "base URL of the server")
	c.PersistentFlags().StringVar(&f.store, "store", "",
		"store of servers: sqlite:PATH or postgres://… (default: the index of this folder)")
	c.PersistentFlags().StringVar(&f.format, "format", "text", "text or json")
	return c
}

func newRunsList(env *Env, f *sourceFlags) *cobra.Command {
	var status string
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List runs, the newest first",
		Example: `  rehearse runs list
  rehearse runs list --server http://127.0.0.1:8090 --status running`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return usage("--limit %d is out of range: use 1 or more", limit)
			}
			if err := coordinator.CheckStatus(status); err != nil {
				return usage("--status: %w", err)
			}
			return f.in(c.Context(), env, func(runs runsOf) error {
				found, err := runs.list(c.Context(), status, limit)
				if err != nil {
					return err
				}
				if f.format == "json" {
					if found == nil {
						found = []json.RawMessage{}
					}
					return printJSON(env.Stdout, map[string]any{"items": found, "next_cursor": nil})
				}
				return printRuns(env, found)
			})
		},
	}
	c.Flags().StringVar(&status, "status", "",
		"only runs of this status: queued, running, completed, failed, cancelled or partial")
	c.Flags().IntVar(&limit, "limit", 100, "at most so many")
	return c
}

// printRuns prints runs, one in a line.
func printRuns(env *Env, found []json.RawMessage) error {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATUS\tSUBMITTED\tDONE\tPASSED\tSUITES")
	for _, data := range found {
		var run client.Run
		if err := json.Unmarshal(data, &run); err != nil {
			return fmt.Errorf("list the runs: %w", err)
		}
		fmt.Fprintln(w, strings.Join([]string{
			run.ID, run.Status, run.CreatedAt.Local().Format(time.DateTime), doneOf(run), passedOf(run),
			strings.Join(run.Suites, ", "),
		}, "\t"))
	}
	return w.Flush()
}

func newRunsShow(env *Env, f *sourceFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a run",
		Example: `  rehearse runs show latest
  rehearse runs show ID --server http://127.0.0.1:8090`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.in(c.Context(), env, func(runs runsOf) error {
				run, err := runs.show(c.Context(), args[0])
				return f.printed(env, run, err)
			})
		},
	}
}

func newRunsCancel(env *Env, f *sourceFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "cancel ID",
		Short:   "Cancel a run of a server",
		Long:    "Cancel a run of a server. What was finished stays; conversations that are cut off leave no result.",
		Example: `  rehearse runs cancel ID --server http://127.0.0.1:8090`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.in(c.Context(), env, func(runs runsOf) error {
				run, err := runs.cancel(c.Context(), args[0])
				return f.printed(env, run, err)
			})
		},
	}
}

func newRunsPrune(env *Env, f *sourceFlags) *cobra.Command {
	var olderThan runspec.Age
	var keep int
	c := &cobra.Command{
		Use:   "prune",
		Short: "Delete old runs",
		Long: `Delete runs that have ended, with their results, events, artifacts and files that nothing else needs. Runs stay that ended within --older-than, and
the newest --keep of them; with both, what either keeps stays. Runs with the label keep are never deleted.

Of a run that was held in this folder its own files are removed, and nothing else in their folder.`,
		Example: `  rehearse runs prune --older-than 30d
  rehearse runs prune --older-than 30d --keep 100 --server https://rehearse.example
  rehearse runs prune --keep 1000 --store postgres://rehearse@db.example/rehearse`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var age *runspec.Age
			var number *int
			if c.Flags().Changed("older-than") {
				age = &olderThan
			}
			if c.Flags().Changed("keep") {
				number = &keep
			}
			switch {
			case age == nil && number == nil:
				return usage("say which runs stay: --older-than 30d, --keep 100, or both")
			case keep < 0:
				return usage("--keep %d is out of range: use 0 or more", keep)
			}
			return f.in(c.Context(), env, func(runs runsOf) error {
				pruned, err := runs.prune(c.Context(), age, number)
				if err != nil {
					return err
				}
				if f.format == "json" {
					return printJSON(env.Stdout, map[string]int{"pruned": pruned})
				}
				_, err = fmt.Fprintf(env.Stdout, "pruned %d runs\n", pruned)
				return err
			})
		},
	}
	c.Flags().Var(&olderThan, "older-than", "delete runs that ended longer ago, such as 30d or 36h")
	c.Flags().Lookup("older-than").DefValue = ""
	c.Flags().IntVar(&keep, "keep", 0, "keep so many of the newest runs")
	return c
}

// printed prints one run.
func (f *requestFlags) printed(env *Env, run client.Run, err error) error {
	if err != nil {
		return outcome(err)
	}
	if f.format == "json" {
		return printJSON(env.Stdout, run.Body)
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, value)
		}
	}
	line("run", run.ID)
	line("name", run.Name)
	line("status", run.Status)
	line("suites", strings.Join(run.Suites, ", "))
	line("targets", strings.Join(run.Targets, ", "))
	line("submitted", run.CreatedAt.Local().Format(time.DateTime))
	line("conversations", doneOf(run))
	line("passed", passedOf(run))
	if run.ExitReason != nil {
		line("ended", *run.ExitReason)
	}
	if run.ExitCode != nil {
		line("exit code", fmt.Sprint(*run.ExitCode))
	}
	if run.Error != nil {
		line("error", *run.Error)
	}
	return outcome(w.Flush())
}

// doneOf says how many conversations are done; ? where it is not known how many there are.
func doneOf(run client.Run) string {
	of := "?"
	if run.Progress.Conversations != nil {
		of = fmt.Sprint(*run.Progress.Conversations)
	}
	return fmt.Sprintf("%d/%s", run.Progress.Done, of)
}

// passedOf says how many tests have passed; - before that is known.
func passedOf(run client.Run) string {
	if run.Totals == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d", run.Totals.Passed, cmp.Or(run.Totals.Planned, run.Totals.Tests))
}
