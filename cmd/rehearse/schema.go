package main

import (
	"github.com/spf13/cobra"

	"rehearse/internal/suite"
)

func newSchema(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema suite",
		Short: "Print the JSON Schema of suites, for editors and other tools",
		Example: `  rehearse schema suite > suite.schema.json
  # yaml-language-server: $schema=suite.schema.json      as the first line of a suite`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("say which schema: `rehearse schema suite`")
			}
			return nil
		},
		ValidArgs: []string{"suite"},
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] != "suite" {
				return usage("there is no schema called %q: use suite", args[0])
			}
			_, err := env.Stdout.Write(suite.Schema())
			return err
		},
	}
}
