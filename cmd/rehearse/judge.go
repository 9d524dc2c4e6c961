package main

import (
	"github.com/spf13/cobra"
)

func newJudge(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "judge",
		Short:   "Hold judges against people",
		Example: `  rehearse judge calibrate labels.jsonl --judge openai:gpt-5`,
	}
	return group(c, newJudgeCalibrate(env))
}
