package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/cmd/rehearse/commandline"
	"github.com/rehearse-dev/rehearse/internal/data/importer"
)

func newImport(env *Env) *cobra.Command {
	var o importer.Options
	var format, run string
	var maps []string
	c := &cobra.Command{
		Use:   "import FORMAT FILE…",
		Short: "Make a suite and targets of the files of other tools",
		Long: `Make a suite, and targets in a rehearse.yaml, of the files of other tools. FORMAT is one of ` +
			strings.Join(importer.Names()[1:], ", ") + `,
or auto, which finds out the format of each file.

A check that cannot be carried over stays in the suite as an assertion of type unsupported. It cannot pass: its
test is an error (exit code 3 of a run) until you replace or remove it. Each one is listed on stderr with its file,
line, reason and nearest substitute, as are settings that are not carried over and parts that cannot affect a
verdict. The last line has the counts. The suite is valid.
The exit code is 0, or 2 if a file cannot be read, nothing in it can be imported, or a file to be written exists.
Suites of AgentV 4.x need no import: they run as they are.

The format rows reads any .jsonl, .json, .csv or .yaml file, also as .gz. --map locates the parts of
a test in a row: a JSONPath, or a text with {{ PATH }} in it. A suite with
tests: {file: FILE, map: {…}} has the same tests without a copy.`,
		Example: `  rehearse import promptfoo promptfooconfig.yaml --suite suite.yaml
  rehearse import agentv evals/suite.yaml .agentv/targets.yaml --suite suite.yaml
  rehearse import auto goldens/*.json --suite goldens.yaml --config agents/rehearse.yaml --force
  rehearse import rasa tests/test_stories.yml --suite stories.yaml --format json
  rehearse import rows qa.csv --map id=$.nr --map input=$.q --map expected_output=$.a --suite qa.yaml
  rehearse import tau-bench gpt-4o-airline.json --run airline     pass^k of finished trials`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("name the format and the files to import (see `rehearse import --help`)")
			}
			if format != "text" && format != "json" {
				return usage("unknown format %q: use text or json", format)
			}
			if run != "" {
				return importRun(env, args[0], args[1:], run, o.Suite != "")
			}
			if o.Suite == "" {
				return usage("name the suite to write with --suite")
			}
			o.Format, o.Files = args[0], args[1:]
			var err error
			if o.Map, err = commandline.Map(maps); err != nil {
				return outcome(err)
			}
			if len(maps) > 0 && o.Format != "rows" {
				return usage("--map is for the format rows")
			}
			found, err := importer.Import(o)
			if err != nil {
				if found != nil {
					printLost(env, found)
				}
				return outcome(err)
			}
			return printImport(env, found, format)
		},
	}
	c.Flags().StringVar(&o.Suite, "suite", "", "suite to write")
	c.Flags().StringVar(&run, "run", "",
		"of tau-bench: folder for a run with the trials of the files and their rewards")
	c.Flags().StringArrayVar(&maps, "map", nil, "of rows: KEY=PATH or KEY=TEMPLATE; keys: id, input, turns, user, "+
		"expected_output, criteria, assertions, history, vars, tags, metadata")
	c.Flags().StringVar(&o.Config, "config", "",
		"configuration to write targets into (default: rehearse.yaml beside the suite)")
	c.Flags().BoolVar(&o.Force, "force", false, "replace files that are there")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

func printImport(env *Env, found *importer.Result, format string) error {
	printLost(env, found)
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
	fmt.Fprintf(env.Stdout, "imported %s, %s\n", plural(found.Tests, "test"), plural(found.Turns, "turn"))
	fmt.Fprintf(env.Stdout, "%s carried over, %d unsupported, %d ignored on purpose, %s not carried over\n",
		plural(found.Carried, "check"), found.Unsupported, found.Ignored, plural(found.Settings, "setting"))
	return nil
}

func printLost(env *Env, found *importer.Result) {
	for _, l := range found.Lost {
		fmt.Fprintln(env.Stderr, harmless(l.String()))
	}
}
