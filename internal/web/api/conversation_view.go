package api

import (
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

// standing says where in its flow a conversation is.
type standing struct {
	ConversationID string        `json:"conversation_id"`
	FlowID         string        `json:"flow_id"`
	State          string        `json:"state"`
	FlowCompleted  bool          `json:"flow_completed"`
	QuickReplies   []string      `json:"quick_replies"`
	Buttons        []flow.Button `json:"buttons"`
	// Progress is the progress of the present state, from 0 to 1, if the flow has it.
	Progress *float64 `json:"progress,omitempty"`
	// DataCollected are the live facts.
	DataCollected map[string]string `json:"data_collected"`
	TurnNumber    int               `json:"turn_number"`
}

func standingOf(c *conversation, at flow.Context, completed bool) standing {
	s := standing{
		ConversationID: c.id, FlowID: c.flow.ID, State: at.CurrentNodeID, FlowCompleted: completed,
		QuickReplies: []string{}, Buttons: []flow.Button{}, DataCollected: map[string]string{},
		TurnNumber: at.Memory.TurnIndex,
	}
	for _, fact := range at.Memory.Facts {
		if !fact.Deleted {
			s.DataCollected[fact.Key] = fact.Value
		}
	}
	node, ok := c.flow.Node(at.CurrentNodeID)
	if !ok || node.State == nil {
		return s
	}
	s.QuickReplies = append(s.QuickReplies, node.State.QuickReplies...)
	s.Buttons = append(s.Buttons, node.State.Buttons...)
	if node.State.Progress >= 0 {
		s.Progress = &node.State.Progress
	}
	return s
}

// openingView is a conversation at its beginning.
type openingView struct {
	standing
	// Message is the message of a state machine's first state, unless a model speaks there. It is empty for a node
	// flow, which waits for the user.
	Message string `json:"message"`
}

// opening shows a conversation that has just begun.
func opening(c *conversation) openingView {
	at := c.seed.Node
	if at == "" {
		at = c.flow.Start.ID
	}
	v := openingView{standing: standingOf(c, flow.Context{CurrentNodeID: at, Memory: c.seed.Memory}, false)}
	if node, ok := c.flow.Node(at); ok && node.State != nil && node.State.Type != flow.AIResponse {
		v.Message = node.Prompt
	}
	return v
}

// replyView is the outcome of a turn of a kept conversation.
type replyView struct {
	standing
	Response      string `json:"response"`
	PreviousState string `json:"previous_state"`
	// StateTransition is false when the conversation stayed in its state.
	StateTransition bool             `json:"state_transition"`
	NextState       *string          `json:"next_state"`
	Metrics         flow.Usage       `json:"metrics"`
	ToolCalls       []flow.ToolTrace `json:"tool_calls"`
	Warnings        []flow.Warning   `json:"warnings"`
	TraceID         string           `json:"trace_id"`
}

func replyOf(c *conversation, r *flow.Result) *replyView {
	return &replyView{
		standing: standingOf(c, c.session.Context(), r.FlowCompleted), Response: r.AssistantMessage,
		PreviousState: r.PreviousNodeID, StateTransition: r.Transition.Kind != flow.Stayed, NextState: r.NextNodeID,
		Metrics: r.Usage, ToolCalls: r.ToolCalls, Warnings: r.Warnings, TraceID: r.TraceID,
	}
}

// transcriptView is a conversation with its messages and its facts.
type transcriptView struct {
	standing
	FlowVersion string         `json:"flow_version"`
	History     []flow.Message `json:"history"`
	Memory      flow.Memory    `json:"memory"`
	BegunAt     time.Time      `json:"begun_at"`
	LastUsedAt  time.Time      `json:"last_used_at"`
}

func transcript(c *conversation) transcriptView {
	state := c.session.Context()
	return transcriptView{
		standing: standingOf(c, state, c.session.Completed()), FlowVersion: c.flow.Version,
		History: append([]flow.Message{}, state.History...), Memory: state.Memory, BegunAt: c.begun.UTC(),
		LastUsedAt: c.used.UTC(),
	}
}
