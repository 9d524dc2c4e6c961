package main

import (
	"context"

	"github.com/spf13/cobra"

	"rehearse/internal/langfuse"
	"rehearse/internal/source"
)

func newDatasetPurge(env *Env) *cobra.Command {
	var yes bool
	var format string
	c := &cobra.Command{
		Use:   "purge NAME",
		Short: "Delete every item of a dataset in Langfuse or a store",
		Long: `Delete every item of a dataset in Langfuse, archived ones included, and with them what runs have of them, or in a store. The dataset itself stays.
Without --yes it is only said how many there are. "rehearse dataset pull NAME --archived --out FILE" keeps a copy.`,
		Example: "  rehearse dataset purge main-dataset\n  rehearse dataset purge main-dataset --yes\n  rehearse dataset purge store:main-dataset --yes",
		Args:    named(1, "name one dataset in Langfuse or in a store"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			if isStored(args[0]) {
				stored, err := readStored(args[0])
				if err != nil {
					return err
				}
				return stored.purge(c.Context(), env, yes, format)
			}
			name, err := remoteName(args[0])
			if err != nil {
				return err
			}
			client, err := openLangfuse(env)
			if err != nil {
				return outcome(source.AsInvalid(err))
			}
			items, err := allItems(c.Context(), env, client, name, true)
			if err != nil {
				return err
			}
			if !yes && len(items) > 0 {
				return usage("%s of the dataset %q in %s would be deleted for good: add --yes to do that", plural(len(items), "item"), name, client)
			}
			o := &datasetOutcome{Dataset: name}
			o.purge(c.Context(), env, client, items)
			return o.conclude(env, format, "deleted", "run the same command again for the rest")
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "delete them")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

// purge deletes items.
func (o *datasetOutcome) purge(ctx context.Context, env *Env, client *langfuse.Client, items []langfuse.Item) {
	ids := make([]string, 0, len(items))
	for i := range items {
		ids = append(ids, items[i].ID)
	}
	o.Deleted += len(o.inParts(ctx, env, "items deleted from "+o.Dataset, ids, client.DeleteItems))
}
