package main

import (
	"github.com/spf13/cobra"

	"rehearse/internal/dataset"
	"rehearse/internal/source"
)

func newE2E(env *Env) *cobra.Command {
	f := &e2eFlags{}
	c := &cobra.Command{
		Use:   "e2e DATASET",
		Short: "Grade a chatbot's next answer in recorded conversations",
		Long: `Grade the next answer of a website's chatbot in recorded conversations, each in one call.

Each item of DATASET is one conversation: its history is turned into the state that it would have left, the state is put into a fresh session,
only the last query is sent, and only the answer to it is graded. DATASET is a file (.jsonl, .json, .csv, also .gz) or the name of a dataset in
Langfuse or a store (store:NAME). An item is {"id", "input": {"query"}, "expected_output": {"response", "assertions"?}, "metadata": {"site_name", "history":
[{"role", "content", "message_index"?}], "query_message_index"?, "state"?}}: the response says in words what a good answer is, and a judge
scores its correctness, completeness, flow and format. Assertions are those of suites, such as {"type": "state", "path", "equals"}.

Exit codes: 0 enough answers were good, 1 too few, 2 wrong usage or invalid items, 3 something could not be run or graded, 130 interrupted.`,
		Example: `  rehearse e2e items.jsonl --sites examples/sites --judge openai:gpt-5
  rehearse e2e hexa.com-v1 --sites sites --sample-size 5 --verbose
  rehearse e2e items.jsonl --sites sites --item "Technical" --verbose
  rehearse e2e items.jsonl --sites sites --judge none        assertions only
  rehearse e2e verify items.jsonl --sites sites              is the rebuilt state the natural one?
  rehearse e2e rebuild items.jsonl > rebuilt.jsonl           the states alone`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one dataset: a file of items, or a dataset in Langfuse (see `%s --help`)", c.CommandPath())
			}
			f.hasAccuracy = c.Flags().Changed("accuracy")
			f.commandLine = append([]string{"e2e"}, args...)
			return f.run(c.Context(), env, args[0])
		},
	}
	f.register(c.Flags())
	c.AddCommand(newE2ERebuild(env), newE2EVerify(env))
	return c
}

func newE2ERebuild(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild FILE|-",
		Short: "Turn message histories into states",
		Long: `Turn message histories into the states that the conversations would have come to: messages, turn number, what the last answer asked for,
and what the qualification has collected. Each line of FILE (also .gz, or of standard input) is a JSON object
{"name", "input": {"history": [{"role", "content", "message_index"?}], "query", "field_ids"}}, or an item of a dataset, {"id", "input": {"query"},
"metadata": {"history"}}; each line that is written has its name, its state and warnings of what the history does not tell for sure, in the same
order. Without field_ids nothing is collected: they are the fields of a site, in their order.`,
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
