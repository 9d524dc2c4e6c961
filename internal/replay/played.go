package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

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
	Number     int      `json:"turn_number"`
	State      string   `json:"state"`
	Transition bool     `json:"state_transition"`
	LatencyMS  *float64 `json:"latency_ms"`
	// CostUSD is nil where it is unknown.
	CostUSD *float64  `json:"cost_usd"`
	At      time.Time `json:"timestamp"`

	untaken bool
	// negativeLatency is true where the latency was negative; LatencyMS is then nil.
	negativeLatency bool
}

// UnmarshalJSON reads a turn. Its time has any of the forms of events, or is zero where there is none. A negative
// latency is unknown.
func (t *PlayedTurn) UnmarshalJSON(data []byte) error {
	type plain PlayedTurn
	row := struct {
		*plain
		At *string `json:"timestamp"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(data, &row); err != nil {
		return err
	}
	if t.negativeLatency = t.LatencyMS != nil && *t.LatencyMS < 0; t.negativeLatency {
		t.LatencyMS = nil
	}
	if row.At == nil {
		return nil
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
				return nil, fmt.Errorf("line %d: session %q was played by variant %q in line %d already: keep one",
					number, p.SessionID, p.Variant, at)
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

// maxTurnUSD bounds the cost of a turn, so that every sum of costs is a number.
const maxTurnUSD = 1e9

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
	for i := range p.Turns {
		problem := ""
		if c := p.Turns[i].CostUSD; c != nil && *c < 0 {
			problem = "negative"
		} else if c != nil && *c > maxTurnUSD {
			problem = "more than 1 billion"
		}
		if problem != "" {
			return p, fmt.Errorf("results[%d].cost_usd is %s: write what the turn cost, or leave it out", i, problem)
		}
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
