package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"rehearse/internal/client"
	"rehearse/internal/compare"
	"rehearse/internal/config"
	"rehearse/internal/evaluation"
	"rehearse/internal/orchestrator"
	"rehearse/internal/report"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/runspec"
	"rehearse/internal/runspec/bundle"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// serverFlags name a server and who asks it.
type serverFlags struct {
	url, tokenEnv string
}

func (f *serverFlags) register(flags *pflag.FlagSet, what string) {
	flags.StringVar(&f.url, "server", "", what)
	flags.StringVar(&f.tokenEnv, "token-env", defaultTokenEnv, "with --server: environment variable with the token of the server")
}

// client returns a client of the server. Close it.
func (f *serverFlags) client(env *Env, note func(string)) (*client.Client, error) {
	c, err := client.New(client.Config{URL: f.url, Token: env.Getenv(f.tokenEnv), TokenEnv: f.tokenEnv, Note: note})
	return c, outcome(err)
}

// refused gives what a server said its exit code, and names the problems of an invalid suite.
func refused(err error) error {
	said, ok := errors.AsType[*client.RefusedError](err)
	switch {
	case !ok || !said.Invalid():
		return outcome(err)
	case len(said.Errors) > 0:
		return &exitError{result.ExitInvalid, said.Errors}
	}
	return &exitError{result.ExitInvalid, err}
}

// checkServer refuses flags that need the disk or the process that holds the conversations.
func (f *runFlags) checkServer(flags *pflag.FlagSet) error {
	if f.server.url == "" {
		for _, name := range []string{"detach", "token-env"} {
			if flags.Changed(name) {
				return usage("--%s is for runs on a server: name it with --server", name)
			}
		}
		return nil
	}
	for _, name := range []string{"resume", "rerun", "watch", "record", "replay"} {
		if flags.Changed(name) {
			return usage("--%s is for local runs: leave it out, or --server", name)
		}
	}
	for _, name := range []string{"target-curl", "target-url", "local-prompt", "ignore-target", "dry-run"} {
		if flags.Changed(name) {
			return usage("--%s cannot be said to a server: describe targets in %s; the rest is for local runs", name, config.Name)
		}
	}
	if _, err := os.Stat(filepath.Join(f.baseline, runlog.RunFile)); f.baseline != "" && err == nil {
		return usage("--baseline %s is a folder here: with --server, name a run of the server by its id", f.baseline)
	}
	return nil
}

// gathered is a run with every file that it reads.
type gathered struct {
	spec runspec.Spec
	// root is the folder in which its names begin, tests is how many tests it has.
	root  string
	tests int
}

// gather returns the run with every file that it reads.
func (f *runFlags) gather(ctx context.Context, env *Env) (g gathered, err error) {
	g.spec, g.root, err = bundle.Gather(f.spec(), func(files source.Files, s runspec.Spec) (suites []string, err error) {
		opened, err := env.open(setup.Options{Files: files, Config: s.Config, Model: s.Model, Dry: true, Warn: func(string) {}}) // the server warns
		if err != nil {
			return nil, err
		}
		defer env.closed(opened)
		suites, g.tests, err = evaluation.Reads(ctx, evaluation.Config{Setup: opened, Spec: s})
		return suites, err
	})
	return g, err
}

// place returns the name that the working folder has for a file of the run.
func (g gathered) place(file string) string {
	whole := filepath.Join(g.root, file)
	here, err := filepath.Abs(".")
	if err != nil {
		return whole
	}
	if near, err := filepath.Rel(here, whole); err == nil {
		return near
	}
	return whole
}

// onServer has a server hold the run, and shows and writes what a local run would.
func (f *runFlags) onServer(ctx context.Context, env *Env) error {
	sent, err := f.gather(ctx, env)
	if err != nil {
		return outcome(err)
	}
	progress := newProgress(env, f.quiet)
	server, err := f.server.client(env, progress.note)
	if err != nil {
		return err
	}
	defer server.Close()
	working, stop, release := env.cancelling(ctx, progress.note)
	defer release()
	run, err := server.Submit(working, sent.spec)
	if err != nil {
		return refused(tooSoon(err))
	}
	cancelled := cancelOn(working, stop, server, run.ID, progress.note)
	defer cancelled()
	if f.detach {
		_, err := fmt.Fprintln(env.Stdout, run.ID)
		return err
	}
	shown := &serverProgress{progress: progress, tests: sent.tests}
	ended, err := server.Follow(working, run.ID, shown.tell)
	shown.end()
	if err != nil {
		return left(err, run.ID)
	}
	return f.showFetched(working, env, server, ended, sent.place)
}

// left says that a run goes on without whoever followed it.
func left(err error, id string) error {
	if errors.Is(err, context.Canceled) {
		return &exitError{result.ExitInterrupted, fmt.Errorf("run %s was left before its end: look with `rehearse runs show %s`", id, id)}
	}
	return refused(err)
}

