package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

func newGraders(env *Env) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "graders [TYPE]",
		Short: "List the types of assertions, or explain one",
		Example: `  rehearse graders
  rehearse graders regex
  rehearse graders --format json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && format == "json":
				return oneGrader(env.Stdout, args[0])
			case len(args) == 1:
				return explainGrader(env.Stdout, args[0])
			case format == "json":
				return json.NewEncoder(env.Stdout).Encode(graderReference())
			case format == "markdown":
				return graderMarkdown(env.Stdout)
			case format == "text":
				return listGraders(env.Stdout)
			}
			return usage("unknown format %q: use text, markdown or json", format)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, markdown or json")
	return c
}

// commonFields are what every type accepts.
const commonFields = `Every type also takes: name, weight (1), required (true, or the score below which the turn scores 0),
min_score (a lower score counts as 0), negate, and threshold (from which score the assertion itself counts as passed;
else the test's). A leading not_ on any type negates it. Hyphens may stand for underscores.`

func listGraders(w io.Writer) error {
	group := grader.Group("")
	for _, k := range grader.Builtin() {
		if k.Group != group {
			group = k.Group
			fmt.Fprintf(w, "\n%s\n", strings.ToUpper(string(group)))
		}
		fmt.Fprintf(w, "  %-22s %s\n", k.Name, k.Doc)
	}
	_, err := fmt.Fprintf(w, "\n%s\n`rehearse graders TYPE` explains one type.\n", commonFields)
	return err
}

func explainGrader(w io.Writer, name string) error {
	plain := strings.TrimPrefix(strings.ReplaceAll(name, "-", "_"), "not_")
	var known []string
	for _, k := range grader.Builtin() {
		for _, n := range append([]string{k.Name}, k.Aliases...) {
			known = append(known, n)
			if n != plain {
				continue
			}
			fmt.Fprintf(w, "%s — %s\n", k.Name, k.Doc)
			if len(k.Aliases) > 0 {
				fmt.Fprintf(w, "also called: %s\n", strings.Join(k.Aliases, ", "))
			}
			for _, p := range k.Params() {
				need := ""
				if p.Required {
					need = ", required"
				}
				fmt.Fprintf(w, "  %-14s %s%s: %s\n", p.Name, p.Kind, need, p.Doc)
			}
			_, err := fmt.Fprintf(w, "%s\n", commonFields)
			return err
		}
	}
	return usage("there is no grader called %q: %s", name, source.Suggest(plain, known))
}

// oneGrader writes the entry of one type as JSON.
func oneGrader(w io.Writer, name string) error {
	plain := strings.TrimPrefix(strings.ReplaceAll(name, "-", "_"), "not_")
	for _, e := range graderReference() {
		if e.Name == plain || slices.Contains(e.Aliases, plain) {
			return json.NewEncoder(w).Encode(e)
		}
	}
	return explainGrader(w, name) // which says what is known
}

type graderEntry struct {
	Name    string         `json:"name"`
	Aliases []string       `json:"aliases,omitempty"`
	Group   grader.Group   `json:"group"`
	Doc     string         `json:"doc"`
	Judged  bool           `json:"judged,omitempty"`
	Params  []grader.Param `json:"params,omitempty"`
}

func graderReference() []graderEntry {
	var entries []graderEntry
	for _, k := range grader.Builtin() {
		entries = append(entries, graderEntry{k.Name, k.Aliases, k.Group, k.Doc, k.Judged, k.Params()})
	}
	return entries
}

// graderMarkdown writes docs/graders.md.
func graderMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "# Graders\n\nWritten by `rehearse graders --format markdown`; do not edit.\n\n%s\n", commonFields)
	group := grader.Group("")
	for _, e := range graderReference() {
		if e.Group != group {
			group = e.Group
			fmt.Fprintf(w, "\n## %s\n", group)
		}
		fmt.Fprintf(w, "\n### %s\n\n%s.\n", e.Name, e.Doc)
		if len(e.Aliases) > 0 {
			fmt.Fprintf(w, "Also called %s.\n", strings.Join(e.Aliases, ", "))
		}
		if len(e.Params) > 0 {
			fmt.Fprint(w, "\n| key | value | meaning |\n|---|---|---|\n")
		}
		for _, p := range e.Params {
			need := ""
			if p.Required {
				need = " (required)"
			}
			fmt.Fprintf(w, "| `%s` | %s%s | %s |\n", p.Name, p.Kind, need, strings.ReplaceAll(p.Doc, "|", "\\|"))
		}
	}
	return nil
}
