package main

import (
	"context"
	"fmt"

	"rehearse/internal/langfuse"
	"rehearse/internal/langfuse/experiment"
	"rehearse/internal/setup"
)

// Values of --log.
const (
	logAuto     = "auto"     // where the items came from
	logLangfuse = "langfuse" // in any case
	logNone     = "none"
)

// openLangfuseLog returns where an evaluation is logged, and nil where it is not: by the value of --log, by whether the items are from
// Langfuse, and by the environment.
func openLangfuseLog(env *Env, mode string, remote bool) (*experiment.Config, error) {
	off := setup.LangfuseOff(env.Getenv)
	switch {
	case mode == logNone || mode == logAuto && (off || !remote):
		return nil, nil
	case off:
		return nil, usage("--log langfuse, but %s is false: set it to true, or leave out --log", setup.LangfuseEnabledEnv)
	}
	client, err := env.langfuse()
	if err != nil {
		return nil, usage("--log langfuse: %w", err)
	}
	secrets := setup.Secrets(env.Environ)
	say := func(text string) { fmt.Fprintln(env.Stderr, secrets.Text(harmless(text))) }
	return &experiment.Config{Client: client, Secrets: secrets, Say: say, Pace: experiment.UsualPace()}, nil
}

// langfuse returns a client of the Langfuse that the environment names. The error says in one line which variables are missing.
func (e *Env) langfuse() (*langfuse.Client, error) {
	s, err := e.open(setup.Options{})
	if err != nil {
		return nil, err
	}
	defer e.closed(s)
	return s.Langfuse()
}

// untilSignal returns a context that a signal ends; release stops listening.
func untilSignal(ctx context.Context, env *Env) (working context.Context, release func()) {
	working, cancel := context.WithCancel(ctx)
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		select {
		case <-env.Signals:
			cancel()
		case <-working.Done():
		}
	}()
	return working, func() {
		cancel()
		<-listened
	}
}

// interruptibly calls do with a context that a signal ends.
func interruptibly(ctx context.Context, env *Env, do func(context.Context)) {
	ctx, release := untilSignal(ctx, env)
	defer release()
	do(ctx)
}
