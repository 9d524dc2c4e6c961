package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"rehearse/internal/source"
	"rehearse/internal/text"
)

// Nothing says why there is no session to replay: the store is empty, has no such flow, has it on other days, or only sessions that are too
// short. Store is the address of the events, for the hint.
func (s *Spec) Nothing(ctx context.Context, events Events, store string) error {
	days, err := s.Days()
	if err != nil {
		return err
	}
	first, last, err := daysOf(ctx, events, s.FlowID)
	switch {
	case err != nil:
		return err
	case !first.IsZero() && (last.Before(days.From) || !first.Before(days.To)):
		return source.Invalid("there is no conversation of flow %q %s: those in the store are from %s to %s",
			s.FlowID, days, first.Format(time.DateOnly), last.Format(time.DateOnly))
	case !first.IsZero():
		return source.Invalid("no conversation of flow %q %s has %s of the user's: lower --min_turns, or take other days",
			s.FlowID, days, text.Plural(s.MinTurns, "message"))
	}
	flows, err := Flows(ctx, events)
	if err != nil {
		return err
	}
	if len(flows) == 0 {
		return source.Invalid("there are no conversations in %s: load some with `rehearse replay import FILE… --store %s`", store, store)
	}
	return source.Invalid("there is no conversation of flow %q in the store: %s", s.FlowID, source.Suggest(s.FlowID, flows))
}

// daysOf returns when a flow's events begin and end; both are zero when it has none.
func daysOf(ctx context.Context, events Events, flow string) (first, last time.Time, err error) {
	for e, err := range events.Each(ctx, Filter{FlowID: flow}) {
		if err != nil {
			return first, last, fmt.Errorf("read events: %w", err)
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

// Flows returns the flows of a log in order.
func Flows(ctx context.Context, events Events) ([]string, error) {
	known := map[string]bool{}
	var flows []string
	for e, err := range events.Each(ctx, Filter{Types: []string{Started, Message}}) {
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		if !known[e.FlowID] && strings.TrimSpace(e.FlowID) != "" {
			known[e.FlowID] = true
			flows = append(flows, e.FlowID)
		}
	}
	slices.Sort(flows)
	return flows, nil
}
