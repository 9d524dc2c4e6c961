package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"rehearse/internal/client"
	"rehearse/internal/replay"
	"rehearse/internal/replayrun"
	"rehearse/internal/result"
	"rehearse/internal/runspec"
	"rehearse/internal/runspec/bundle"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// checkServer refuses flags that need the disk, or the process, of a local run.
func (f *replayFlags) checkServer(flags *pflag.FlagSet) error {
	if f.server.url == "" {
		return withoutServer(flags)
	}
	for _, name := range []string{"store", "per-session", "evaluation-run-id"} {
		if flags.Changed(name) {
			return usage("--%s is for local runs: leave it out, or --server, whose store has the log and all conversations", name)
		}
	}
	for name, folder := range map[string]*string{"flows": &f.Flows, "prompts": &f.Prompts} {
		switch _, err := os.Stat(*folder); {
		case err == nil:
		case flags.Changed(name):
			return usage("--%s: %w", name, err)
		default:
			*folder = "" // there are none, and nothing need name any
		}
	}
	return nil
}

// spec is the run as a server is asked for it, with the names that files have here. It names the configuration, which has another place there.
func (f *replayFlags) spec(flags *pflag.FlagSet, config string) runspec.Spec {
	s, rules := &f.Spec, &f.Spec.Rules
	r := &runspec.Replay{
		Candidate: s.Candidate, Baseline: s.Baseline, VariantID: s.VariantID, BaselineID: s.BaselineID, FlowID: s.FlowID, StartDate: s.FirstDay, EndDate: s.LastDay,
		SampleSize: s.SampleSize, MinTurns: &s.MinTurns, Mode: string(s.Mode), Gate: s.Gate, Require: string(rules.Require), Margin: f.rules.margins,
		MinSupport: &rules.MinSupport, MinPower: &rules.MinPower, MaxLost: &rules.MaxLost, MinFidelity: &rules.MinFidelity, Cluster: string(rules.Cluster),
		AA: s.AA, States: string(s.Side), Repeats: &s.Repeats, User: s.User, Flows: f.Flows, Prompts: f.Prompts,
		TurnTimeout: new(runspec.Duration(s.TurnTimeout)),
	}
	spec := runspec.Spec{Schema: runspec.Schema, Kind: runspec.KindReplay, Replay: r, Config: config}
	if flags.Changed("workers") { // else the workers that there are
		spec.Limits.Workers = s.Workers
	}
	return spec
}

// gather returns the run with every file that it reads.
func (f *replayFlags) gather(ctx context.Context, env *Env, flags *pflag.FlagSet) (spec runspec.Spec, err error) {
	asked := f.Spec // which Check changes
	if err := errors.Join(f.check(), asked.Check()); err != nil {
		return spec, err
	}
	here, err := env.here(setup.Options{Config: f.config})
	if err != nil {
		return spec, err
	}
	defer env.closed(here)
	spec, _, err = bundle.Gather(f.spec(flags, here.Config().Path), func(files source.Files, s runspec.Spec) ([]string, error) {
		opened, err := env.open(setup.Options{Files: files, Config: s.Config, Dry: true, Warn: func(string) {}}) // the server warns
		if err != nil {
			return nil, err
		}
		defer env.closed(opened)
		return nil, replayrun.Reads(ctx, opened, s)
	})
	return spec, err
}

// onServer has a server hold the run, and shows and writes what a local run would.
func (f *replayFlags) onServer(ctx context.Context, env *Env, flags *pflag.FlagSet) error {
	spec, err := f.gather(ctx, env, flags)
	if err != nil {
		return err
	}
	note := func(said string) { fmt.Fprintln(env.Stderr, "rehearse: "+said) }
	server, err := f.server.client(env, note)
	if err != nil {
		return err
	}
	defer server.Close()
	working, stop, release := env.cancelling(ctx, note)
	defer release()
	run, err := server.Submit(working, spec)
	if err != nil {
		return refused(tooSoon(err))
	}
	defer cancelOn(working, stop, server, run.ID, note)()
	if f.detach {
		_, err := fmt.Fprintln(env.Stdout, run.ID)
		return err
	}
	if !f.quiet {
		note("run " + run.ID + " goes on at the server: look with `rehearse runs show " + run.ID + "`")
	}
	progress := &replayProgress{env: env, quiet: f.quiet, started: env.Now(), told: env.Now()}
	replayed := 0
	ended, err := server.Follow(working, run.ID, func(e client.Event) {
		if e.Result != nil {
			replayed++
			progress.done(replayed)
		}
	})
	progress.end()
	if err != nil {
		return left(err, run.ID)
	}
	return f.showFetched(working, env, server, ended)
}

// showFetched writes the reports of a replay that has ended, and prints what it came to. A run that came to no report ends as its record says.
func (f *replayFlags) showFetched(ctx context.Context, env *Env, server *client.Client, ended client.Run) error {
	data, err := server.FetchFile(ctx, ended.ID, "report.json")
	if said, ok := errors.AsType[*client.RefusedError](err); ok && said.Status == http.StatusNotFound {
		return withoutReport(ended)
	}
	if err != nil {
		return &exitError{result.ExitNotRun, err}
	}
	report := &replay.Report{}
	if err := json.Unmarshal(data, report); err != nil {
		return &exitError{result.ExitNotRun, fmt.Errorf("read the report of run %s: %w", ended.ID, err)}
	}
	code := result.ExitPassed
	if report.Gate != nil {
		code = report.Gate.ExitCode
	}
	if ended.ExitCode == nil || *ended.ExitCode != code {
		return &exitError{result.ExitNotRun, fmt.Errorf("the server's record of run %s and its report disagree on how it ended", ended.ID)}
	}
	dir := f.Out
	if dir == "" {
		dir = filepath.Join(setup.StateDir, "replays", filepath.Base(filepath.Clean(report.Run.ID)))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage("cannot make the folder of the reports: %w", err)
	}
	if err := replayrun.Write(dir, report); err != nil {
		return err
	}
	return f.show(env, report, dir)
}

// withoutReport is how a run ended that came to no report: never as one that has passed.
func withoutReport(ended client.Run) error {
	why := fmt.Errorf("run %s came to no report: it is %s", ended.ID, ended.Status)
	if ended.Error != nil {
		why = errors.New(*ended.Error)
	}
	if ended.ExitCode == nil || *ended.ExitCode == result.ExitPassed {
		return &exitError{result.ExitNotRun, why}
	}
	return &exitError{*ended.ExitCode, why}
}
