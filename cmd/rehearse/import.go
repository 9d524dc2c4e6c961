package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rehearse/internal/importer"
)

func newImport(env *Env) *cobra.Command {
	var o importer.Options
	var format string
	c := &cobra.Command{
		Use:   "import FORMAT FILE…",
		Short: "Make a suite and targets of the files of other tools",
		Long: `Make a suite, and targets in a rehearse.yaml, of the files of other tools. FORMAT is one of ` + strings.Join(importer.Names()[1:], ", ") + `,
or auto, which finds out the format of each file.

What is not carried over is listed on stderr, each with its file and line, what it is, and why. The suite that is written is valid.
The exit code is 0 also when things were lost, and 2 when a file cannot be read, or one to be written is there already.
Suites of AgentV 4.x need no import: they run as they are.`,
		Example: `  rehearse import promptfoo promptfooconfig.yaml --suite suite.yaml
  rehearse import agentv evals/suite.yaml .agentv/targets.yaml --suite suite.yaml
  rehearse import auto goldens/*.json --suite goldens.yaml --config agents/rehearse.yaml --force
  rehearse import rasa tests/test_stories.yml --suite stories.yaml --format json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("name the format and the files to import (see `rehearse import --help`)")
			}
			if format != "text" && format != "json" {
				return usage("unknown format %q: use text or json", format)
			}
			if o.Suite == "" {
				return usage("name the suite to write with --suite")
			}
			o.Format, o.Files = args[0], args[1:]
			found, err := importer.Import(o)
			if err != nil {
				return outcome(err)
			}
			return printImport(env, found, format)
		},
	}
	c.Flags().StringVar(&o.Suite, "suite", "", "suite to write")
	c.Flags().StringVar(&o.Config, "config", "", "configuration to write targets into (default: rehearse.yaml beside the suite)")
	c.Flags().BoolVar(&o.Force, "force", false, "replace files that are there")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

func printImport(env *Env, found *importer.Result, format string) error {
	for _, l := range found.Lost {
		fmt.Fprintln(env.Stderr, harmless(l.String()))
	}
	if format == "json" {
		data, err := json.MarshalIndent(found, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(env.Stdout, string(data))
		return nil
	}
	for _, path := range []*string{found.Suite, found.Config} {
		if path != nil {
			fmt.Fprintln(env.Stdout, harmless(*path))
		}
	}
	fmt.Fprintf(env.Stdout, "imported %s, %s, %d not carried over\n", plural(found.Tests, "test"), plural(found.Turns, "turn"), len(found.Lost))
	return nil
}
