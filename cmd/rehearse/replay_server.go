package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/client"
	"github.com/rehearse-dev/rehearse/internal/fleet/remote"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// checkServer refuses flags that need the disk, or the process, of a local run.
func (f *replayFlags) checkServer(flags *pflag.FlagSet) error {
	if f.server.url == "" {
		return withoutServer(flags)
	}
	for _, name := range []string{"store", "log", "query", "per-session", "evaluation-run-id"} {
		if flags.Changed(name) {
			return usage(
				"--%s is for local runs: leave it out, or --server, whose store has the log and all conversations",
				name)
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

// spec is the run as a server is asked for it, with the names that files have here. It names the configuration, which
// has another place there.
func (f *replayFlags) spec(flags *pflag.FlagSet, config string) runspec.Spec {
	s, rules := &f.Spec, &f.Spec.Rules
	r := &runspec.Replay{
		Candidate: s.Candidate, Baseline: s.Baseline, VariantID: s.VariantID, BaselineID: s.BaselineID,
		FlowID: s.FlowID, StartDate: s.FirstDay, EndDate: s.LastDay, Timezone: s.Timezone,
		SessionGap: new(runspec.Duration(s.SessionGap)), SampleSize: s.SampleSize, MinTurns: &s.MinTurns,
		Mode: string(s.Mode), Gate: s.Gate, Require: string(rules.Require), Margin: f.rules.margins,
		MinSupport: &rules.MinSupport, MinPower: &rules.MinPower, MaxLost: &rules.MaxLost,
		MinFidelity: &rules.MinFidelity, Cluster: string(rules.Cluster), AA: s.AA, States: string(s.Side),
		Repeats: &s.Repeats, User: s.User, Assert: f.Assert, Flows: f.Flows, Prompts: f.Prompts,
		MaxExtraTurns: &s.MaxExtraTurns, Judge: s.Judge, Slice: rules.Slices,
		TurnTimeout: new(runspec.Duration(s.TurnTimeout)), Slow: new(runspec.Duration(s.Slow)),
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
	here, err := env.here(wire.Options{Config: f.config})
	if err != nil {
		return spec, err
	}
	defer env.closed(here)
	sent, err := remote.GatherReplay(ctx, env.open, f.spec(flags, here.Config().Path))
	return sent.Spec, err
}

// onServer has a server hold the run, and shows and writes what a local run would.
func (f *replayFlags) onServer(ctx context.Context, env *Env, flags *pflag.FlagSet) error {
	spec, err := f.gather(ctx, env, flags)
	if err != nil {
		return err
	}
	note := env.warn()
	server, err := f.server.client(env, note)
	if err != nil {
		return err
	}
	defer server.Close()
	progress := &replayProgress{env: env, quiet: f.quiet, started: env.Now(), told: env.Now()}
	submitted := func(id string) {
		if !f.quiet {
			note("run " + id + " goes on at the server: look with `rehearse runs show " + id + "`")
		}
	}
	replayed := 0
	working, ended, release, err := env.follow(ctx, server, spec, f.detach, note, submitted, func(e client.Event) {
		if e.Result != nil {
			replayed++
			progress.done(replayed)
		}
	})
	defer release()
	progress.end()
	if err != nil || ended.ID == "" {
		return err
	}
	return f.showFetched(working, env, server, ended)
}

// showFetched writes the reports of a replay that has ended, and prints what it came to. A run that came to no report
// ends as its record says.
func (f *replayFlags) showFetched(ctx context.Context, env *Env, server *client.Client, ended client.Run) error {
	if f.Out != "" {
		if err := replayrun.Clear(f.Out, false); err != nil {
			return err
		}
	}
	report, err := remote.FetchReplay(ctx, server, ended)
	if none, ok := errors.AsType[*remote.NoReportError](err); ok {
		return &exitError{none.Code, err}
	}
	if err != nil {
		return &exitError{result.ExitNotRun, err}
	}
	dir := f.Out
	if dir == "" {
		dir = filepath.Join(wire.StateDir, "replays", filepath.Base(filepath.Clean(report.Run.ID)))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return usage("cannot make the folder of the reports: %w", err)
	}
	if err := replayrun.Write(dir, report); err != nil {
		return err
	}
	return f.show(env, report, dir)
}
