package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/data/importer/datasetimport"
)

func newDatasetImport(env *Env) *cobra.Command {
	var to, format string
	var force bool
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Make items of the files of other tools",
		Long: `Make items of the files of other tools: ` + strings.Join(datasetimport.Formats(), ", ") +
			`. Which one it is, is found out for each file.

Each turn of which something is expected becomes an item, with what was said before as its history; where nothing is expected of any turn, the
last one does. What has no place in an item is listed on stderr with how often it was there. A check among it stays
in the item as an unsupported assertion, which cannot pass. Nothing is written when one of the files cannot be read.`,
		Example: `  rehearse dataset import eval_data.evalset.json --to items.jsonl
  rehearse dataset import tests/*_stories.yml --format rasa --to intents.jsonl
  rehearse dataset import eval_data.evalset.json --to store:main-dataset`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name the files to import (see `%s --help`)", c.CommandPath())
			}
			return importItems(c.Context(), env, args, to, format, force)
		},
	}
	c.Flags().StringVar(&to, "to", "-", "file of items to write, .jsonl or .jsonl.gz, or dataset of a store, "+
		"made if it is missing (default: the standard output)")
	c.Flags().StringVar(&format, "format", "", "the format of all files, instead of finding it out: "+
		strings.Join(datasetimport.Formats(), ", "))
	c.Flags().BoolVar(&force, "replace", false, "replace the file of --to if it is there")
	return c
}

func importItems(ctx context.Context, env *Env, files []string, to, format string, force bool) error {
	place, err := importTarget(to, force)
	if err != nil {
		return outcome(source.AsInvalid(err))
	}
	items, found, err := datasetimport.ReadAll(files, format)
	if err != nil {
		return outcome(source.AsInvalid(err))
	}
	if place.Kind == dataset.InStore {
		err = onDatasets(ctx, env, func(ctx context.Context, places *dataset.Stores) error {
			o, err := places.Push(ctx, place, items, true)
			if err != nil {
				return err
			}
			return concluded(env, "text", place.String(), &o, "put", "")
		})
	} else {
		err = writeItems(env.Stdout, to, items)
	}
	if err != nil {
		return err
	}
	for _, one := range found {
		fmt.Fprintln(env.Stderr, harmless(one.String()))
	}
	return nil
}

// importTarget reads the value of --to, and refuses what cannot be written to before anything is read.
func importTarget(to string, force bool) (name dataset.Name, err error) {
	if dataset.NamesStore(to) {
		name, err = dataset.ParseName(to)
		if err == nil && force {
			err = usage("--replace is for files: in a store an item is replaced by the one with its id; leave it out")
		}
		return name, err
	}
	if err := linesFile("--to", to); err != nil {
		return name, err
	}
	if _, err := os.Stat(to); to != "-" && err == nil && !force {
		return name, usage("--to %s: the file is there already: name another one, or add --replace", to)
	}
	return dataset.Name{Kind: dataset.InFile, Dataset: to}, nil
}
