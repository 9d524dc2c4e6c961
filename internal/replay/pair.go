package replay

import (
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
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

// Variation is a session as it went in one lane.
type Variation struct {
	Name      string `json:"lane"`
	Completed bool   `json:"completed"`
	// Error says why the lane failed, which loses the pair; empty when it did not.
	Error string `json:"error,omitempty"`
	// Censored is true when it is not known whether the conversation would have completed: the logged one did, and the
	// agent still waits for an answer that the log does not have.
	Censored bool            `json:"censored,omitempty"`
	Turns    []VariationTurn `json:"turns"`
	Data     map[string]any  `json:"data_collected,omitempty"`
	// NoStates is true of an agent that does not say in what state a conversation stands, Endless of one that cannot
	// complete any, NoData of one that does not say what it has collected.
	NoStates bool `json:"no_states,omitempty"`
	Endless  bool `json:"endless,omitempty"`
	NoData   bool `json:"no_data,omitempty"`
	// Verdict is that of the run's assertions; empty where it has none.
	Verdict result.Verdict `json:"verdict,omitempty"`
	// Metrics compare the lane with the observed one, which has none.
	Metrics *Metrics `json:"metrics,omitempty"`
	// Alignment lines up the lane's turns with the observed ones, whose indexes are called original, by their states;
	// nil where they are too many.
	Alignment []stats.Aligned `json:"alignment,omitempty"`
}

// VariationTurn is one message of the user's and the answer to it.
type VariationTurn struct {
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
	// Untaken is true of a turn in forced mode that the agent could not take.
	Untaken bool `json:"untaken,omitempty"`
	// Invented is true for the messages of a simulated user.
	Invented  bool     `json:"simulated,omitempty"`
	LatencyMS *float64 `json:"latency_ms"`
	// Similarity is how like the logged reply this one is, by its words, from 0 to 1; nil where none was logged.
	Similarity *float64 `json:"reply_similarity,omitempty"`
	// ToolCalls counts the calls of tools in the answer.
	ToolCalls int `json:"tool_calls,omitempty"`
	Tokens    int `json:"tokens,omitempty"`
	// Uncounted is true when the agent did not say how many tokens it took.
	Uncounted bool      `json:"tokens_unknown,omitempty"`
	Cost      chat.Cost `json:"cost_usd,omitzero"`
	Started   time.Time `json:"started_at"`
	Ended     time.Time `json:"ended_at"`
}

// Pair is a session in all of its lanes: what happened, and what the baseline, if there is one, and the candidate made
// of it.
type Pair struct {
	SessionID string `json:"session_id"`
	FlowID    string `json:"flow_id"`
	UnitID    string `json:"unit_id,omitempty"`
	Mode      Mode   `json:"mode"`
	// Outcome is how the session ended: completed, dropped or unknown.
	Outcome string    `json:"outcome"`
	Started time.Time `json:"started_at"`
	// Slices are the values of the fields by which sessions are sliced.
	Slices map[string]string `json:"slices,omitempty"`
	// Preference is the judge's verdict on the replies; nil without a judge.
	Preference *Preference `json:"preference,omitempty"`
	// FirstVariant is the one that was replayed first; empty without a baseline.
	FirstVariant string      `json:"first_lane,omitempty"`
	Variations   []Variation `json:"lanes"`
	// Repeat is which time this is, from 1, where sessions are replayed several times. Again are the other times,
	// beside the first; an Outcome keeps them.
	Repeat int     `json:"repeat,omitempty"`
	Again  []*Pair `json:"-"`
	// Dropped says why the session does not count, and in which lane it went wrong; empty when it counts.
	Dropped string `json:"dropped,omitempty"`
}

// Times are the pair and the other times that its session was replayed.
func (p *Pair) Times() []*Pair { return append([]*Pair{p}, p.Again...) }

// Variation returns the lane of that name, nil when there is none.
func (p *Pair) Variation(name string) *Variation {
	for i := range p.Variations {
		if p.Variations[i].Name == name {
			return &p.Variations[i]
		}
	}
	return nil
}

// How a session ended.
const (
	EndCompleted = "completed"
	EndDropped   = "dropped"
	EndUnknown   = "unknown"
)

// Outcome says how the session ended.
func (s *Session) Outcome() string {
	switch {
	case s.Completed:
		return EndCompleted
	case s.Dropped:
		return EndDropped
	}
	return EndUnknown
}

// observe returns the lane of what was logged. What the bot said before the user's first message belongs to no turn.
func observe(s *Session) Variation {
	lane := Variation{Name: Observed, Completed: s.Completed, Data: s.Data, Turns: make([]VariationTurn, 0, s.Turns())}
	for i := range s.Messages {
		m := &s.Messages[i]
		last := len(lane.Turns) - 1
		switch {
		case m.User:
			lane.Turns = append(lane.Turns, VariationTurn{
				Number: last + 2, User: m.Text, Before: m.Before, State: m.After, Transition: m.Before != m.After,
				Supported: true, Started: m.At, Ended: m.At,
			})
		case last >= 0:
			t := &lane.Turns[last]
			t.Bot = joined(t.Bot, m.Text)
			t.Ended = m.At
			if t.LatencyMS == nil {
				t.LatencyMS = m.LatencyMS
			}
		}
	}
	return lane
}

func joined(said, more string) string {
	if said == "" {
		return more
	}
	return said + "\n" + more
}

// places are the indexes of the user's messages.
func (s *Session) places() []int {
	at := make([]int, 0, len(s.Messages))
	for i := range s.Messages {
		if s.Messages[i].User {
			at = append(at, i)
		}
	}
	return at
}

// lastReplyBefore returns what the bot said last before a message.
func (s *Session) lastReplyBefore(at int) string {
	var said []string
	for i := at - 1; i >= 0 && !s.Messages[i].User; i-- {
		said = append([]string{s.Messages[i].Text}, said...)
	}
	return strings.Join(said, "\n")
}

// supported reports whether the logged message of turn i answers what the agent has asked for: it stands in the logged
// state, asks for the same field, options or marker, or has just said the same words; the first message answers nothing
// where the agent, or the log, has told no state. A message that answers another question says nothing of the agent
// (X24). In forced mode the agent was put where the message was said.
func (p *player) supported(i int, state string) bool {
	was := p.observed[i].Before
	switch {
	case p.replayer.Mode == Forced, state == was && state != "", i == 0 && (state == "" || was == ""):
		return true
	case p.agent.RequestedField(state) != "" && p.agent.RequestedField(state) == p.agent.RequestedField(was):
		return true
	case i == 0:
		return false
	}
	before := p.observed[i-1].Bot
	if marks := marker.Of(p.asked); marks != (marker.Marks{}) && marks == marker.Of(before) {
		return true
	}
	said := plainWords(p.asked)
	return said != "" && said == plainWords(before)
}

// plainWords makes texts equal that differ in case and white space only.
func plainWords(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// supportedTurns is how many turns a lane was on the log's path: from the beginning, or all those that could be taken
// in forced mode.
func supportedTurns(l *Variation) int {
	n := 0
	for i := range l.Turns {
		if l.Turns[i].Supported {
			n++
		}
	}
	return n
}
