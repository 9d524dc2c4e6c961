package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

func newDatasetList(env *Env) *cobra.Command {
	var from, format string
	var counts bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the datasets in Langfuse or a store",
		Long: `List the datasets in Langfuse or in a store, with how many items each has, archived ones included. In Langfuse counting costs a request a
dataset, so that of more than 25 datasets the items are counted only with --counts.`,
		Example: "  rehearse dataset list\n  rehearse dataset list --format json --counts\n" +
			"  rehearse dataset list --from sqlite:history.db",
		Args: named(0, "list takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			address := from
			switch {
			case from == "langfuse":
				address = ""
			case !dataset.IsStore(from):
				return usage("unknown --from %q: write langfuse, store, sqlite:PATH or postgres://USER@HOST/DATABASE",
					from)
			}
			return onDatasets(c.Context(), env, func(ctx context.Context, places *dataset.Stores) error {
				entries, where, err := places.List(ctx, address, counts)
				if err != nil {
					return err
				}
				return printDatasets(env, where, entries, format)
			})
		},
	}
	c.Flags().StringVar(&from, "from", "langfuse",
		"where to look: langfuse, store for the store of rehearse.yaml, sqlite:PATH, or postgres://USER@HOST/DATABASE")
	c.Flags().BoolVar(&counts, "counts", false, "count the items however many datasets there are")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

// listedDataset is a dataset as list prints it in JSON.
type listedDataset struct {
	Name string `json:"name"`
	// Items is nil where they were not counted.
	Items       *int      `json:"items,omitempty"`
	Description string    `json:"description,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

func printDatasets(env *Env, where string, entries []dataset.Entry, format string) error {
	if format == "json" {
		listed := []listedDataset{}
		for _, e := range entries {
			one := listedDataset{Name: e.Name, Description: e.Description, CreatedAt: e.Created, UpdatedAt: e.Updated}
			if e.Items >= 0 {
				one.Items = &e.Items
			}
			listed = append(listed, one)
		}
		return writeJSON(env.Stdout, listed)
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintf(env.Stdout,
			"no datasets in %s yet: start with `rehearse dataset push FILE NAME --create`\n", harmless(where))
		return err
	}
	table := tabwriter.NewWriter(env.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "DATASET\tITEMS\tUPDATED\tDESCRIPTION")
	for _, e := range entries {
		items := "-"
		if e.Items >= 0 {
			items = fmt.Sprint(e.Items)
		}
		about, _, _ := strings.Cut(strings.TrimSpace(harmless(e.Description)), "\n")
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", harmless(e.Name), items, e.Updated.Local().Format(time.DateTime), about)
	}
	return table.Flush()
}
