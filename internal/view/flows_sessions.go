package view

import (
	"context"
	"net/url"
	"sync"
	"time"

	"rehearse/internal/cover"
	"rehearse/internal/flow"
	"rehearse/internal/replay"
	"rehearse/internal/view/frame"
)

// sessionTraffic is what the logged sessions of a flow reach.
type sessionTraffic struct {
	covered *cover.Coverage
	// states are how often each state was entered, also those that the flow does not have; turns are some that did.
	states map[string]int
	turns  map[string][]frame.Link
	kept
}

// sessionTraffics keeps the traffic of flows for a while, as long as the list of sessions is kept. It is safe for concurrent use; the zero value is
// empty.
type sessionTraffics struct {
	mu   sync.Mutex
	last map[trafficKey]sessionTraffic
}

// trafficKey is a flow with the days between which its sessions began.
type trafficKey struct{ flow, definition, from, to string }

// maxTraffics bounds how many are kept.
const maxTraffics = 32

// trafficTypes are the types of events that say where a session went.
var trafficTypes = []string{replay.Started, replay.Message, replay.Completed, replay.DroppedOff}

// of returns the traffic of a flow; what is returned must not be changed. The store is asked for the events of this flow alone.
func (l *sessionTraffics) of(ctx context.Context, store *Stored, f *flow.Flow, q url.Values, now func() time.Time) (sessionTraffic, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := trafficKey{f.ID, shapeOf(f), q.Get("from"), q.Get("to")}
	began := now()
	if t, ok := l.last[key]; ok && t.holds(began) {
		return t, nil
	}
	from, hasFrom := dayOf(key.from)
	to, hasTo := dayOf(key.to)
	t := sessionTraffic{covered: cover.Of(f), states: map[string]int{}, turns: map[string][]frame.Link{}}
	for s, err := range replay.Sessions(store.Sessions.EachAfter(ctx, replay.Filter{FlowID: f.ID, Types: trafficTypes}, ""), &replay.Faults{}) {
		if err != nil {
			return t, err
		}
		if s.FlowID != f.ID || hasFrom && s.Started.Before(from) || hasTo && !s.Started.Before(to) {
			continue
		}
		t.covered.Session(s)
		for _, m := range s.Messages {
			if m.User && m.After != "" {
				t.states[m.After]++
			}
		}
		linkTurns(s, t.turns)
	}
	t.kept = keptFor(began, now())
	if l.last == nil || len(l.last) >= maxTraffics {
		l.last = map[trafficKey]sessionTraffic{}
	}
	l.last[key] = t
	return t, nil
}

// shapeOf tells a flow from one of the same id with other nodes or options.
func shapeOf(f *flow.Flow) string {
	var shape []byte
	for _, n := range f.Nodes {
		shape = append(append(shape, n.ID...), 0)
		for _, o := range n.Options {
			shape = append(append(append(append(shape, o.ID...), 1), o.Target()...), 2)
		}
	}
	for _, o := range f.Globals {
		shape = append(append(append(append(shape, o.Global...), 3), o.Target()...), 4)
	}
	return string(shape)
}
