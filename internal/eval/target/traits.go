package target

import (
	"encoding/json"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// Traits are what a replay needs to know of an agent. The zero value is that of an agent that tells its replies and
// nothing else.
type Traits struct {
	// States is true of an agent that says in what state a conversation stands, Ends of one that says when a
	// conversation is over.
	States, Ends bool
	// Resumes is true of an agent that can be told what was said before, so that a conversation can begin in its
	// middle.
	Resumes bool
	// Flow is true of an agent that follows a flow: its state is a node, and its conversations begin at any node.
	Flow bool
}

// TraitsOf returns the traits of a target by its kind, and by what its configuration finds in an answer.
func TraitsOf(t config.Target) Traits {
	switch o := t.Options.(type) {
	case FlowConfig, ExecuteConfig:
		return Traits{States: true, Ends: true, Resumes: true, Flow: true}
	case SiteConfig:
		return Traits{States: true, Resumes: true}
	case ModelConfig:
		return Traits{Resumes: true}
	case HTTPConfig:
		return Traits{States: o.answer.Node != nil, Ends: o.answer.End != nil, Resumes: resumes(o.turn.names())}
	case CommandConfig:
		return Traits{States: o.answer.Node != nil, Ends: o.answer.End != nil, Resumes: resumes(o.placeholders())}
	case WebsocketConfig:
		return Traits{States: o.answer.Node != nil, Ends: o.answer.End != nil, Resumes: resumes(o.placeholders())}
	}
	return Traits{}
}

// AcceptsFlow reports whether `flow:` is missing from a target: it tells states, and nothing says what they ask for.
func AcceptsFlow(t config.Target) bool {
	return slices.Contains(followers, t.Kind) && t.Follows == nil && (TraitsOf(t).States || t.StateOf != "")
}

// resumes reports whether one of the placeholders of a request stands for what was said before.
func resumes(placeholders []string) bool {
	return slices.ContainsFunc(placeholders, func(name string) bool {
		return name == "messages" || name == "history" || name == "messages_parts"
	})
}

// FlowStand is where a flow stands after a turn, and the facts that it has learned.
type FlowStand struct {
	// Node is empty when the turn left the conversation where it was.
	Node  string
	Facts []flow.Fact
}

// FlowStandOf returns where a flow stands after a reply, which came from a target whose traits have Flow.
func FlowStandOf(r chat.Reply) (FlowStand, error) {
	var state struct {
		Current *string `json:"current_node_id"`
		Memory  struct {
			Facts []flow.Fact `json:"facts"`
		} `json:"memory"`
	}
	if err := json.Unmarshal(r.State, &state); err != nil {
		return FlowStand{}, err
	}
	s := FlowStand{Facts: state.Memory.Facts}
	if state.Current != nil {
		s.Node = *state.Current
	}
	return s, nil
}
