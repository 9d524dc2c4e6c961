package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rehearse/internal/dataset"
	"rehearse/internal/dataset/importer"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

func newDatasetImport(env *Env) *cobra.Command {
	var to, format string
	var force bool
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Make items of the files of other tools",
		Long: `Make items of the files of other tools: ` + strings.Join(importer.Formats(), ", ") + `. Which one it is, is found out for each file.

Each turn of which something is expected becomes an item, with what was said before as its history; where nothing is expected of any turn, the
last one does. What has no place in an item is listed on stderr with how often it was there. Nothing is written when one of the files cannot be read.`,
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
	c.Flags().StringVar(&to, "to", "-", "file of items to write, .jsonl or .jsonl.gz, or dataset of a store, made if it is missing (default: the standard output)")
	c.Flags().StringVar(&format, "format", "", "the format of all files, instead of finding it out: "+strings.Join(importer.Formats(), ", "))
	c.Flags().BoolVar(&force, "replace", false, "replace the file of --to if it is there")
	return c
}

func importItems(ctx context.Context, env *Env, files []string, to, format string, force bool) error {
	if format != "" && !slices.Contains(importer.Formats(), format) {
		return usage("unknown format %q: %s", format, source.Suggest(format, importer.Formats()))
	}
	if err := importTarget(to, force); err != nil {
		return err
	}
	var items []dataset.Record
	taken := map[string]bool{}
	var told []string
	for _, file := range files {
		found, err := importer.Read(file, format)
		if err != nil {
			return outcome(source.AsInvalid(err))
		}
		for i := range found.Items {
			r := &found.Items[i]
			for n, id := 2, r.ID; taken[r.ID]; n++ { // of another file
				r.ID = fmt.Sprintf("%s-%d", id, n)
			}
			taken[r.ID] = true
		}
		items = append(items, found.Items...)
		told = append(told, importedLine(file, found))
	}
	if err := keepImported(ctx, env, to, items); err != nil {
		return err
	}
	for _, line := range told {
		fmt.Fprintln(env.Stderr, harmless(line))
	}
	return nil
}

// importTarget refuses what nothing can be written to, before anything is read.
func importTarget(to string, force bool) error {
	if isStored(to) {
		_, err := readStored(to)
		if err == nil && force {
			err = usage("--replace is for files: in a store an item is replaced by the one with its id; leave it out")
		}
		return err
	}
	if err := linesFile("--to", to); err != nil {
		return err
	}
	if _, err := os.Stat(to); to != "-" && err == nil && !force {
		return usage("--to %s: the file is there already: name another one, or add --replace", to)
	}
	return nil
}

// keepImported writes the items where they belong.
func keepImported(ctx context.Context, env *Env, to string, items []dataset.Record) error {
	if !isStored(to) {
		return writeItems(env.Stdout, to, items)
	}
	stored, err := readStored(to)
	if err != nil {
		return err
	}
	return stored.push(ctx, env, items, true, "text")
}

// importedLine says what became of a file.
func importedLine(file string, found *importer.Imported) string {
	line := fmt.Sprintf("%s (%s): %s", file, found.Format, plural(len(found.Items), "item"))
	var lost []string
	for _, name := range setup.Names(found.Lost) {
		lost = append(lost, fmt.Sprintf("%s %d", name, found.Lost[name]))
	}
	if len(lost) == 0 {
		return line
	}
	return line + "; not carried over: " + strings.Join(lost, ", ")
}
