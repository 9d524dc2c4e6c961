package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

func newDatasetPush(env *Env) *cobra.Command {
	var create bool
	var format string
	c := &cobra.Command{
		Use:   "push FILE NAME",
		Short: "Put the items of a file into a dataset in Langfuse or a store",
		Long: `Put the items of a file (.jsonl, .json, .csv, also .gz) into a dataset in Langfuse or in a store. All of the file is checked before anything is
sent. Items keep their ids, and those that are there already and the same are not sent again: a second push changes nothing. Items that the file
does not have stay. Of an item in Langfuse a part that the file's item lacks stays as it is, too; in a store an item becomes what the file says, and
all items are put or none.`,
		Example: `  rehearse dataset push items.jsonl main-dataset
  rehearse dataset push items.jsonl.gz folder/main-dataset --create
  rehearse dataset push items.jsonl sqlite:history.db#main-dataset --create
  rehearse dataset push items.csv main-dataset --format json`,
		Args: named(2, "name a file of items and a dataset in Langfuse or in a store, in this order"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			name, err := dataset.ParseName(args[1])
			if err == nil {
				name, err = name.Storable()
			}
			if err != nil {
				return outcome(source.AsInvalid(err))
			}
			records, err := dataset.LoadChecked(args[0])
			if err != nil {
				return outcome(source.AsInvalid(err))
			}
			return onDatasets(c.Context(), env, func(ctx context.Context, places *dataset.Stores) error {
				warnUnexpected(env, records)
				o, err := places.Push(ctx, name, records, create)
				if err != nil {
					return err
				}
				warnArchived(env, &o)
				return concluded(env, format, shownName(name), &o, "put",
					"run the same command again: what is there already is not sent again")
			})
		},
	}
	c.Flags().BoolVar(&create, "create", false, "create the dataset if it is missing")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}
