package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/fleet/client"
	"github.com/rehearse-dev/rehearse/internal/fleet/remote"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// serverFlags name a server and who asks it.
type serverFlags struct {
	url, tokenEnv string
}

func (f *serverFlags) register(flags *pflag.FlagSet, what string) {
	flags.StringVar(&f.url, "server", "", what)
	flags.StringVar(&f.tokenEnv, "token-env", defaultTokenEnv,
		"with --server: environment variable with the token of the server")
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

// onServer has a server hold a run, writes what it came to into a folder, and has it shown.
func (f *runFlags) onServer(ctx context.Context, env *Env, sent remote.Gathered,
	show func(dir string, run *result.Run) error) error {
	progress := newProgress(env, f.quiet)
	server, err := f.server.client(env, progress.note)
	if err != nil {
		return err
	}
	defer server.Close()
	shown := &serverProgress{progress: progress, tests: sent.Tests}
	working, ended, release, err := env.follow(ctx, server, sent.Spec, f.detach, progress.note, nil, shown.printEvent)
	defer release()
	shown.end()
	if err != nil || ended.ID == "" {
		return err
	}
	fetching := remote.Fetching{
		Server: server, Dir: f.out, LocalName: sent.Location, Formats: f.formats, Writes: f.writes,
		Artifacts: f.artifacts, Note: env.warn(),
	}
	return outcome(fetching.Run(working, ended, show))
}

// follow has a server hold a run until it has ended, or is detached: then it has no id. Ctrl-C cancels it. release ends
// the watch for signals, which goes on while files are fetched. submitted, if any, is called with the id of a run that
// is waited for.
func (e *Env) follow(
	ctx context.Context, server *client.Client, spec runspec.Spec, detach bool, note func(string),
	submitted func(id string), tell func(client.Event),
) (working context.Context, ended client.Run, release func(), err error) {
	working, stop, release := e.cancelling(ctx, note)
	ended, err = remote.Run(working, server, spec, remote.Options{
		Stop: stop, Note: note, Event: tell, Submitted: func(id string) (bool, error) {
			if detach {
				_, err := fmt.Fprintln(e.Stdout, id)
				return false, err
			}
			if submitted != nil {
				submitted(id)
			}
			return true, nil
		},
	})
	switch {
	case err == nil:
		return working, ended, release, nil
	case ended.ID == "":
		return working, ended, release, refused(tooSoon(err))
	case errors.Is(err, context.Canceled):
		err = fmt.Errorf("run %s was left before its end: look with `rehearse runs show %s`", ended.ID, ended.ID)
		return working, ended, release, &exitError{result.ExitInterrupted, err}
	}
	return working, ended, release, refused(err)
}
