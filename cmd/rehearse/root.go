package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "rehearse",
		Short: "Hold conversations with a chat agent and grade every turn",
		Long: strings.TrimSpace(`
rehearse holds declared multi-turn conversations with a chat agent, grades every turn and the whole,
and says what passed, what failed and why.`),
		Example: `  rehearse init                      write a starter suite
  rehearse run suite.yaml            run it
  rehearse run evals/ --target openai:gpt-5-mini --judge openai:gpt-5
  rehearse validate evals/           check suites without running them
  rehearse show latest               read the last run again
  rehearse view latest               read it in the browser`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.RunE = func(c *cobra.Command, _ []string) error {
		if wire.HasConfig(".") {
			return c.Help()
		}
		_, err := io.WriteString(env.Stdout, first)
		return err
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if gone := removedFlag(c, err); gone != nil {
			return gone
		}
		return usage("%s (see `%s --help`)", strings.NewReplacer("strconv.ParseInt: parsing ", "",
			"strconv.ParseFloat: parsing ", "").Replace(err.Error()), c.CommandPath())
	})
	registerEnvFile(root.PersistentFlags())
	root.AddCommand(
		newRun(env), newRuns(env), newSchedule(env), newGrade(env), newValidate(env), newGraders(env), newSchema(env),
		newInit(env), newShow(env), newCompare(env), newView(env), newReport(env), newJudge(env), newMock(env),
		newMCP(env), newModels(env), newTargets(env), newServe(env), newLeads(env), newSessions(env), newWorker(env),
		newToken(env), newKB(env), newDoctor(env), newFlow(env), newChat(env), newE2E(env), newReplay(env),
		newClassify(env), newEval(env), newDataset(env), newImport(env), newDemo(env), newVersion(env),
	)
	addRemoved(root)
	return root
}

// first is what is said where nothing is set up yet.
const first = `Nothing is set up in this folder yet. Three things to do first:

  rehearse init              write a starter suite; --agent ADDRESS for your own agent
  rehearse run suite.yaml    hold its conversations and grade them
  rehearse view              look at what came of it in the browser

rehearse demo shows everything at work, with nothing to set up. rehearse --help lists all commands.
`

// group adds commands to one that does nothing itself but show its help. A command that it does not have is wrong
// usage: cobra would show the help and end well.
func group(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var known []string
		for _, one := range c.Commands() {
			if !one.Hidden {
				known = append(known, one.Name())
			}
		}
		return usage("unknown command %q for %q: %s", args[0], c.CommandPath(), source.Suggest(args[0], known))
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(commands...)
	return c
}
