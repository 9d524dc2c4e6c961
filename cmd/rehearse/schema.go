package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/app/detect"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
	"github.com/rehearse-dev/rehearse/internal/web/api"
)

// schemas are the schemas by name; schemaNames lists those in the help. suite-v1 is the name of suite in older scripts.
var (
	schemas = map[string]func() ([]byte, error){
		"suite": fixed(suite.Schema), "suite-v1": fixed(suite.Schema), "config": fixed(target.ConfigSchema),
		"flow": fixed(flow.Schema), "site": fixed(site.Schema), "result": api.ResultSchema,
	}
	schemaNames = []string{"suite", "config", "flow", "site", "result"}
)

// fixed is a schema that is there as it is.
func fixed(schema func() []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return schema(), nil }
}

func newSchema(env *Env) *cobra.Command {
	write := false
	c := &cobra.Command{
		Use:   "schema suite|config|flow|site|result | schema --write [FOLDER]",
		Short: "Print the JSON Schema of suites, rehearse.yaml, flows, sites or results, for editors and other tools",
		Long: `Print the JSON Schema of suites (both dialects), of rehearse.yaml, of flows (node flows and state machines), of sites, or of a line of
results.jsonl, for editors and other tools.

With --write, the schemas are written where the files of rehearse init name them, for instance after an update: .rehearse/schema/ in the folder of
rehearse.yaml (default: this one), with a .rehearse/.gitignore that keeps runs and the store out of git.`,
		Example: `  rehearse schema suite > suite.schema.json
  # yaml-language-server: $schema=suite.schema.json      as the first line of a suite
  rehearse schema result                               what programs that read results.jsonl can rely on
  rehearse schema --write
  rehearse schema --write evals`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case write && len(args) > 1:
				return usage("name one folder, or none for this one: `rehearse schema --write FOLDER`")
			case !write && len(args) != 1:
				return usage("say which schema: %s", alternatives(schemaNames))
			}
			return nil
		},
		ValidArgs: schemaNames,
		RunE: func(_ *cobra.Command, args []string) error {
			if write {
				return outcome(writeSchemas(env, args))
			}
			schema, ok := schemas[args[0]]
			if !ok {
				return usage("there is no schema called %q: use %s", args[0], alternatives(schemaNames))
			}
			text, err := schema()
			if err == nil {
				_, err = env.Stdout.Write(text)
			}
			return outcome(err)
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
	written, err := detect.Write(folder, detect.Schemas())
	if err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintln(env.Stdout, "wrote "+path)
	}
	return nil
}
