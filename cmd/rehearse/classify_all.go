package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/classify"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/experiment"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// The evaluation of answers, and the dataset that it is of.
const (
	e2eAPI     = "e2e-api"
	e2eDataset = "main-dataset"
)

func newClassifyAll(env *Env, f *classifyFlags) *cobra.Command {
	return &cobra.Command{
		Use: "all", Hidden: true,
		Short: "Evaluate intent-classifier, skill-selector and e2e-api, one after the other",
		Long: `Evaluate intent-classifier, skill-selector and e2e-api, one after the other, each on the dataset of its name. What cannot be evaluated keeps
nothing else from it; the exit code is the worst of all.`,
		Example: `  rehearse classify all --sites sites/ --model openai:gpt-5-mini --out report/`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.checkAlone(c, args, "items"); err != nil {
				return err
			}
			return f.all(c.Context(), env)
		},
	}
}

func newClassifyE2E(env *Env, f *classifyFlags) *cobra.Command {
	return &cobra.Command{
		Use:    e2eAPI,
		Hidden: true,
		Short:  "Grade the chatbot's answers on the dataset " + e2eDataset + ", as rehearse e2e does",
		Long: `Grade the chatbot's answers on the dataset ` + e2eDataset +
			`, or on --items, as "rehearse e2e" does.`,
		Example: `  rehearse classify e2e-api --items answers.jsonl --sites sites/ --model openai:gpt-5-mini`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.checkAlone(c, args); err != nil {
				return err
			}
			if f.format != "text" {
				return usage("the report of %s is text: leave out --format, and give --out for its files", e2eAPI)
			}
			return f.e2e(c.Context(), env)
		},
	}
}

// checkAlone refuses what cannot be meant, and flags that are for one classifier: more names those that this command
// adds.
func (f *classifyFlags) checkAlone(c *cobra.Command, args []string, more ...string) error {
	if len(args) > 0 {
		return usage("name one file of labelled items, or a classifier of the chatbot (see `%s --help`)",
			c.Parent().CommandPath())
	}
	f.said(c, c.Name())
	for _, flag := range append(more, "predictions", "target", "examples", "write-predictions") {
		if slices.Contains(f.Given, flag) {
			return usage(
				"--%s is for one classifier: name intent-classifier, skill-selector or a file of items instead of %s",
				flag, c.Name())
		}
	}
	one := *f
	one.Name = classify.IntentClassifier
	return one.check()
}

// all evaluates everything there is of the chatbot, one after the other.
func (f *classifyFlags) all(ctx context.Context, env *Env) error {
	all := classify.Summary{Passed: true}
	worst := result.ExitPassed
	for _, name := range []string{classify.IntentClassifier, classify.SkillSelector, e2eAPI} {
		part, err := f.part(ctx, env, name)
		code := codeOf(err)
		if code == result.ExitInterrupted {
			return err
		}
		all.Parts = append(all.Parts, part)
		all.Passed, worst = all.Passed && part.Passed, max(worst, code)
	}
	if err := all.Write(env.Stdout, f.format); err != nil {
		return outcome(err)
	}
	if worst != result.ExitPassed {
		return &exitError{code: worst} // it was told where it happened
	}
	return nil
}

// codeOf returns the exit code of an outcome.
func codeOf(err error) int {
	if err == nil {
		return result.ExitPassed
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	return result.ExitNotRun
}

// part evaluates one of all and prints its report, or on stderr what is wrong.
func (f *classifyFlags) part(ctx context.Context, env *Env, name string) (part classify.Part, err error) {
	own := *f
	own.Name = name
	if f.run.out != "" {
		own.run.out = filepath.Join(f.run.out, name)
	}
	classify.Heading(env.Stdout, f.format, name)
	part = classify.Part{Name: name}
	if name == e2eAPI {
		err = own.e2e(ctx, env)
	} else {
		var o *classify.Outcome
		if o, err = own.classify(ctx, env, f.format != "json"); err == nil { // the JSON of all has the report in it
			part.Report, part.Summary = o.Report, o.Report.Verdict()
			if !o.Report.Passed {
				err = &exitError{code: result.ExitFailed}
			}
		}
	}
	if f.format != "json" {
		fmt.Fprintln(env.Stdout)
	}
	code := codeOf(err)
	part.Passed = code == result.ExitPassed
	switch {
	case part.Report != nil:
	case code == result.ExitPassed:
		part.Summary = "passed"
	case code == result.ExitFailed:
		part.Summary = "FAILED"
	default:
		part.Summary = "could not be evaluated"
	}
	if exit, ok := errors.AsType[*exitError](err); err != nil && (!ok || exit.err != nil) {
		reportFault(env, name, err)
	}
	return part, err
}

// reportFault prints to stderr why an evaluation failed.
func reportFault(env *Env, name string, err error) {
	fmt.Fprintln(env.Stderr, "rehearse: "+name+" could not be evaluated:")
	if problems, ok := errors.AsType[source.Problems](err); ok {
		printProblems(env.Stderr, problems, restOf(name))
		return
	}
	fmt.Fprintln(env.Stderr, "  "+err.Error())
}

// e2e evaluates answers as `rehearse e2e` does, with the sites and the model that were named here, and its own report.
func (f *classifyFlags) e2e(ctx context.Context, env *Env) error {
	f.Name = e2eDataset
	s, err := f.open(env)
	if err != nil {
		return err
	}
	defer env.closed(s)
	e := &e2eFlags{}
	e.register(pflag.NewFlagSet("e2e", pflag.ContinueOnError)) // its defaults
	e.sitesFlags = sitesFlags{
		sites: f.Sites, site: f.Site, prompts: f.Prompts, model: f.Model, config: s.Config().Path,
		localPrompt: f.LocalPrompt,
	}
	e.workers, e.out = f.run.workers, f.run.out
	e.commandLine = []string{"classify", e2eAPI}
	if f.log == experiment.LogNone {
		e.trace = "no"
	}
	if f.format != "text" { // its report is text, and would stand among what is read by machines
		beside := *env
		beside.Stdout, env = env.Stderr, &beside
	}
	items := f.Items
	if items == "" {
		items = e2eDataset
	}
	return e.run(ctx, env, items)
}

// newEval returns classify and e2e under the names of the chatbot's own evaluations.
func newEval(env *Env) *cobra.Command {
	f := &classifyFlags{}
	all := newClassifyAll(env, f)
	f.register(all.Flags())
	return group(&cobra.Command{
		Use: "eval TARGET", Hidden: true,
		Short: "Evaluate a classifier or the answers of the chatbot",
		Long: `Evaluate intent-classifier, skill-selector, e2e-api or all, with the flags of classify and, for e2e-api,
those of e2e. Without --items, the items are the dataset of that name; those of e2e-api are ` + e2eDataset + `.`,
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
