package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rehearse/internal/client"
)

// askingFlags are what the commands of runs have in common.
type askingFlags struct {
	server serverFlags
	format string
}

func newRuns(env *Env) *cobra.Command {
	f := &askingFlags{}
	c := group(&cobra.Command{
		Use:   "runs",
		Short: "List, show and cancel the runs of a server",
		Long: `List, show and cancel the runs of a server.

Runs come to a server from run --server, over HTTP, or by schedule.`,
		Example: `  rehearse runs list --server http://127.0.0.1:8090
  rehearse runs list --server https://rehearse.example --status running --limit 10
  rehearse runs show ID --server https://rehearse.example --format json
  rehearse runs cancel ID --server https://rehearse.example`,
	}, newRunsList(env, f), newRunsShow(env, f), newRunsCancel(env, f))
	f.server.register(c.PersistentFlags(), "base URL of the server")
	c.PersistentFlags().StringVar(&f.format, "format", "text", "text or json")
	return c
}

// open checks the flags and returns a client.
func (f *askingFlags) open(env *Env) (*client.Client, error) {
	switch {
	case f.server.url == "":
		return nil, usage("name the server with --server; `rehearse show` lists the runs of this folder")
	case f.format != "text" && f.format != "json":
		return nil, usage("unknown format %q: use text or json", f.format)
	}
	return f.server.client(env, nil)
}

func newRunsList(env *Env, f *askingFlags) *cobra.Command {
	var status string
	var limit int
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the runs of a server, the newest first",
		Example: `  rehearse runs list --server http://127.0.0.1:8090 --status running`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return usage("--limit %d is out of range: use 1 or more", limit)
			}
			server, err := f.open(env)
			if err != nil {
				return err
			}
			defer server.Close()
			found, err := server.List(c.Context(), status, limit)
			if err != nil {
				return outcome(err)
			}
			if f.format == "json" {
				if found == nil {
					found = []json.RawMessage{}
				}
				return printJSON(env.Stdout, map[string]any{"items": found, "next_cursor": nil})
			}
			w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "RUN\tSTATUS\tSUBMITTED\tDONE\tPASSED\tSUITES")
			for _, data := range found {
				var run client.Run
				if err := json.Unmarshal(data, &run); err != nil {
					return outcome(fmt.Errorf("list the runs: %w", err))
				}
				fmt.Fprintln(w, strings.Join([]string{
					run.ID, run.Status, run.CreatedAt.Local().Format(time.DateTime), doneOf(run), passedOf(run), strings.Join(run.Suites, ", "),
				}, "\t"))
			}
			return outcome(w.Flush())
		},
	}
	c.Flags().StringVar(&status, "status", "", "only runs of this status: queued, running, completed, failed, cancelled or partial")
	c.Flags().IntVar(&limit, "limit", 100, "at most so many")
	return c
}

func newRunsShow(env *Env, f *askingFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show a run of a server",
		Example: `  rehearse runs show ID --server http://127.0.0.1:8090`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			server, err := f.open(env)
			if err != nil {
				return err
			}
			defer server.Close()
			run, err := server.Show(c.Context(), args[0])
			return f.printed(env, run, err)
		},
	}
}

func newRunsCancel(env *Env, f *askingFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "cancel ID",
		Short:   "Cancel a run of a server",
		Long:    "Cancel a run of a server. What was finished stays; conversations that are cut off leave no result.",
		Example: `  rehearse runs cancel ID --server http://127.0.0.1:8090`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			server, err := f.open(env)
			if err != nil {
				return err
			}
			defer server.Close()
			run, err := server.Cancel(c.Context(), args[0])
			return f.printed(env, run, err)
		},
	}
}

// printed prints one run.
func (f *askingFlags) printed(env *Env, run client.Run, err error) error {
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
