package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"rehearse/internal/replay"
	"rehearse/internal/source"
)

// nothing says why there is no conversation to replay: the store is empty, has no such flow, or has it on other days.
func (f *replayFlags) nothing(ctx context.Context, events replay.Events) error {
	first, last, err := daysOf(ctx, events, f.flow)
	switch {
	case err != nil:
		return outcome(err)
	case !first.IsZero() && (last.Before(f.begin) || !first.Before(f.end)):
		return usage("there is no conversation of flow %q from %s to %s: those in the store are from %s to %s",
			f.flow, f.from, f.to, first.Format(time.DateOnly), last.Format(time.DateOnly))
	case !first.IsZero():
		return usage("no conversation of flow %q from %s to %s has %s of the user's: lower --min_turns, or take other days", f.flow, f.from, f.to, plural(f.minTurns, "message"))
	}
	flows, err := flowsOf(ctx, events)
	if err != nil {
		return outcome(err)
	}
	if len(flows) == 0 {
		return usage("there are no conversations in %s: load some with `rehearse replay import FILE… --store %s`", f.store, f.store)
	}
	return usage("there is no conversation of flow %q in the store: %s", f.flow, source.Suggest(f.flow, flows))
}

// daysOf returns when a flow's events begin and end; both are zero when it has none.
func daysOf(ctx context.Context, events replay.Events, flow string) (first, last time.Time, err error) {
	for e, err := range events.Each(ctx, replay.Filter{FlowID: flow}) {
		if err != nil {
			return first, last, err
		}
		if first.IsZero() || e.Time.Before(first) {
			first = e.Time
		}
		if e.Time.After(last) {
			last = e.Time
		}
	}
	return first, last, nil
}

// flowsOf returns the flows of the store.
func flowsOf(ctx context.Context, events replay.Events) ([]string, error) {
	var flows []string
	for e, err := range events.Each(ctx, replay.Filter{Types: []string{replay.Started, replay.Message}}) {
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		if !slices.Contains(flows, e.FlowID) && strings.TrimSpace(e.FlowID) != "" {
			flows = append(flows, e.FlowID)
		}
	}
	slices.Sort(flows)
	return flows, nil
}
