package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// ScoreOptions say which sessions count, and how.
type ScoreOptions struct {
	// FlowID chooses one flow; empty means all.
	FlowID string
	// MinTurns is the least number of the user's messages.
	MinTurns int
	// SessionGap and Zone are as in Choice.
	SessionGap time.Duration
	Zone       *time.Location
	Measuring
	// Rules are those of the paired comparison.
	Rules Rules
	// Interims adds a watch with an interim analysis at the end of each day on which sessions began.
	Interims bool
	// Each gets the metrics of every session and variant as they are computed; nil is allowed.
	Each func(Metrics) error
}

// Check returns wrong input as an error (source.IsInvalid).
func (o ScoreOptions) Check() error {
	if o.MinTurns < 0 {
		return source.Invalid("--min_turns cannot be negative")
	}
	if o.Slow < 0 {
		return source.Invalid("--slow %s is negative: use a duration such as 10s", o.Slow)
	}
	if err := o.Rules.Check(); err != nil {
		return err
	}
	return o.Side.Check()
}

// Scored is what replays come to, by flow.
type Scored struct {
	Flows map[string]*FlowScore `json:"flows"`
	// Missing counts replays of sessions that are not in the store or were filtered out, Unpaired those of sessions
	// that one variant lacks.
	Missing  int `json:"missing"`
	Unpaired int `json:"unpaired"`
	// NegativeLatencies counts latencies of replays that are unknown, as they are negative.
	NegativeLatencies int    `json:"negative_latencies"`
	Faults            Faults `json:"-"`
}

// FlowScore is the score of one flow.
type FlowScore struct {
	Sessions int
	Variants map[string]Means
	// States say where the states of the log were read.
	States LoggedStates
	// Comparison and Paired are nil unless there are a baseline and a candidate.
	Comparison *Comparison
	Paired     *PairedScore

	tally Tally
	// days are the same sessions by the day on which they began, where there are looks.
	days map[string]*Tally
}

// PairedScore is what the paired gate says of replays that were made elsewhere. It decides nothing.
type PairedScore struct {
	Metrics  []MetricReport `json:"metrics"`
	Gate     *Gate          `json:"gate"`
	Clusters Clusters       `json:"clusters"`
	Lost     Lost           `json:"lost"`
	Lists    Lists          `json:"lists"`
	Repeats  *Repeats       `json:"repeats,omitempty"`
	Watch    *WatchReport   `json:"watch,omitempty"`
}

// MarshalJSON writes the variants beside the rest, as their readers expect.
func (f *FlowScore) MarshalJSON() ([]byte, error) {
	o := map[string]any{"sessions": f.Sessions, "states": &f.States, "comparison": f.Comparison, "paired": f.Paired}
	for name, means := range f.Variants {
		o[name] = means
	}
	return json.Marshal(o)
}

// ScoreAll measures replays against the sessions of a store, one session at a time. Of variants that are compared, a
// session counts only when all of them have played it without an error (X46).
func ScoreAll(ctx context.Context, events Events, replays []Played, o ScoreOptions) (*Scored, error) {
	out := &Scored{Flows: map[string]*FlowScore{}}
	bySession, variants := map[string][]*Played{}, map[string]map[string]bool{} // the variants by flow
	for i := range replays {
		p := &replays[i]
		if o.FlowID != "" && p.FlowID != "" && p.FlowID != o.FlowID {
			continue
		}
		bySession[p.SessionID] = append(bySession[p.SessionID], p)
		if variants[p.FlowID] == nil {
			variants[p.FlowID] = map[string]bool{}
		}
		variants[p.FlowID][p.Variant] = true
		for t := range p.Turns {
			if p.Turns[t].negativeLatency {
				out.NegativeLatencies++
			}
		}
	}
	if err := out.Faults.countUnusable(ctx, events, Filter{FlowID: o.FlowID}); err != nil {
		return nil, err
	}
	var missing []*Pair
	choice := Choice{FlowID: o.FlowID, Gap: o.SessionGap, Zone: o.Zone}
	for s, err := range choice.sessions(events.Each(ctx, choice.filter()), &LogToFigures{}, &out.Faults) {
		if err != nil {
			return nil, err
		}
		of := bySession[s.ID]
		delete(bySession, s.ID)
		switch {
		case len(of) == 0:
			continue
		case s.Turns() < o.MinTurns:
			out.Missing += len(of)
			continue
		case variantsOf(of) < len(variants[of[0].FlowID]):
			out.Unpaired += len(of)
			if known := variants[of[0].FlowID]; known[Baseline] && known[Candidate] {
				missing = append(missing, missingPair(s, of))
			}
			continue
		}
		if err := out.take(s, of, o); err != nil {
			return nil, err
		}
	}
	for _, left := range bySession {
		out.Missing += len(left)
	}
	for _, pair := range missing {
		if f := out.Flows[pair.FlowID]; f != nil && pair.Dropped != "" {
			f.addPairs(pair.Started, o.Interims, pair)
		}
	}
	for _, f := range out.Flows {
		if err := f.compare(o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// variantsOf counts the variants that have played a session.
func variantsOf(replays []*Played) int {
	names := map[string]bool{}
	for _, p := range replays {
		names[p.Variant] = true
	}
	return len(names)
}

// take measures the replays of a session. Its figures are the means over its repeats.
func (out *Scored) take(s *Session, replays []*Played, o ScoreOptions) error {
	f := out.Flows[s.FlowID]
	if f == nil {
		f = &FlowScore{Variants: map[string]Means{}}
		out.Flows[s.FlowID] = f
	}
	f.Sessions++
	f.States.add(s, o.Side, o.similarity(Recorded))
	failed := slices.ContainsFunc(replays, func(p *Played) bool { return p.Error != "" })
	byVariant := map[string][]*Metrics{}
	for _, p := range replays {
		m := Score(s, p, o.Measuring)
		byVariant[p.Variant] = append(byVariant[p.Variant], &m)
		if o.Each != nil {
			if err := o.Each(m); err != nil {
				return fmt.Errorf("session %s: %w", s.ID, err)
			}
		}
	}
	for variant, times := range byVariant {
		if f.Variants[variant] == nil {
			f.Variants[variant] = Means{}
		}
		if !failed {
			f.Variants[variant].Add(times...)
		}
	}
	if byVariant[Baseline] != nil && byVariant[Candidate] != nil {
		f.addPairs(s.Started, o.Interims, pairsOf(s, replays, byVariant)...)
	}
	return nil
}
