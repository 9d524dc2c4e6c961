package main

import (
	"context"
	"time"

	"rehearse/internal/langfuse"
	"rehearse/internal/redact"
	"rehearse/internal/setup"
)

// loggedRun is one evaluation of a dataset, as it is logged.
type loggedRun struct {
	// Kind is what the traces are called, such as classify.
	Kind string
	// Dataset is the name of the dataset in Langfuse, Name that of the run, which no other run of the dataset has.
	Dataset, Name string
	// Description says in a line what was evaluated; Metadata can be searched.
	Description string
	Metadata    map[string]string
}

// loggedItem is what was done with one item.
type loggedItem struct {
	// ID is that of the item in Langfuse.
	ID string
	// Input, Output and Expected are anything that is written as JSON; nil for none.
	Input, Output, Expected any
	Start, End              time.Time
	// Failure is why there is no output; empty if there is one.
	Failure string
	// Scores are those of the item. Comment says why, and stands with each.
	Scores  map[string]float64
	Comment string
}

// traceOf returns the id of the trace that an item of a run gets.
func (r *loggedRun) traceOf(item string) string {
	return langfuse.TraceID("rehearse", r.Dataset, r.Name, item)
}

// rootOf returns the id of the only span of that trace.
func (r *loggedRun) rootOf(item string) string {
	return langfuse.SpanID("rehearse", r.Dataset, r.Name, item)
}

// Values of --log.
const (
	logAuto     = "auto"     // where the items came from
	logLangfuse = "langfuse" // in any case
	logNone     = "none"
)

// langfuseLog logs evaluations to Langfuse as dataset runs: a trace for each item with its scores, and the scores of the run.
type langfuseLog struct {
	client  *langfuse.Client
	env     *Env
	secrets *redact.Redactor
	pace    logPace
}

// logPace is how a run is logged while it goes on, and how long that may take at its end.
type logPace struct {
	// every is how long items gather before they are sent, unless there are batch of them first.
	every time.Duration
	batch int
	// waiting is how many items may wait; those above are sent at the end.
	waiting int
	// finish bounds the logging that is left at the end of a run, with each more for every item; brokenOff bounds it after an interruption.
	finish, each, brokenOff time.Duration
}

// usualPace loses two seconds of a run that is killed, and lets a slow Langfuse have half a second for each item that is left.
var usualPace = logPace{
	every: 2 * time.Second, batch: 50, waiting: 5000, finish: time.Minute, each: 500 * time.Millisecond, brokenOff: 10 * time.Second,
}

// openLangfuseLog returns where an evaluation is logged, and nil where it is not: by the value of --log, by whether the items are from
// Langfuse, and by the environment.
func openLangfuseLog(env *Env, mode string, remote bool) (*langfuseLog, error) {
	off := setup.LangfuseOff(env.Getenv)
	switch {
	case mode == logNone || mode == logAuto && (off || !remote):
		return nil, nil
	case off:
		return nil, usage("--log langfuse, but %s is false: set it to true, or leave out --log", setup.LangfuseEnabledEnv)
	}
	client, err := openLangfuse(env)
	if err != nil {
		return nil, usage("--log langfuse: %w", err)
	}
	return &langfuseLog{client, env, redact.New(env.Environ), usualPace}, nil
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
