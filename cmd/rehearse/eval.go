package main

import (
	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/classify"
)

// newEval returns classify and e2e under the names of the chatbot's own evaluations.
func newEval(env *Env) *cobra.Command {
	f := &classifyFlags{}
	all := newClassifyAll(env, f)
	f.register(all.Flags())
	return group(&cobra.Command{
		Use: "eval TARGET", Hidden: true,
		Short: "Evaluate a classifier or the answers of the chatbot",
		Long: `Evaluate intent-classifier, skill-selector, e2e-api or all, with the flags of classify and, for e2e-api, those of e2e. Without --items, the
items are the dataset of that name; those of e2e-api are ` + e2eDataset + `.`,
		Example: `  rehearse eval intent-classifier --items intents.jsonl --sites sites/
  rehearse eval all --sites sites/ --model openai:gpt-5-mini`,
	}, evalNode(env, classify.IntentClassifier), evalNode(env, classify.SkillSelector), evalAnswers(env), all)
}

// evalNode returns classify for a node of the chatbot.
func evalNode(env *Env, node string) *cobra.Command {
	c := newClassify(env)
	c.RemoveCommand(c.Commands()...)
	c.Use = node
	c.Example = "  rehearse eval " + node + " --items items.jsonl --sites sites/"
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		return run(c, append([]string{node}, args...))
	}
	return c
}

// evalAnswers returns e2e with the items as a flag.
func evalAnswers(env *Env) *cobra.Command {
	c := newE2E(env)
	c.RemoveCommand(c.Commands()...)
	c.Use = e2eAPI
	c.Example = "  rehearse eval " + e2eAPI + " --items items.jsonl --sites sites/ --judge openai:gpt-5"
	items := c.Flags().String("items", e2eDataset, "file or dataset of the recorded conversations")
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		return run(c, append([]string{*items}, args...))
	}
	return c
}
