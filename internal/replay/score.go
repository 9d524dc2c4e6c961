package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"rehearse/internal/source"
	"rehearse/internal/stats"
)

// ScoreOptions say which sessions count, and how.
type ScoreOptions struct {
	// FlowID chooses one flow; empty means all.
	FlowID string
	// MinTurns is the least number of the user's messages.
	MinTurns int
	Side     Side
	// Similarity compares two sequences of states; nil means stats.LevenshteinSimilarity.
	Similarity func(a, b []string) float64
	// Rules are those of the paired comparison.
	Rules Rules
	// Looks adds a watch with a look at the end of each day on which sessions began (replay.md 8).
	Looks bool
	// Each gets the metrics of every session and variant as they are computed; nil is allowed.
	Each func(Metrics) error
}

// Check returns wrong input as an error (source.IsInvalid).
func (o ScoreOptions) Check() error {
	if o.MinTurns < 0 {
		return source.Invalid("--min_turns cannot be negative")
	}
	if err := o.Rules.Check(); err != nil {
		return err
	}
	return o.Side.Check()
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
	o := map[string]any{"sessions": f.Sessions, "comparison": f.Comparison, "paired": f.Paired}
	for name, means := range f.Variants {
		o[name] = means
	}
	return json.Marshal(o)
}

// ScoreAll measures replays against the sessions of a store, one session at a time. Of variants that are compared, a session counts only when
// all of them have played it without an error (X46).
func ScoreAll(ctx context.Context, events Events, replays []Played, o ScoreOptions) (*Scored, error) {
	if o.Similarity == nil {
		o.Similarity = stats.LevenshteinSimilarity[string]
	}
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
	}
	out := &Scored{Flows: map[string]*FlowScore{}}
	if err := out.Faults.countUnusable(ctx, events, Filter{FlowID: o.FlowID}); err != nil {
		return nil, err
	}
	var missing []*Pair
	choice := Choice{FlowID: o.FlowID}
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
			f.addPairs(pair.Started, o.Looks, pair)
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
	failed := slices.ContainsFunc(replays, func(p *Played) bool { return p.Error != "" })
	byVariant := map[string][]*Metrics{}
	for _, p := range replays {
		m := Score(s, p, o.Side, o.Similarity)
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
		f.addPairs(s.Started, o.Looks, pairsOf(s, replays, byVariant)...)
	}
	return nil
}

// The variants that are compared.
const (
	Baseline  = "baseline"
	Candidate = "candidate"
)

// Played is a session as a variant has played it.
type Played struct {
	SessionID string         `json:"session_id"`
	FlowID    string         `json:"flow_id"`
	Variant   string         `json:"variant"`
	Completed bool           `json:"replay_completed"`
	Turns     []PlayedTurn   `json:"results"`
	Data      map[string]any `json:"data_collected"`
	// Error says why the replay failed; empty when it did not. Repeat numbers the replays of a session by a variant.
	Error  string `json:"error"`
	Repeat int    `json:"repeat"`
}

// PlayedTurn is the answer to one message of the user's.
type PlayedTurn struct {
	Number     int       `json:"turn_number"`
	State      string    `json:"state"`
	Transition bool      `json:"state_transition"`
	LatencyMS  *float64  `json:"latency_ms"`
	At         time.Time `json:"timestamp"`
}

// UnmarshalJSON reads a turn. Its time has any of the forms of events, or is zero where there is none.
func (t *PlayedTurn) UnmarshalJSON(data []byte) error {
	type plain PlayedTurn
	row := struct {
		*plain
		At *string `json:"timestamp"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(data, &row); err != nil || row.At == nil {
		return err
	}
	at, err := ReadTime(*row.At)
	t.At = at
	return err
}

// ReadPlayed reads replays that were made elsewhere, a JSON object a line. The error names the line.
func ReadPlayed(r io.Reader) ([]Played, error) {
	lines := bufio.NewReaderSize(r, 256<<10)
	var all []Played
	type replayKey struct {
		session, variant string
		repeat           int
	}
	seen := map[replayKey]int{}
	for number := 1; ; number++ {
		line, long, err := readLine(lines, maxEvent)
		if long {
			return nil, fmt.Errorf("line %d is longer than %d MB", number, maxEvent>>20)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			p, problem := parsePlayed(text)
			if problem != nil {
				return nil, fmt.Errorf("line %d: %w", number, problem)
			}
			key := replayKey{p.SessionID, p.Variant, p.Repeat}
			if at, twice := seen[key]; twice {
				return nil, fmt.Errorf("line %d: session %q was played by variant %q in line %d already: keep one", number, p.SessionID, p.Variant, at)
			}
			seen[key] = number
			all = append(all, p)
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

func parsePlayed(text []byte) (Played, error) {
	var p Played
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("it is not a replay: %w", err)
	}
	switch {
	case p.SessionID == "":
		return p, errors.New("the replay has no session_id")
	case p.Variant == "":
		return p, errors.New("the replay has no variant: write baseline or candidate")
	}
	return p, nil
}

// States returns the states after each turn.
func (p *Played) States() []string {
	states := make([]string, len(p.Turns))
	for i := range p.Turns {
		states[i] = p.Turns[i].State
	}
	return states
}
