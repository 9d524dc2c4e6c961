package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"rehearse/internal/config"
	"rehearse/internal/grader"
	"rehearse/internal/redact"
	"rehearse/internal/source"
	"rehearse/internal/suite"
)

func newValidate(env *Env) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check suites without running them",
		Long: `Check suites, and every file that they pull in, without running them.
Every fault is named with its file, line, column, path and a hint, all faults at once.
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
	suites, problems, err := loadSuites(env, args)
	if err != nil {
		return err
	}
	if len(suites) > 0 {
		if path := config.Find(filepath.Dir(suites[0].File)); path != "" {
			_, err := config.Load(path)
			found, isProblem := suite.Problems(err)
			if err != nil && !isProblem {
				return &exitError{exitUsage, err}
			}
			problems = append(problems, found...)
		}
	}
	secrets := redact.New(env.Environ)
	if format == "json" {
		if problems == nil {
			problems = source.Problems{}
		}
		data, err := json.MarshalIndent(validity{len(problems) == 0, problems}, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(env.Stdout, secrets.Text(string(data)))
	} else {
		for _, p := range problems {
			fmt.Fprintln(env.Stdout, secrets.Text(p.String()))
		}
		for _, s := range suites {
			fmt.Fprintf(env.Stdout, "%s: valid, %s\n", s.File, plural(s.Count, "test"))
		}
	}
	if len(problems) > 0 {
		return &exitError{code: exitUsage}
	}
	return nil
}

// validity is what validate prints as JSON.
type validity struct {
	Valid  bool            `json:"valid"`
	Errors source.Problems `json:"errors"`
}

// loadSuites loads every suite that the arguments name and gathers the problems of all of them.
// Suites whose names are the same are told apart by their files.
func loadSuites(env *Env, args []string) (suites []*suite.Suite, problems source.Problems, err error) {
	kinds := grader.New(grader.Config{})
	names, files := map[string]bool{}, map[string]bool{}
	for _, arg := range args {
		found, err := suite.Find(arg)
		if err != nil {
			problems = append(problems, source.Problem{File: arg, Message: err.Error(), Hint: "name a file, a folder or a glob"})
			continue
		}
		for _, file := range found {
			if path, err := filepath.Abs(file); err == nil {
				if files[path] { // named twice, or by its folder as well
					continue
				}
				files[path] = true
			}
			s, err := suite.Load(file, suite.Options{Kinds: kinds, Getenv: env.LookupEnv})
			if found, ok := suite.Problems(err); ok {
				problems = append(problems, found...)
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			if names[s.Name] {
				s.Rename(s.File)
			}
			names[s.Name] = true
			suites = append(suites, s)
		}
	}
	return suites, problems, nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
