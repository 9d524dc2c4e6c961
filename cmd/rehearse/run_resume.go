package main

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/cmd/rehearse/commandline"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
)

// notKept are the flags that do not say what is run: a command that is given again says them anew.
var notKept = []string{"resume", "rerun", "watch", "dry-run", "out", "ci", "report-url", envFileFlag}

// restore returns the flags and suites of the run to be resumed, with what was said now on top.
func (f *runFlags) restore(c *cobra.Command, env *Env, args []string) (*runFlags, []string, error) {
	near := "."
	if len(args) > 0 {
		near = filepath.Dir(args[0])
	}
	dir, err := env.findRun(c.Context(), f.resume, f.config, near)
	if err != nil {
		return nil, nil, err
	}
	run, err := runlog.ReadRun(dir)
	if err != nil {
		return nil, nil, usage("cannot resume: %w", err)
	}
	if run.RegradedFrom != "" {
		return nil, nil,
			usage("run %s graded the conversations of run %s again and cannot be resumed: grade them anew with `%s`",
				run.ID, run.RegradedFrom, goOn(run, dir))
	}
	if isGrade(run) {
		return nil, nil, usage("run %s graded a file of answers and cannot be resumed: grade it again with `%s`",
			run.ID, goOn(run, dir))
	}
	if isReplay(run) {
		return nil, nil, usage("run %s is a replay: continue it with `%s`", run.ID, goOn(run, dir))
	}
	if len(run.Command) == 0 {
		return nil, nil, usage("cannot resume %s: its run.json does not say what was run", dir)
	}
	then := &runFlags{}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	then.register(flags)
	if err := flags.Parse(run.Command[1:]); err != nil {
		return nil, nil, usage("cannot resume %s: %w", dir, err)
	}
	var clash error
	c.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Name == "resume" || flag.Name == "rerun" || flag.Name == envFileFlag {
			return
		}
		clash = errors.Join(clash, commandline.Set(flags, flag))
	})
	if clash != nil {
		return nil, nil, usage("cannot resume %s: %w", dir, clash)
	}
	then.noteChanged(flags)
	if len(args) == 0 {
		args = flags.Args()
		if slices.ContainsFunc(args, commandline.Masked) {
			return nil, nil, usage("cannot resume %s: the names of its suites held a secret, "+
				"which run.json does not keep: give them again", dir)
		}
	}
	if lost := commandline.Lost(flags, c.Flags()); lost != "" {
		return nil, nil,
			usage("cannot resume %s: %s held a secret, which run.json does not keep: give it again beside --resume",
				dir, lost)
	}
	then.resume, then.rerun, then.out, then.commandLine = run.ID, f.rerun, dir,
		commandline.Of("run", flags, args, notKept...)
	return then, args, nil
}
