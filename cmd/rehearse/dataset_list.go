package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rehearse/internal/langfuse"
	"rehearse/internal/source"
)

// maxCounted is how many datasets have their items counted without being asked: each costs a request.
const maxCounted = 25

func newDatasetList(env *Env) *cobra.Command {
	var from, format string
	var counts bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the datasets in Langfuse or a store",
		Long: `List the datasets in Langfuse or in a store, with how many items each has, archived ones included. In Langfuse counting costs a request a
dataset, so that of more than 25 datasets the items are counted only with --counts.`,
		Example: "  rehearse dataset list\n  rehearse dataset list --format json --counts\n  rehearse dataset list --from sqlite:history.db",
		Args:    named(0, "list takes no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			if isStoreAddress(from) {
				listed, err := listStored(c.Context(), env, from)
				if err != nil {
					return err
				}
				return outcome(printDatasets(env, withoutPassword(from), listed, format))
			}
			if from != "langfuse" {
				return usage("unknown --from %q: write langfuse, store, sqlite:PATH or postgres://USER@HOST/DATABASE", from)
			}
			client, err := openLangfuse(env)
			if err != nil {
				return outcome(source.AsInvalid(err))
			}
			listed, err := listDatasets(c.Context(), env, client, counts)
			if err != nil {
				return err
			}
			return outcome(printDatasets(env, client.String(), listed, format))
		},
	}
	c.Flags().StringVar(&from, "from", "langfuse", "where to look: langfuse, store for the store of rehearse.yaml, sqlite:PATH, or postgres://USER@HOST/DATABASE")
	c.Flags().BoolVar(&counts, "counts", false, "count the items however many datasets there are")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

// listedDataset is a dataset as list prints it.
type listedDataset struct {
	Name string `json:"name"`
	// Items is nil where they were not counted.
	Items       *int      `json:"items,omitempty"`
	Description string    `json:"description,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

func listDatasets(ctx context.Context, env *Env, client *langfuse.Client, counts bool) ([]listedDataset, error) {
	ctx, release := untilSignal(ctx, env)
	defer release()
	listed := []listedDataset{}
	for d, err := range client.Datasets(ctx) {
		if err != nil {
			return nil, endedOr(ctx, err)
		}
		listed = append(listed, listedDataset{Name: d.Name, Description: d.Description, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt})
	}
	slices.SortFunc(listed, func(a, b listedDataset) int { return cmp.Compare(a.Name, b.Name) })
	if len(listed) > maxCounted && !counts {
		return listed, nil
	}
	counted := &counter{env: env, what: "datasets counted"}
	for i := range listed {
		n, err := client.CountItems(ctx, listed[i].Name)
		switch {
		case isAbsent(err): // deleted since
		case err != nil:
			return nil, endedOr(ctx, err)
		default:
			listed[i].Items = &n
		}
		counted.add()
	}
	return listed, nil
}

func printDatasets(env *Env, where string, listed []listedDataset, format string) error {
	switch {
	case format == "json":
		return writeJSON(env.Stdout, listed)
	case len(listed) == 0:
		_, err := fmt.Fprintf(env.Stdout, "no datasets in %s yet: start with `rehearse dataset push FILE NAME --create`\n", harmless(where))
		return err
	}
	table := tabwriter.NewWriter(env.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "DATASET\tITEMS\tUPDATED\tDESCRIPTION")
	for _, d := range listed {
		items := "-"
		if d.Items != nil {
			items = fmt.Sprint(*d.Items)
		}
		about, _, _ := strings.Cut(strings.TrimSpace(harmless(d.Description)), "\n")
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", harmless(d.Name), items, d.UpdatedAt.Local().Format(time.DateTime), about)
	}
	return table.Flush()
}