// showFetched writes the files of a run that has ended, and prints what it came to. place names its files as they are here.
func (f *runFlags) showFetched(ctx context.Context, env *Env, server *client.Client, ended client.Run, place func(string) string) (err error) {
	dir := f.out
	if dir == "" {
		dir = filepath.Join(setup.StateDir, "runs", filepath.Base(filepath.Clean(ended.ID)))
	}
	release, err := f.takeOut(ctx, env, dir)
	if err != nil {
		return err
	}
	defer func() {
		if closing := release(); err == nil && closing != nil {
			err = outcome(closing)
		}
	}()
	run, err := server.Fetch(ctx, ended.ID, dir, place)
	if err != nil {
		if ended.Error != nil {
			err = fmt.Errorf("run %s failed: %s", ended.ID, *ended.Error)
		}
		return &exitError{result.ExitNotRun, err}
	}
	if f.artifacts {
		missing, err := server.FetchArtifacts(ctx, ended.ID, dir)
		if missing > 0 && err == nil {
			err = fmt.Errorf("%d artifacts that the records name are not on the server", missing)
		}
		if err != nil {
			fmt.Fprintln(env.Stderr, "rehearse: "+err.Error())
		}
	}
	if run.ExitCode == nil {
		return &exitError{result.ExitNotRun, fmt.Errorf("the server's record of run %s does not say how it ended", ended.ID)}
	}
	if run.ID != ended.ID {
		return &exitError{result.ExitNotRun, fmt.Errorf("the server's record of run %s is that of run %s", ended.ID, run.ID)}
	}
	if err := runlog.Agree(dir, run); err != nil {
		return &exitError{result.ExitNotRun, fmt.Errorf("the results of run %s: %w", ended.ID, err)}
	}
	for _, warning := range run.Warnings {
		fmt.Fprintln(env.Stderr, "rehearse: "+warning)
	}
	if err := f.gate(dir, &run); err != nil {
		return err
	}
	r := report.New(run, runlog.ReadWhole(dir, run)).At(f.reportURL)
	if err := r.Write(dir, report.Formats().Choose(f.formats)); err != nil {
		return &exitError{result.ExitNotRun, err}
	}
	return f.show(env, &evaluation.Held{Dir: dir, Run: run}, r)
}

// gate lets the comparison with the baseline decide the exit code where --fail-on says so.
func (f *runFlags) gate(dir string, run *result.Run) error {
	if f.baseline == "" || f.failOn == "" {
		return nil
	}
	gate, err := compare.ParseGate(f.failOn)
	if err != nil {
		return outcome(err)
	}
	if run.Comparison == nil {
		return &exitError{result.ExitNotRun, fmt.Errorf("the server has not compared run %s with the baseline %s", run.ID, f.baseline)}
	}
	if code, why := gate.Exit(run.Comparison, run.Code()); why != "" {
		run.Ended(code, run.ExitReason)
		run.ExitMessage = why
		return outcome(runlog.WriteRun(dir, *run))
	}
	return nil
}

// takeOut makes the folder of the results. What an earlier run has left there is moved aside.
func (f *runFlags) takeOut(ctx context.Context, env *Env, dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, usage("cannot write results: %w", err)
	}
	lock, err := runlog.TakeLock(ctx, dir)
	if err != nil {
		return nil, usage("cannot write results: %w", err)
	}
	foreign, err := runlog.Foreign(dir, report.Formats().Choose(f.formats).Marks())
	if err == nil && foreign != "" {
		err = fmt.Errorf("%s is there and no run has written it: move it away, or choose another folder with --out", filepath.Join(dir, foreign))
	}
	aside := ""
	if err == nil {
		aside, err = runlog.MoveAside(dir, report.Formats().Marks())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(usage("cannot write results: %w", err), lock.Release())
	}
	if aside != "" {
		fmt.Fprintln(env.Stderr, "rehearse: the earlier run in "+dir+" is moved to "+aside)
	}
	return lock.Release, nil
}

// serverProgress shows how far a run on a server is.
type serverProgress struct {
	*progress
	tests int
	begun bool
	now   orchestrator.Progress
}

// tell counts what has happened. Tests with trials have a result of trial 0 for all of them.
func (p *serverProgress) tell(e client.Event) {
	if !p.begun {
		p.begun = true
		p.Begin(result.Run{}, p.tests)
	}
	switch {
	case e.Progress != nil:
		p.now.InFlight = e.Progress.Running
	case e.Result != nil && e.Result.Trial == 0:
		t := &p.now.Totals
		t.Tests++
		switch e.Result.Verdict {
		case result.Pass:
			t.Passed++
		case result.Fail:
			t.Failed++
		case result.Error:
			t.Errors++
		}
	}
	p.Observe(p.now)
}

func (p *serverProgress) end() {
	if p.begun {
		p.End()
	}
}

// cancelling returns a context and a stop channel for a run on a server: the first signal closes stop, a second one cancels the context.
func (e *Env) cancelling(ctx context.Context, note func(string)) (working context.Context, stop <-chan struct{}, release func()) {
	working, cancel := context.WithCancel(ctx)
	stopping, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-working.Done():
			return
		case <-e.Signals:
		}
		note("cancelling the run on the server; press Ctrl-C again to leave it")
		close(stopping)
		select {
		case <-working.Done():
		case <-e.Signals:
			cancel()
		}
	}()
	return working, stopping, func() {
		cancel()
		<-watched
	}
}

// cancelOn cancels a run on a server once stop is closed. The returned function ends the watch; a cancellation under way is waited for.
func cancelOn(ctx context.Context, stop <-chan struct{}, server *client.Client, id string, note func(string)) (done func()) {
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-over:
			select {
			case <-stop: // both: the signal came first
			default:
				return
			}
		case <-stop:
		}
		if _, err := server.Cancel(ctx, id); err != nil && !strings.Contains(err.Error(), context.Canceled.Error()) {
			note(err.Error())
		}
	}()
	return func() {
		close(over)
		<-watched
	}
}
