package main

import (
	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

func newE2ERebuild(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild FILE|-",
		Short: "Turn message histories into states",
		Long: `Turn message histories into the states that the conversations would have come to: messages, turn number, what the last answer asked for,
and what the qualification has collected. Each line of FILE (also .gz, or of standard input) is a JSON object
{"name", "input": {"history": [{"role", "content", "message_index"?}], "query", "field_ids"}}, or an item of a dataset,
{"id", "input": {"query"}, "metadata": {"history", "query_in_history"?}}. Each output line has the name, the state and
warnings about ambiguous histories, in the order of the input. field_ids are the fields of a site, in their order;
without them nothing is collected.

A history that cannot be read has an error instead of a state.

Exit codes: 0 every line has a state, 2 wrong usage or a history that cannot be read.`,
		Example: `  rehearse e2e rebuild items.jsonl
  echo '{"name":"a","input":{"history":[{"role":"user","content":"hi"}],"query":"x","field_ids":[]}}' | rehearse e2e rebuild -`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "-" {
				return outcome(dataset.RebuildLines("standard input", env.Stdin, env.Stdout))
			}
			file, err := source.Open(args[0])
			if err != nil {
				return usage("cannot read the histories of %s: %w", args[0], err)
			}
			defer func() { _ = file.Close() }() // it was only read
			return outcome(dataset.RebuildLines(args[0], file, env.Stdout))
		},
	}
}
