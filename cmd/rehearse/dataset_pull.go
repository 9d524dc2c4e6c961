package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rehearse/internal/dataset"
	"rehearse/internal/langfuse"
	"rehearse/internal/source"
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
			if isStored(args[0]) {
				stored, err := readStored(args[0])
				if err != nil {
					return err
				}
				if archived {
					return usage("--archived is for Langfuse: a store has no archived items; leave it out")
				}
				return stored.pull(c.Context(), env, out)
			}
			name, err := remoteName(args[0])
			if err != nil {
				return err
			}
			client, err := openLangfuse(env)
			if err != nil {
				return outcome(source.AsInvalid(err))
			}
			items, err := allItems(c.Context(), env, client, name, archived)
			if err != nil {
				return err
			}
			records := make([]dataset.Record, 0, len(items))
			for i := range items {
				records = append(records, asRecord(&items[i]))
			}
			if err := writeItems(env.Stdout, out, records); err != nil {
				return err
			}
			tellPulled(env, name, out, items, records)
			return nil
		},
	}
	c.Flags().StringVarP(&out, "out", "o", out, "the file to write, .jsonl or .jsonl.gz; - for the standard output")
	c.Flags().BoolVar(&archived, "archived", false, "archived items, too")
	return c
}

// tellPulled says what came, and what about it is strange.
func tellPulled(env *Env, name, out string, items []langfuse.Item, records []dataset.Record) {
	if out != "-" {
		fmt.Fprintf(env.Stdout, "%s: %s written to %s\n", harmless(name), plural(len(items), "item"), out)
	}
	var put, without []string
	for i := range items {
		if items[i].Status == langfuse.Archived {
			put = append(put, items[i].ID)
		}
		if records[i].Input == nil {
			without = append(without, items[i].ID)
		}
	}
	warnOf(env, put, "%s archived in Langfuse, which the file does not tell: %s")
	warnOf(env, without, "%s without an input, which no other command takes: %s")
}
