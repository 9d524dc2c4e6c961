package mine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"

	"rehearse/internal/replay"
	"rehearse/internal/source"
	"rehearse/internal/text"
)

// Log is the sessions of a flow that began on some days.
type Log struct {
	Events replay.Events
	FlowID string
	Days   replay.Days
}

// Learn learns a flow from the log. Where there is nothing to learn from, the error says why, and names the flows that the log has.
func (l Log) Learn(ctx context.Context, o Options) (*Flow, error) {
	var faults replay.Faults
	f, err := Learn(l.sessions(ctx, &faults), o)
	if nothing, ok := errors.AsType[*NothingError](err); ok {
		return nil, l.nothing(ctx, nothing)
	}
	if err != nil {
		return nil, err
	}
	f.Faults = faults
	return f, nil
}

// sessions yields the sessions. Events of a day around the days are read, too, so that a session that goes on past midnight is whole.
func (l Log) sessions(ctx context.Context, faults *replay.Faults) iter.Seq2[*replay.Session, error] {
	filter := replay.Filter{FlowID: l.FlowID, Types: []string{replay.Started, replay.Message, replay.Completed, replay.DroppedOff}}
	if !l.Days.From.IsZero() {
		filter.From = l.Days.From.AddDate(0, 0, -1)
	}
	if !l.Days.To.IsZero() {
		filter.To = l.Days.To.AddDate(0, 0, 1)
	}
	return func(yield func(*replay.Session, error) bool) {
		for s, err := range replay.Sessions(l.Events.Each(ctx, filter), faults) {
			if err == nil && !l.Days.Has(s.Started) {
				continue
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// nothing says why nothing was learned. Where the log does not know the flow, it names those that it has.
func (l Log) nothing(ctx context.Context, reason *NothingError) error {
	for _, err := range l.Events.Each(ctx, replay.Filter{FlowID: l.FlowID}) {
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		name := fmt.Sprintf("flow %q", l.FlowID)
		if days := l.Days.String(); days != "" {
			name += " " + days
		}
		return source.Invalid("%s: %w", name, reason)
	}
	known, err := replay.Flows(ctx, l.Events)
	switch {
	case err != nil:
		return err
	case len(known) == 0:
		return source.Invalid("the log has no flow %q: load sessions with `rehearse replay import`", l.FlowID)
	}
	return source.Invalid("the log has no flow %q: %s", l.FlowID, source.Suggest(l.FlowID, known))
}

// flowID is what the id of a flow looks like: it stands in file names, in FILE#ID and in logs.
var flowID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,200}$`)

// Check returns wrong input as an error (source.IsInvalid).
func (o Options) Check() error {
	switch {
	case !flowID.MatchString(o.ID):
		return source.Invalid("%q cannot be the id of a flow: give one of letters, digits, _, . and - with --id", o.ID)
	case o.MinCount < 1:
		return source.Invalid("--min_count %d is too small: 1 keeps everything", o.MinCount)
	case o.MinTurns < 0:
		return source.Invalid("--min_turns %d is below 0", o.MinTurns)
	case o.Examples < 0:
		return source.Invalid("--examples %d is below 0", o.Examples)
	}
	return nil
}

// Summary says in lines what was learned and from how much, what was left out, and what the log has wrong.
func (f *Flow) Summary() []string {
	lines := []string{fmt.Sprintf("%s: %s with %s, from %s with %s", f.ID, text.Plural(len(f.Nodes), "node"), text.Plural(f.Options(), "option"),
		text.Plural(f.Learned.Sessions, "session"), text.Plural(f.Learned.Messages, "message"))}
	for _, line := range f.Left.Lines() {
		lines = append(lines, "  left out: "+line)
	}
	for _, kind := range slices.Sorted(maps.Keys(f.Faults.Counts)) {
		lines = append(lines, fmt.Sprintf("  %s: %d, first in event %s", kind, f.Faults.Counts[kind], f.Faults.Examples[kind][0]))
	}
	return lines
}
