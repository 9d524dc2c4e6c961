package replay

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// FlowAgent replays against a flow in this process. It is safe for concurrent use.
type FlowAgent struct {
	Engine *flow.Engine
	Flow   *flow.Flow
	// Pipeline turns stages of the memory on and off; nil leaves them all on.
	Pipeline *flow.MemoryPipeline
	// KnowledgeBases are those that the flow may search, Limits those of its turns.
	KnowledgeBases []string
	Limits         flow.Limits

	once  sync.Once
	known *Nodes
}

var _ Agent = (*FlowAgent)(nil)

func (a *FlowAgent) nodes() *Nodes {
	a.once.Do(func() { a.known = NodesOf(a.Flow) })
	return a.known
}

// Open begins at the flow's start, or behind it: in a log of this flow the first state is a target of its start node
// when the agent greets before the user says anything.
func (a *FlowAgent) Open(_ context.Context, at Moment) (Conversation, error) {
	node, err := a.nodes().begin(at)
	if err != nil {
		return nil, err
	}
	seed := flow.Seed{
		ConversationID: "replay/" + at.SessionID, Node: node, Pipeline: a.Pipeline, KnowledgeBases: a.KnowledgeBases,
		Limits: a.Limits,
	}
	if at.Resumed {
		seed.History, seed.Memory.Facts = historyOf(at.History), factsOf(at.Known)
	}
	session, err := a.Engine.Begin(a.Flow, seed)
	if err != nil {
		return nil, err
	}
	return &flowConversation{session}, nil
}

// RequestedField names the field that a state fills, or else the options that it offers.
func (a *FlowAgent) RequestedField(state string) string { return a.nodes().asks(state) }

// maxHistory is how many messages a conversation that is resumed remembers: far more than the window that a model sees.
const maxHistory = 1_000

func historyOf(said []LoggedMessage) []flow.Message {
	said = said[max(0, len(said)-maxHistory):]
	history := make([]flow.Message, len(said))
	turn := 0
	for i, m := range said {
		role := chat.Assistant
		if m.User {
			role = chat.User
			turn++
		}
		history[i] = flow.Message{Role: role, Content: m.Text, Turn: max(turn, 1)}
	}
	return history
}

// flowConversation is a conversation along a flow.
type flowConversation struct{ session *flow.Session }

func (c *flowConversation) State() string { return c.session.Context().CurrentNodeID }

func (c *flowConversation) Send(ctx context.Context, text string) (Answer, error) {
	r, err := c.session.Send(ctx, text, flow.Options{})
	if err != nil {
		return Answer{}, err
	}
	return Answer{
		Reply: chat.Reply{
			Text: r.AssistantMessage, Node: c.State(), Cost: r.Usage.Cost, Usage: chat.Usage{
				InputTokens: r.Usage.PromptTokens, OutputTokens: r.Usage.CompletionTokens, Unknown: r.Usage.Unknown,
			},
		},
		State: c.State(), Completed: r.FlowCompleted, Ended: r.FlowCompleted, Data: collected(r.Memory.Facts),
	}, nil
}

// Close does nothing: the engine keeps no state.
func (c *flowConversation) Close() error { return nil }

// factsOf is the reverse of collected, in the order of the names.
func factsOf(data map[string]any) []flow.Fact {
	var facts []flow.Fact
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if value, ok := data[key].(string); ok {
			facts = append(facts, flow.Fact{Key: key, Value: value})
		}
	}
	return facts
}

// collected are the facts that a flow has learned; nil where it has learned none.
func collected(facts []flow.Fact) map[string]any {
	if len(facts) == 0 {
		return nil
	}
	data := make(map[string]any, len(facts))
	for _, f := range facts {
		if !f.Deleted {
			data[f.Key] = f.Value
		}
	}
	return data
}
