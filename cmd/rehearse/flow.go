package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/agent/draw"
	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func newFlow(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "flow",
		Short: "Check, draw, try and cover flows",
		Long: `Check, draw and try flows: node flows, whose options a model chooses, and state machines, whose rules do.
A FILE is YAML or JSON and may hold several flows; FILE#ID names one of them.`,
		Example: `  rehearse flow validate flows/*.yaml
  rehearse flow draw support.flow.yaml --format svg --out support.svg
  rehearse flow chat support.flow.yaml`,
	}
	return group(c, newFlowValidate(env), newFlowDraw(env), newFlowChat(env), newFlowCover(env), newFlowMine(env))
}

func newFlowValidate(env *Env) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check flows without running them",
		Long: `Check flows: ids, options, targets, and whether every node can be reached and left.
In a node flow an unreachable node or a dead end is an error. State machines are often written down from what exists:
there it is a warning. The exit code is 0 when everything is valid and 2 otherwise.`,
		Example: `  rehearse flow validate support.flow.yaml
  rehearse flow validate flows/*.yaml --format json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usage("unknown format %q: use text or json", format)
			}
			return validateFlows(env, args, format)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

// flowValidity is what flow validate prints as JSON.
type flowValidity struct {
	Valid    bool            `json:"valid"`
	Errors   source.Problems `json:"errors"`
	Warnings source.Problems `json:"warnings"`
	Flows    []flowSummary   `json:"flows"`
}

type flowSummary struct {
	File    string `json:"file"`
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind"`
	Nodes   int    `json:"nodes"`
}

func validateFlows(env *Env, files []string, format string) error {
	found := flowValidity{Errors: source.Problems{}, Warnings: source.Problems{}, Flows: []flowSummary{}}
	for _, file := range files {
		flows, err := flow.LoadFile(source.Files{}, file)
		var problems source.Problems
		switch {
		case errors.As(err, &problems):
			found.Errors = append(found.Errors, problems...)
		case err != nil:
			found.Errors = append(found.Errors, source.Problem{
				File: file, Message: err.Error(), Hint: "name a file of flows",
			})
		}
		for _, f := range flows {
			found.Warnings = append(found.Warnings, f.Warnings...)
			found.Flows = append(found.Flows, flowSummary{file, f.ID, f.Version, kindOf(f), len(f.Nodes)})
		}
	}
	found.Valid = len(found.Errors) == 0
	if err := printFlowValidity(env.Stdout, found, format); err != nil {
		return err
	}
	if !found.Valid {
		return &exitError{code: result.ExitInvalid}
	}
	return nil
}

func kindOf(f *flow.Flow) string {
	if f.Machine {
		return "state machine"
	}
	return "node flow"
}

func printFlowValidity(w io.Writer, found flowValidity, format string) error {
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(found)
	}
	for _, p := range found.Errors {
		fmt.Fprintln(w, p.String())
	}
	for _, p := range found.Warnings {
		fmt.Fprintln(w, "warning: "+p.String())
	}
	for _, f := range found.Flows {
		fmt.Fprintf(w, "%s: %s valid, %s, %s\n", f.File, f.ID, f.Kind, plural(f.Nodes, "node"))
	}
	return nil
}

func newFlowDraw(env *Env) *cobra.Command {
	var format, out string
	c := &cobra.Command{
		Use:   "draw FILE[#ID]",
		Short: "Draw a flow as Mermaid or SVG",
		Long: `Draw a flow as Mermaid text or as an SVG picture. Solid lines are chosen by a model, dashed ones by a rule;
nodes that no conversation reaches are grey, those that it cannot leave are marked.`,
		Example: `  rehearse flow draw support.flow.yaml
  rehearse flow draw support.flow.yaml --format svg --out support.svg
  rehearse flow draw flows.yaml#Banks_1.CheckBalance --format svg > balance.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := flowNamed(args[0])
			if err != nil {
				return err
			}
			return drawGraph(env, f.Drawing(), format, out)
		},
	}
	c.Flags().StringVar(&format, "format", "mermaid", "mermaid or svg")
	c.Flags().StringVarP(&out, "out", "o", "", "file to write (default: standard output)")
	return c
}

// drawGraph writes a graph to a file, or to standard output.
func drawGraph(env *Env, g draw.Graph, format, out string) error {
	write, ok := map[string]func(io.Writer, draw.Graph) error{"mermaid": draw.Mermaid, "svg": draw.SVG}[format]
	if !ok {
		return usage("unknown format %q: use mermaid or svg", format)
	}
	if out == "" {
		return outcome(write(env.Stdout, g))
	}
	if err := inFolder("--out", out); err != nil {
		return err
	}
	var picture strings.Builder
	if err := write(&picture, g); err != nil {
		return outcome(err)
	}
	return outcome(os.WriteFile(out, []byte(picture.String()), 0o644))
}

// flowNamed loads the flow of FILE or FILE#ID.
func flowNamed(name string) (*flow.Flow, error) {
	file, id, _ := strings.Cut(name, "#")
	return wire.LoadFlow(source.Files{}, target.FlowConfig{Path: file, ID: id})
}
