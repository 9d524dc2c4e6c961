package main

import (
	"github.com/spf13/cobra"

	"rehearse/internal/source"
)

func newJudge(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "judge",
		Short:   "Hold judges against people",
		Example: `  rehearse judge calibrate labels.jsonl --judge openai:gpt-5`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var known []string
			for _, sub := range c.Commands() {
				known = append(known, sub.Name())
			}
			return usage("unknown command %q for %q: %s", args[0], c.CommandPath(), source.Suggest(args[0], known))
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newJudgeCalibrate(env))
	return c
}
