package replay

import (
	"context"
	"encoding/json"
	"fmt"
)

// ScoreOptions say which sessions count, and how.
type ScoreOptions struct {
	// FlowID chooses one flow; empty means all.
	FlowID string
	// MinTurns is the least number of the user's messages.
	MinTurns int
	Side     Side
	// Similarity compares two sequences of states.
	Similarity func(a, b []string) float64
	// Each gets the metrics of every session and variant as they are computed; nil is allowed.
	Each func(Metrics) error
}

// Scored is what replays come to, by flow.
type Scored struct {
	Flows map[string]*FlowScore `json:"flows"`
	// Missing counts replays of sessions that are not in the store or were filtered out, Unpaired those of sessions that one variant lacks.
	Missing  int    `json:"missing"`
	Unpaired int    `json:"unpaired"`
	Faults   Faults `json:"-"`
}

// FlowScore is the score of one flow.
type FlowScore struct {
	Sessions int
	Variants map[string]Means
	// Comparison is nil unless there are a baseline and a candidate.
	Comparison *Comparison
}

// MarshalJSON writes the variants beside the rest, as their readers expect.
func (f *FlowScore) MarshalJSON() ([]byte, error) {
	o := map[string]any{"sessions": f.Sessions, "comparison": f.Comparison}
	for name, means := range f.Variants {
		o[name] = means
	}
	return json.Marshal(o)
}

// ScoreAll measures replays against the sessions of a store, one session at a time. Of variants that are compared, a session counts only when
// all of them have played it (X46).
func ScoreAll(ctx context.Context, events Events, played []Played, o ScoreOptions) (*Scored, error) {
	bySession, variants := map[string][]*Played{}, map[string]map[string]bool{} // the variants by flow
	for i := range played {
		p := &played[i]
		if o.FlowID != "" && p.FlowID != "" && p.FlowID != o.FlowID {
			continue
		}
		bySession[p.SessionID] = append(bySession[p.SessionID], p)
		if variants[p.FlowID] == nil {
			variants[p.FlowID] = map[string]bool{}
		}
		variants[p.FlowID][p.Variant] = true
	}
	out := &Scored{Flows: map[string]*FlowScore{}}
	filter := Filter{FlowID: o.FlowID, Types: []string{Started, Message, Completed, DroppedOff}}
	if err := out.Faults.countUnusable(ctx, events, filter); err != nil {
		return nil, err
	}
	for s, err := range Sessions(events.Each(ctx, filter), &out.Faults) {
		if err != nil {
			return nil, err
		}
		replays := bySession[s.ID]
		delete(bySession, s.ID)
		switch {
		case len(replays) == 0:
			continue
		case s.Turns() < o.MinTurns:
			out.Missing += len(replays)
			continue
		case len(replays) < len(variants[replays[0].FlowID]):
			out.Unpaired += len(replays)
			continue
		}
		if err := out.take(s, replays, o); err != nil {
			return nil, err
		}
	}
	for _, left := range bySession {
		out.Missing += len(left)
	}
	for _, f := range out.Flows {
		if f.Variants[Baseline] != nil && f.Variants[Candidate] != nil {
			c := Compare(f.Variants[Baseline], f.Variants[Candidate])
			f.Comparison = &c
		}
	}
	return out, nil
}

func (out *Scored) take(s *Session, replays []*Played, o ScoreOptions) error {
	f := out.Flows[s.FlowID]
	if f == nil {
		f = &FlowScore{Variants: map[string]Means{}}
		out.Flows[s.FlowID] = f
	}
	f.Sessions++
	for _, p := range replays {
		m := Score(s, p, o.Side, o.Similarity)
		if f.Variants[p.Variant] == nil {
			f.Variants[p.Variant] = Means{}
		}
		f.Variants[p.Variant].Add(&m)
		if o.Each != nil {
			if err := o.Each(m); err != nil {
				return fmt.Errorf("session %s: %w", s.ID, err)
			}
		}
	}
	return nil
}
