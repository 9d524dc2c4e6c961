package replay

import (
	"time"

	"rehearse/internal/stats"
)

// Mode is how a session is replayed (replay.md section 3).
type Mode string

// The modes.
const (
	// Recorded says the logged messages in their order, until the flow completes.
	Recorded Mode = "recorded"
	// Forced puts the agent into the logged state, with the logged history, before each message.
	Forced Mode = "forced"
	// Simulated is Recorded until a message does not fit any more; from there a simulated user goes on.
	Simulated Mode = "simulated"
)

// Modes lists the modes.
var Modes = []Mode{Recorded, Forced, Simulated}

// Observed is the lane of what was logged, beside Baseline and Candidate.
const Observed = "observed"

// Lane is a session as it went in one lane.
type Lane struct {
	Name      string         `json:"lane"`
	Completed bool           `json:"completed"`
	Turns     []LaneTurn     `json:"turns"`
	Data      map[string]any `json:"data_collected,omitempty"`
	// Metrics compare the lane with the observed one, which has none.
	Metrics *Metrics `json:"metrics,omitempty"`
	// Alignment lines up the lane's turns with the observed ones, whose indexes are called original, by their states; nil where they are too many.
	Alignment []stats.Aligned `json:"alignment,omitempty"`
}

// LaneTurn is one message of the user's and the answer to it.
type LaneTurn struct {
	// Number is the turn's number in the log, from 1; those of a simulated user go on from there.
	Number int    `json:"turn_number"`
	User   string `json:"user"`
	Bot    string `json:"bot"`
	// Before and State are the states around the turn.
	Before     string `json:"before"`
	State      string `json:"state"`
	Transition bool   `json:"state_transition"`
	// Supported is whether the message answers what was asked; see Support.
	Supported bool `json:"supported"`
	// Invented is true for the messages of a simulated user.
	Invented  bool      `json:"simulated,omitempty"`
	LatencyMS *float64  `json:"latency_ms"`
	Tokens    int       `json:"tokens,omitempty"`
	CostUSD   float64   `json:"cost_usd,omitempty"`
	Started   time.Time `json:"started_at"`
	Ended     time.Time `json:"ended_at"`
}

// Pair is a session in all of its lanes: what happened, and what the baseline, if there is one, and the candidate made of it.
type Pair struct {
	SessionID string `json:"session_id"`
	FlowID    string `json:"flow_id"`
	Mode      Mode   `json:"mode"`
	// Outcome is how the session ended: completed, dropped or unknown.
	Outcome string    `json:"outcome"`
	Started time.Time `json:"started_at"`
	Lanes   []Lane    `json:"lanes"`
	// Dropped says why the session does not count, and in which lane it went wrong; empty when it counts.
	Dropped string `json:"dropped,omitempty"`
}

// Lane returns the lane of that name, nil when there is none.
func (p *Pair) Lane(name string) *Lane {
	for i := range p.Lanes {
		if p.Lanes[i].Name == name {
			return &p.Lanes[i]
		}
	}
	return nil
}
