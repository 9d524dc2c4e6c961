package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"rehearse/internal/config"
	"rehearse/internal/probe"
	"rehearse/internal/suite"
)

func newSchema(env *Env) *cobra.Command {
	write := false
	c := &cobra.Command{
		Use:   "schema suite|config | schema --write [FOLDER]",
		Short: "Print the JSON Schema of suites or of rehearse.yaml, for editors and other tools",
		Long: `Print the JSON Schema of suites or of rehearse.yaml, for editors and other tools.

With --write, the schemas are written where the files of rehearse init name them, for instance after an update: .rehearse/schema/ in the folder of
rehearse.yaml (default: this one), with a .rehearse/.gitignore that keeps runs and the store out of git.`,
		Example: `  rehearse schema suite > suite.schema.json
  # yaml-language-server: $schema=suite.schema.json      as the first line of a suite
  rehearse schema --write
  rehearse schema --write evals`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case write && len(args) > 1:
				return usage("name one folder, or none for this one: `rehearse schema --write FOLDER`")
			case !write && len(args) != 1:
				return usage("say which schema: `rehearse schema suite` or `rehearse schema config`")
			}
			return nil
		},
		ValidArgs: []string{"suite", "config"},
		RunE: func(_ *cobra.Command, args []string) error {
			if write {
				return outcome(writeSchemas(env, args))
			}
			schemas := map[string]func() []byte{"suite": suite.Schema, "config": config.Schema}
			schema, ok := schemas[args[0]]
			if !ok {
				return usage("there is no schema called %q: use suite or config", args[0])
			}
			_, err := env.Stdout.Write(schema())
			return err
		},
	}
	c.Flags().BoolVar(&write, "write", false, "write the schemas into .rehearse/schema, for editors")
	return c
}

// writeSchemas writes the schemas of init anew, into the folder that is named or into this one.
func writeSchemas(env *Env, args []string) error {
	folder := "."
	if len(args) == 1 {
		folder = args[0]
	}
	written, err := probe.Write(folder, probe.Schemas())
	if err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintln(env.Stdout, "wrote "+path)
	}
	return nil
}
