package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func newValidate(env *Env) *cobra.Command {
	var f validateFlags
	c := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check suites and other files without running them",
		Long: `Check suites, and every file that they name, without running them. A FILE may also be a configuration
(rehearse.yaml), a file of flows, a website's chatbot or a data set: its content shows which.
Every fault is reported with its file, line, column, path and a hint, all faults at once.
Each check that an import could not carry over is a warning.
Dependencies and nodes of flows are checked against the targets that suites, configuration and --target name.
The exit code is 0 when everything is valid and 2 otherwise.`,
		Example: `  rehearse validate suite.yaml
  rehearse validate suite.yaml --config staging.yaml --target agent --judge openai:gpt-5
  rehearse validate rehearse.yaml support.flow.yaml shop.site.yaml items.jsonl
  rehearse validate evals/ more/*.yaml --format json`,
		Args: atLeastOneSuite,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.format != "text" && f.format != "json" {
				return usage("unknown format %q: use text or json", f.format)
			}
			return f.validate(env, args)
		},
	}
	c.Flags().StringVar(&f.format, "format", "text", "text or json")
	c.Flags().StringVar(&f.config, "config", "", "configuration of every suite (default: the nearest rehearse.yaml)")
	c.Flags().Var((*targetNames)(&f.targets), "target", "check suites against this target; may be given several times")
	c.Flags().StringVar(&f.judge, "judge", "", "check suites with this judge")
	return c
}

// validateFlags are the flags of validate.
type validateFlags struct {
	format, config, judge string
	targets               []string
}

func atLeastOneSuite(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("name at least one suite: a file, a folder or a glob (see `%s --help`)", c.CommandPath())
	}
	return nil
}

func (f *validateFlags) validate(env *Env, args []string) error {
	s, err := env.open(wire.Options{Config: f.config})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	names, others, problems, warnings := otherFiles(env, args)
	suites, faults, err := evaluation.Load(names, s.Suites())
	if err != nil {
		return err
	}
	problems = append(problems, faults...)
	for _, one := range suites {
		at, err := s.At(filepath.Dir(one.File))
		if err == nil {
			err = evaluation.Check(at, one, f.targets, f.judge)
		}
		found, isProblem := suite.Problems(err)
		switch {
		case err == nil:
			others = append(others, one.File+": valid, "+plural(one.Count, "test"))
			warnings = append(warnings, one.Warnings...)
			if message := one.Ungraded.String(); message != "" {
				warnings = append(warnings, source.Problem{File: one.File, Message: message})
			}
		case !isProblem:
			return outcome(err)
		case !slices.Contains(problems, found[0]): // once, however many suites have that configuration
			problems = append(problems, found...)
		}
	}
	if f.format == "json" {
		if problems == nil {
			problems = source.Problems{}
		}
		data, err := json.MarshalIndent(validity{len(problems) == 0, problems, warnings}, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(env.Stdout, string(data))
	} else {
		for _, p := range problems {
			fmt.Fprintln(env.Stdout, p.String())
		}
		for _, p := range warnings {
			fmt.Fprintln(env.Stdout, "warning: "+p.String())
		}
		for _, line := range others {
			fmt.Fprintln(env.Stdout, line)
		}
	}
	if len(problems) > 0 {
		return &exitError{code: result.ExitInvalid}
	}
	return nil
}

// otherFiles validates the files among arguments that are not suites, and returns the suites, a line for each valid
// file, and what is wrong.
func otherFiles(env *Env, args []string) (suites, valid []string, problems, warnings source.Problems) {
	for _, arg := range args {
		files, err := suite.Find(source.Files{}, arg)
		if err != nil {
			files = []string{arg} // loading it reports why
		}
		for _, file := range files {
			what, found, err := checkFile(env, file)
			faults, isProblem := suite.Problems(err)
			switch {
			case what == "" && err == nil:
				suites = append(suites, file)
			case err == nil:
				valid = append(valid, file+": valid "+what)
				warnings = append(warnings, found...)
			case isProblem:
				problems = append(problems, faults...)
			default:
				problems = append(problems, source.Problem{File: file, Message: err.Error(), Hint: "check the file"})
			}
		}
	}
	return suites, valid, problems, warnings
}

// checkFile validates a file that is not a suite. what describes it; it is empty for a suite, and for a file that cannot
// be read.
func checkFile(env *Env, file string) (what string, warnings source.Problems, err error) {
	first := source.Value{}
	for row, err := range suite.Rows(source.Files{}, file, func(*suite.Row) bool { return true }) {
		if err != nil {
			return "", nil, nil //nolint:nilerr // loading it as a suite reports why
		}
		first = row.Value
		break
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { _, ok := first.Get(key); return ok })
	}
	targets, _ := first.Get("targets")
	input, _ := first.Get("input")
	metadata, _ := first.Get("metadata")
	_, recorded := metadata.Get("history")
	switch base := filepath.Base(file); {
	case has("tests", "suite_id"):
		return "", nil, nil
	case has("site") && !has("items", "input", "query"):
		data, err := os.ReadFile(file)
		if err != nil {
			return "", nil, err
		}
		one, err := site.Load(file, data)
		if err != nil {
			return "", nil, err
		}
		return "chatbot of the site " + one.Name, one.Warnings, nil
	case has("nodes", "states", "flow", "flows") && !has("kind"):
		flows, err := flow.LoadFile(source.Files{}, file)
		for _, f := range flows {
			warnings = append(warnings, f.Warnings...)
		}
		return "file of " + plural(len(flows), "flow"), warnings, err
	case base == config.Name, targets.Kind == source.Map, has("models", "embedder", "prices", "public_env", "redact",
		"env_file", "store", "api_hosts", "api_private", "watches", "thresholds"):
		s, err := env.open(wire.Options{Config: file})
		if err == nil {
			env.closed(s)
		}
		return "configuration", nil, err
	case has("items"):
		seeding, err := dataset.LoadSeeding(file)
		return "data set, " + plural(len(seeding.Records), "item"), nil, err
	case input.Kind == source.Map && !has("assertions"), recorded:
		records, err := dataset.LoadChecked(file)
		return "data set, " + plural(len(records), "item"), nil, err
	}
	return "", nil, nil
}

// validity is what validate prints as JSON.
type validity struct {
	Valid  bool            `json:"valid"`
	Errors source.Problems `json:"errors"`
	// Warnings name what has no effect in suites that are valid.
	Warnings source.Problems `json:"warnings,omitempty"`
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
