package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"rehearse/internal/client"
	"rehearse/internal/evaluation"
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

// withoutServer refuses flags that are for runs on a server, where none is named.
func withoutServer(flags *pflag.FlagSet) error {
	for _, name := range []string{"detach", "token-env"} {
		if flags.Changed(name) {
			return usage("--%s is for runs on a server: name it with --server", name)
		}
	}
	return nil
}

// localOnly refuses flags that say something only where the run is held in this process.
func localOnly(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if flags.Changed(name) {
			return usage("--%s is for local runs: leave it out, or --server", name)
		}
	}
	return nil
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

// gathered is a run with every file that it reads.
type gathered struct {
	spec runspec.Spec
	// root is the folder in which its names begin, tests is how many tests it has.
	root  string
	tests int
}

// gather returns a run of the disk with every file that it reads. planned completes the configuration of its evaluation.
func gather(ctx context.Context, env *Env, spec runspec.Spec, planned func(evaluation.Config) (evaluation.Config, error)) (g gathered, err error) {
	g.spec, g.root, err = bundle.Gather(spec, func(files source.Files, s runspec.Spec) (suites []string, err error) {
		opened, err := env.open(setup.Options{Files: files, Config: s.Config, Model: s.Model, Dry: true, Warn: func(string) {}}) // the server warns
		if err != nil {
			return nil, err
		}
		defer env.closed(opened)
		c, err := planned(evaluation.Config{Setup: opened, Spec: s})
		if err != nil {
			return nil, err
		}
		if suites, g.tests, err = evaluation.Reads(ctx, c); c.Suites != nil { // made of what the spec names already
			suites = nil
		}
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

// onServer has a server hold a run, writes what it came to into a folder, and has it shown.
func (f *runFlags) onServer(ctx context.Context, env *Env, sent gathered, show func(dir string, run *result.Run) error) error {
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
	return f.fetched(working, env, server, ended, sent.place, show)
}

// left says that a run goes on without whoever followed it.
func left(err error, id string) error {
	if errors.Is(err, context.Canceled) {
		return &exitError{result.ExitInterrupted, fmt.Errorf("run %s was left before its end: look with `rehearse runs show %s`", id, id)}
	}
	return refused(err)
}

// fetched writes the files of a run that has ended into a folder, and has them shown. place names its files as they are here.
func (f *runFlags) fetched(
	ctx context.Context, env *Env, server *client.Client, ended client.Run, place func(string) string, show func(dir string, run *result.Run) error,
) (err error) {
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
	if err := credible(dir, ended.ID, run); err != nil {
		return &exitError{result.ExitNotRun, err}
	}
	return show(dir, &run)
}

// credible refuses the record of a run that is not what was asked for, or that its results do not bear out.
func credible(dir, id string, run result.Run) error {
	switch {
	case run.ExitCode == nil:
		return fmt.Errorf("the server's record of run %s does not say how it ended", id)
	case run.ID != id:
		return fmt.Errorf("the server's record of run %s is that of run %s", id, run.ID)
	case run.Code() == result.ExitPassed && (run.Stopped() || run.Totals.Errors > 0):
		return fmt.Errorf("the server's record of run %s says that it passed, and that not everything was held", id)
	}
	if err := runlog.Agree(dir, run); err != nil {
		return fmt.Errorf("the results of run %s: %w", id, err)
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
	writes := report.Formats().Choose(f.formats).Marks()
	maps.Copy(writes, f.writes)
	foreign, err := runlog.Foreign(dir, writes)
	if err == nil && foreign != "" {
		err = fmt.Errorf("%s is there and no run has written it: move it away, or choose another folder with --out", filepath.Join(dir, foreign))
	}
	aside := ""
	if err == nil {
		aside, err = runlog.MoveAside(dir, report.Owned())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(usage("cannot write results: %w", err), lock.Release())
	}
	if aside != "" {
		fmt.Fprintln(env.Stderr, "rehearse: the earlier run in "+dir+" is moved to "+aside)
	}
	return lock.Release, nil
}
