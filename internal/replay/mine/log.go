package mine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Log is the sessions of a flow that began on some days.
type Log struct {
	Events replay.Events
	FlowID string
	Days   replay.Days
	// SessionGap is that of replay.Sessions.
	SessionGap time.Duration
}

// Learn learns a flow from the log. Where there is nothing to learn from, the error says why, and names the flows that
// the log has.
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

// sessions yields the sessions, each of them whole, also one that goes on past midnight.
func (l Log) sessions(ctx context.Context, faults *replay.Faults) iter.Seq2[*replay.Session, error] {
	filter := replay.Filter{From: l.Days.From, To: l.Days.To, EntireSessions: true, Types: []string{
		replay.Started, replay.Message, replay.Completed, replay.DroppedOff,
	}}
	return func(yield func(*replay.Session, error) bool) {
		for s, err := range replay.Sessions(l.Events.Each(ctx, filter), l.SessionGap, faults) {
			if err == nil && (s.FlowID != l.FlowID || s.Mixed() || !l.Days.Has(s.Started)) {
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
var flowID = text.Regexp(`^[A-Za-z0-9_.-]{1,200}$`)

// Check returns wrong input as an error (source.IsInvalid).
func (o Options) Check() error {
	switch {
	case !flowID().MatchString(o.ID):
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
	lines := []string{
		fmt.Sprintf("%s: %s with %s, from %s with %s", f.ID, text.Plural(len(f.Nodes), "node"),
			text.Plural(f.Options(), "option"), text.Plural(f.Learned.Sessions, "session"),
			text.Plural(f.Learned.Messages, "message")),
	}
	for _, line := range f.Left.Lines() {
		lines = append(lines, "  left out: "+line)
	}
	for _, kind := range slices.Sorted(maps.Keys(f.Faults.Counts)) {
		lines = append(lines, fmt.Sprintf("  %s: %d, first in event %s", replay.FaultText(kind), f.Faults.Counts[kind],
			f.Faults.Examples[kind][0]))
	}
	return lines
}

// ReadExamples reads Options.Examples from a flag: a number, or "all".
func ReadExamples(flag string) (int, error) {
	if flag == "all" {
		return All, nil
	}
	n, err := strconv.Atoi(flag)
	if err != nil || n < 0 {
		return 0, source.Invalid("--examples %q is no number: write 1, 20 or all", flag)
	}
	return n, nil
}

// choose returns the examples of each transition that leaves a state, the most frequent first: at most most of them, or
// All.
//
// A text that users said on several transitions becomes an example of the most frequent one, and of none when the
// session stayed more often after it. The same example at two options would be a tie, which the lexical model does not
// break. On the STAR corpus this gives 393 correct next states of 1,000; examples on every transition give 352.
func choose(s *state, steps []step, most int) [][]string {
	owner, best := map[string]int{}, map[string]int{}
	for i, m := range steps {
		for key, said := range m.said.byKey {
			if said.count > best[key] {
				owner[key], best[key] = i, said.count
			}
		}
	}
	chosen := make([][]string, len(steps))
	for i, m := range steps {
		for _, said := range m.said.ranked() {
			if most != All && len(chosen[i]) == most {
				break
			}
			if owner[said.key] == i && said.count >= s.stayed.count(said.key) {
				chosen[i] = append(chosen[i], said.shown)
			}
		}
	}
	return chosen
}
