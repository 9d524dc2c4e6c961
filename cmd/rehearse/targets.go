package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

func newTargets(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "targets [PRESET]",
		Short: "List the kinds of targets and the presets, or print what a preset stands for",
		Example: `  rehearse targets
  rehearse targets openai`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listTargets(env.Stdout)
			}
			presets := target.Presets()
			i := slices.IndexFunc(presets, func(p target.Preset) bool { return p.Name == args[0] })
			if i < 0 {
				return usage("there is no preset called %q: known are %s", args[0],
					strings.Join(target.PresetNames(), ", "))
			}
			_, err := io.WriteString(env.Stdout, presets[i].YAML)
			return err
		},
	}
}

func listTargets(w io.Writer) error {
	fmt.Fprintln(w, "KINDS")
	for _, k := range target.Kinds() {
		short := ""
		if k.Short != "" {
			short = ": " + k.Short
		}
		fmt.Fprintf(w, "  %-11s %s%s\n", k.Name, k.Doc, short)
	}
	fmt.Fprintln(w, "\nPRESETS")
	for _, p := range target.Presets() {
		fmt.Fprintf(w, "  %s\n", p.Name)
	}
	_, err := fmt.Fprintln(w, "\n`rehearse targets PRESET` prints the YAML that a preset stands for. "+
		"A target has it with `preset: NAME` beside its url.")
	return err
}
