package main

import (
	"github.com/spf13/cobra"

	"rehearse/internal/config"
	"rehearse/internal/suite"
)

func newSchema(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema suite|config",
		Short: "Print the JSON Schema of suites or of rehearse.yaml, for editors and other tools",
		Example: `  rehearse schema suite > suite.schema.json
  # yaml-language-server: $schema=suite.schema.json      as the first line of a suite`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("say which schema: `rehearse schema suite` or `rehearse schema config`")
			}
			return nil
		},
		ValidArgs: []string{"suite", "config"},
		RunE: func(_ *cobra.Command, args []string) error {
			schemas := map[string]func() []byte{"suite": suite.Schema, "config": config.Schema}
			schema, ok := schemas[args[0]]
			if !ok {
				return usage("there is no schema called %q: use suite or config", args[0])
			}
			_, err := env.Stdout.Write(schema())
			return err
		},
	}
}
