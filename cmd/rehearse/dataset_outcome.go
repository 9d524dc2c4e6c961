package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rehearse/internal/langfuse"
	"rehearse/internal/redact"
	"rehearse/internal/result"
)

// datasetOutcome is what a change of a dataset came to.
type datasetOutcome struct {
	Dataset string `json:"dataset"`
	// Deleted, New, Changed and Unchanged count items.
	Deleted   int `json:"deleted"`
	New       int `json:"new"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	// Failed are the items that something went wrong with, NotTried those that were left alone after it.
	Failed   []failedItem `json:"failed"`
	NotTried []string     `json:"not_tried"`
	// interrupted is that a signal has ended it.
	interrupted bool
}

type failedItem struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// atOnce is how many items are handed on before it is said how far it has come.
const atOnce = 50

// inParts does something with many items, part by part, and takes in what failed. It returns the ids of those that got through.
func (o *datasetOutcome) inParts(ctx context.Context, env *Env, what string, ids []string, do func(ctx context.Context, ids []string) error) (done []string) {
	ctx, release := untilSignal(ctx, env)
	defer release()
	secrets := redact.New(env.Environ)
	counted := &counter{env: env, what: what}
	tried := 0
	for part := range slices.Chunk(ids, atOnce) {
		err := do(ctx, part)
		push, ok := errors.AsType[*langfuse.PushError](err)
		switch {
		case err == nil:
			push = &langfuse.PushError{Done: part}
		case !ok:
			push = &langfuse.PushError{Failed: []langfuse.Failure{{ID: part[0], Err: err}}, Rest: part[1:]}
		}
		done = append(done, push.Done...)
		tried += len(push.Done) + len(push.Failed)
		for range push.Done {
			counted.add()
		}
		for _, f := range push.Failed {
			if errors.Is(f.Err, context.Canceled) { // nobody knows whether it was done
				o.NotTried = append(o.NotTried, f.ID)
				continue
			}
			o.Failed = append(o.Failed, failedItem{f.ID, secrets.Text(harmless(f.Err.Error()))})
		}
		if len(push.Rest) > 0 || ctx.Err() != nil {
			o.interrupted = ctx.Err() != nil && len(done) < len(ids)
			o.NotTried = append(o.NotTried, ids[tried:]...)
			break
		}
	}
	return done
}

// complete reports whether everything got through.
func (o *datasetOutcome) complete() bool { return len(o.Failed)+len(o.NotTried) == 0 && !o.interrupted }

// conclude prints what has become of the items, and of each that did not get through why. again says what to do next.
func (o *datasetOutcome) conclude(env *Env, format, verb, again string) error {
	if format == "json" {
		o.Failed, o.NotTried = append([]failedItem{}, o.Failed...), append([]string{}, o.NotTried...)
		if err := writeJSON(env.Stdout, o); err != nil {
			return outcome(err)
		}
	} else if _, err := fmt.Fprintf(env.Stdout, "%s: %s\n", harmless(o.Dataset), o.inWords()); err != nil {
		return outcome(err)
	}
	if o.complete() {
		return nil
	}
	if n := len(o.Failed); n > 0 {
		fmt.Fprintf(env.Stderr, "rehearse: %s could not be %s:\n", plural(n, "item"), verb)
	}
	for i, f := range o.Failed {
		if i == maxPrinted {
			fmt.Fprintf(env.Stderr, "  … and %d more\n", len(o.Failed)-i)
			break
		}
		fmt.Fprintf(env.Stderr, "  %s: %s\n", harmless(f.ID), f.Error)
	}
	switch n := len(o.NotTried); {
	case o.interrupted:
		fmt.Fprintf(env.Stderr, "rehearse: interrupted; %s not %s, or not known to be: %s\n", plural(n, "item"), verb, fewIDs(o.NotTried))
	case n > 0:
		fmt.Fprintf(env.Stderr, "rehearse: %s not tried: %s\n", plural(n, "item"), fewIDs(o.NotTried))
	}
	fmt.Fprintln(env.Stderr, "rehearse: "+again)
	if o.interrupted {
		return &exitError{code: result.ExitInterrupted}
	}
	return &exitError{code: result.ExitNotRun}
}

func (o *datasetOutcome) inWords() string {
	var parts []string
	if o.Deleted > 0 {
		parts = append(parts, plural(o.Deleted, "item")+" deleted")
	}
	if n := o.New + o.Changed; n > 0 {
		parts = append(parts, fmt.Sprintf("%s put (%d new, %d changed)", plural(n, "item"), o.New, o.Changed))
	}
	if o.Unchanged > 0 {
		parts = append(parts, fmt.Sprintf("%d unchanged", o.Unchanged))
	}
	if len(parts) == 0 {
		return "nothing was changed"
	}
	return strings.Join(parts, ", ")
}

// fewIDs lists ids, as many as somebody reads.
func fewIDs(ids []string) string {
	const most = 10
	text := harmless(strings.Join(ids[:min(len(ids), most)], ", "))
	if more := len(ids) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// warnOf warns of items, if there are any; the format takes how many there are and which.
func warnOf(env *Env, ids []string, format string) {
	if len(ids) > 0 {
		fmt.Fprintf(env.Stderr, "rehearse: "+format+"\n", plural(len(ids), "item"), fewIDs(ids))
	}
}
