package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func newValidate(env *Env) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check suites without running them",
		Long: `Check suites, and every file that they pull in, without running them.
Every fault is named with its file, line, column, path and a hint, all faults at once.
Each check that an import could not carry over is a warning.
Dependencies and nodes of flows are checked against the targets that suites and configuration name.
The exit code is 0 when everything is valid and 2 otherwise.`,
		Example: `  rehearse validate suite.yaml
  rehearse validate evals/ more/*.yaml --format json`,
		Args: atLeastOneSuite,
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usage("unknown format %q: use text or json", format)
			}
			return validate(env, args, format)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

func atLeastOneSuite(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("name at least one suite: a file, a folder or a glob (see `%s --help`)", c.CommandPath())
	}
	return nil
}

func validate(env *Env, args []string, format string) error {
	s, err := env.open(wire.Options{})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	suites, problems, err := evaluation.Load(args, s.Suites())
	if err != nil {
		return err
	}
	var warnings source.Problems
	valid := suites[:0:0] // with a valid configuration, too
	for _, one := range suites {
		at, err := s.At(filepath.Dir(one.File))
		if err == nil {
			err = evaluation.Check(at, one)
		}
		found, isProblem := suite.Problems(err)
		switch {
		case err == nil:
			valid = append(valid, one)
			warnings = append(warnings, one.Warnings...)
			if message := one.Ungraded.String(); message != "" {
				warnings = append(warnings, source.Problem{File: one.File, Message: message})
			}
		case !isProblem:
			return outcome(err)
		case !slices.Contains(problems, found[0]): // told once, however many suites have that configuration
			problems = append(problems, found...)
		}
	}
	if format == "json" {
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
		for _, s := range valid {
			fmt.Fprintf(env.Stdout, "%s: valid, %s\n", s.File, plural(s.Count, "test"))
		}
	}
	if len(problems) > 0 {
		return &exitError{code: result.ExitInvalid}
	}
	return nil
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
