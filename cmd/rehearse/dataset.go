package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"rehearse/internal/dataset"
	"rehearse/internal/source"
)

func newDataset(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "dataset",
		Short: "Move datasets between files, stores and Langfuse, and make items of conversations",
		Long: `Move datasets between files, stores and Langfuse, make items of conversations that failed or were logged and of
other tools' files, and seed a dataset from a file.

An item is {"id", "input": {"query"}, "expected_output": {"response"}, "metadata": {"site_name", "history": [{"role", "content"}]}}, or whatever else
has an input; files hold one on each line (.jsonl, also .gz). Langfuse is the one that LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_HOST name;
LANGFUSE_ENABLED=false switches it off. A dataset in a store is store:NAME in that of rehearse.yaml, sqlite:PATH#NAME, or
postgres://USER@HOST/DATABASE#NAME; a password may come from PGPASSWORD.

Exit codes: 0 done, 2 wrong usage or invalid items: nothing was changed, 3 not all could be done, 130 interrupted.`,
		Example: `  rehearse dataset list
  rehearse dataset pull main-dataset --out items.jsonl
  rehearse dataset push items.jsonl main-dataset --create
  rehearse dataset push items.jsonl store:main-dataset --create
  rehearse dataset add items.jsonl --from-run latest --test refund-twice
  rehearse dataset import stories.yml --to intents.jsonl
  rehearse dataset purge main-dataset --yes
  rehearse dataset seed examples/seeding/kestrel-rota.yaml`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var known []string
			for _, sub := range c.Commands() {
				known = append(known, sub.Name())
			}
			return usage("unknown command %q for %q: %s", args[0], c.CommandPath(), source.Suggest(args[0], known))
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newDatasetList(env), newDatasetPull(env), newDatasetPush(env), newDatasetAdd(env), newDatasetPurge(env), newDatasetSeed(env),
		newDatasetImport(env))
	return c
}

// named refuses a command line that has not so many arguments.
func named(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s (see `%s --help`)", what, c.CommandPath())
		}
		return nil
	}
}

// writeItems writes records to a file of JSON Lines, or to the standard output for "-".
func writeItems(out io.Writer, file string, records []dataset.Record) error {
	if file == "-" {
		return outcome(dataset.Encode(out, records))
	}
	return outcome(dataset.Write(file, records))
}

// linesFile refuses the name of a file that cannot be written, before anything is asked for.
func linesFile(flag, file string) error {
	switch {
	case file == "-":
		return nil
	case !dataset.IsLines(file):
		return usage("%s %s: items are written as JSON Lines only: call the file .jsonl or .jsonl.gz", flag, file)
	case !isDir(filepath.Dir(file)):
		return usage("%s %s: there is no folder %s", flag, file, filepath.Dir(file))
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
