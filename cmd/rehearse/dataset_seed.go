package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// seedFlags is what can be said on the command line of dataset seed.
type seedFlags struct {
	purgeOnly, yes bool
	out, format    string
}

func newDatasetSeed(env *Env) *cobra.Command {
	f := &seedFlags{}
	c := &cobra.Command{
		Use:   "seed FILE",
		Short: "Make a dataset in Langfuse what a seeding file says",
		Long: `Make a dataset in Langfuse what a seeding file says: its items are deleted, then those of the file created. All of the file is checked before
anything is deleted. Items that no seeding has made are deleted only with --yes.

A seeding file (.yaml, or .jsonl with the items behind a first line with the rest) has {dataset, description?, site?, items: [{query, response?,
history?: [{role, content}], assertions?, id?, site?, metadata?}]}. An item without an id gets one of what it asks, the same every time.
--out writes the items to a file instead, which "rehearse e2e" reads.`,
		Example: `  rehearse dataset seed examples/seeding/kestrel-rota.yaml
  rehearse dataset seed examples/seeding/kestrel-rota.yaml --purge-only
  rehearse dataset seed examples/seeding/kestrel-rota.yaml --out items.jsonl     without Langfuse`,
		Args: named(1, "name one seeding file"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), env, args[0]) },
	}
	f.register(c.Flags())
	return c
}

func (f *seedFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.purgeOnly, "purge-only", false, "only delete the items of the dataset")
	flags.BoolVar(&f.yes, "yes", false, "delete also items that no seeding has made")
	flags.StringVarP(&f.out, "out", "o", "",
		"write the items to this file (.jsonl, .jsonl.gz, or - for the standard output) instead of Langfuse")
	flags.StringVar(&f.format, "format", "text", "text or json")
}

func (f *seedFlags) run(ctx context.Context, env *Env, file string) error {
	if err := textOrJSON(f.format); err != nil {
		return err
	}
	if f.out != "" && (f.purgeOnly || f.yes) {
		return usage("--out writes a file and deletes nothing: leave out --purge-only and --yes")
	}
	if f.out != "" {
		if err := linesFile("--out", f.out); err != nil {
			return err
		}
	}
	s, err := dataset.LoadSeeding(file)
	if err == nil {
		err = dataset.CheckAssertions(file, s.Records, grader.New(grader.Config{}).Validate)
	}
	if err != nil {
		return outcome(source.AsInvalid(err))
	}
	if f.out != "" {
		return f.toFile(env, s)
	}
	return f.toLangfuse(ctx, env, s)
}

func (f *seedFlags) toFile(env *Env, s dataset.Seeding) error {
	warnUnexpected(env, s.Records)
	if err := writeItems(env.Stdout, f.out, s.Records); err != nil {
		return err
	}
	if f.out != "-" {
		fmt.Fprintf(env.Stdout, "%s: %s written to %s\n", harmless(s.Dataset), plural(len(s.Records), "item"), f.out)
	}
	return nil
}

func (f *seedFlags) toLangfuse(ctx context.Context, env *Env, s dataset.Seeding) error {
	return onDatasets(ctx, env, func(ctx context.Context, places *dataset.Stores) error {
		if _, err := places.Langfuse(); err != nil {
			return usage("%w; or write the items to a file with --out", err)
		}
		o, err := places.Seed(ctx, s, dataset.SeedOptions{PurgeOnly: f.purgeOnly, DeleteOthers: f.yes})
		if err != nil {
			return err
		}
		if !f.purgeOnly {
			warnUnexpected(env, s.Records)
		}
		switch {
		case !o.Deleting:
			return concluded(env, f.format, s.Dataset, &o, "created",
				"run the same command again: the file has everything")
		case f.purgeOnly:
			return concluded(env, f.format, s.Dataset, &o, "deleted", "run the same command again for the rest")
		}
		return concluded(env, f.format, s.Dataset, &o, "deleted", "nothing was created yet; run the same command again")
	})
}
