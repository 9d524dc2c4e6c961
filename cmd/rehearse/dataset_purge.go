package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

func newDatasetPurge(env *Env) *cobra.Command {
	var yes bool
	var format string
	c := &cobra.Command{
		Use:   "purge NAME",
		Short: "Delete every item of a dataset in Langfuse or a store",
		Long: `Delete every item of a dataset in Langfuse, archived ones included, and with them what runs have of them, or in a store. The dataset itself stays.
Without --yes it is only said how many there are. "rehearse dataset pull NAME --archived --out FILE" keeps a copy.`,
		Example: "  rehearse dataset purge main-dataset\n  rehearse dataset purge main-dataset --yes\n" +
			"  rehearse dataset purge store:main-dataset --yes",
		Args: named(1, "name one dataset in Langfuse or in a store"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			name, err := dataset.ParseName(args[0])
			if err != nil {
				return outcome(source.AsInvalid(err))
			}
			return onDatasets(c.Context(), env, func(ctx context.Context, places *dataset.Stores) error {
				o, err := places.Purge(ctx, name, func(items int, dataset string) error {
					if yes {
						return nil
					}
					return usage("%s of %s would be deleted for good: add --yes to do that",
						plural(items, "item"), dataset)
				})
				if err != nil {
					return err
				}
				return concluded(env, format, shownName(name), &o, "deleted", "run the same command again for the rest")
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "delete them")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}
