package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

func newDatasetPull(env *Env) *cobra.Command {
	out := "-"
	var archived bool
	c := &cobra.Command{
		Use:   "pull NAME",
		Short: "Write a dataset from Langfuse or a store to a file",
		Long: `Write the items of a dataset in Langfuse or in a store to a file of JSON Lines, the oldest first. The file comes about when all items are there: whatever
goes wrong before leaves an older file of that name as it was.`,
		Example: `  rehearse dataset pull main-dataset --out items.jsonl
  rehearse dataset pull folder/main-dataset --archived --out items.jsonl.gz
  rehearse dataset pull sqlite:history.db#main-dataset --out items.jsonl
  rehearse dataset pull main-dataset | jq .input.query`,
		Args: named(1, "name one dataset in Langfuse or in a store"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := linesFile("--out", out); err != nil {
				return err
			}
			name, err := dataset.ParseName(args[0])
			switch {
			case err != nil:
				return outcome(source.AsInvalid(err))
			case name.Kind == dataset.InStore && archived:
				return usage("--archived is for Langfuse: a store has no archived items; leave it out")
			}
			return onDatasets(c.Context(), env, func(ctx context.Context, places *dataset.Stores) error {
				pulled, err := places.Pull(ctx, name, archived, strings.TrimPrefix(out, "-"), env.Stdout)
				if err != nil {
					return err
				}
				return reportPulled(env, shownName(name), out, &pulled)
			})
		},
	}
	c.Flags().StringVarP(&out, "out", "o", out, "the file to write, .jsonl or .jsonl.gz; - for the standard output")
	c.Flags().BoolVar(&archived, "archived", false, "archived items, too")
	return c
}

// reportPulled prints the number of pulled items and their warnings.
func reportPulled(env *Env, name, out string, pulled *dataset.Pulled) (err error) {
	if out != "-" {
		_, err = fmt.Fprintf(env.Stdout, "%s: %s written to %s\n", harmless(name), plural(pulled.Items, "item"), out)
	}
	warnOf(env, pulled.Archived, "%s archived in Langfuse, which the file does not tell: %s")
	warnOf(env, pulled.WithoutInput, "%s without an input, which no other command takes: %s")
	return err
}
