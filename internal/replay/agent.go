package replay

import (
	"context"
	"maps"
	"slices"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/flow"
)

// Agent is what a session is replayed against. Implementations are safe for concurrent use.
type Agent interface {
	// Open begins a conversation that touches no other one, nor anything of production (S4.18).
	Open(ctx context.Context, at Moment) (Conversation, error)
	// Asks says what the user is asked for in a state: a field, or a set of options, in a form that can be compared. It is empty where the
	// agent does not know the state, or asks for nothing in particular.
	Asks(state string) string
}

// Moment is where in a session a conversation begins.
type Moment struct {
	SessionID string
	// State is the logged state before the next message.
	State string
	// Resumed puts the agent into State, with History behind it. Else the conversation begins anew, and State is the one in which the
	// session began.
	Resumed bool
	// History are the logged messages before this moment.
	History []Said
	// Known is what the agent has collected at former moments of the session, as its answers said; nil when nothing.
	Known map[string]any
}

// Conversation is one with an agent, used by one goroutine at a time.
type Conversation interface {
	// State is where the conversation stands.
	State() string
	// Say takes one turn.
	Say(ctx context.Context, text string) (Answer, error)
}

// Answer is what an agent says in a turn.
type Answer struct {
	Text      string
	State     string
	Completed bool
	// Data is all that the agent has collected so far; nil when it keeps nothing.
	Data   map[string]any
	Tokens int
	Cost   chat.Cost
}

// NotThereError says that an agent cannot be put into a state, as its flow has no such state or ends there.
type NotThereError struct{ State, Why string }

func (e *NotThereError) Error() string {
	return "the conversation cannot go on in state " + e.State + ": " + e.Why
}

// FlowAgent replays against a flow in this process. It is safe for concurrent use.
type FlowAgent struct {
	Engine *flow.Engine
	Flow   *flow.Flow
	// Pipeline turns stages of the memory on and off; nil leaves them all on.
	Pipeline *flow.MemoryPipeline
	// KnowledgeBases are those that the flow may search, Limits those of its turns.
	KnowledgeBases []string
	Limits         flow.Limits
}

var _ Agent = (*FlowAgent)(nil)

// Open begins at the flow's start (S4.13), or behind it: in a log of this flow the first state is a target of its start node when the agent
// greets before the user says anything.
func (a *FlowAgent) Open(_ context.Context, at Moment) (Conversation, error) {
	seed := flow.Seed{ConversationID: "replay/" + at.SessionID, Pipeline: a.Pipeline, KnowledgeBases: a.KnowledgeBases, Limits: a.Limits}
	switch {
	case at.Resumed:
		n, why := a.stand(at.State)
		if why != "" {
			return nil, &NotThereError{at.State, why}
		}
		seed.Node, seed.History, seed.Memory.Facts = n.ID, historyOf(at.History), factsOf(at.Known)
	default:
		if n, ok := a.node(at.State); ok && a.behindStart(n) {
			seed.Node = n.ID
		}
	}
	session, err := a.Engine.Begin(a.Flow, seed)
	if err != nil {
		return nil, err
	}
	return &flowConversation{session}, nil
}

// node finds the node that stands for a logged state.
func (a *FlowAgent) node(state string) (*flow.Node, bool) {
	if n, ok := a.Flow.Node(state); ok {
		return n, true
	}
	return a.Flow.Node(flow.NodeID(state))
}

// stand returns the node at which a conversation can go on, or why there is none.
func (a *FlowAgent) stand(state string) (n *flow.Node, why string) {
	switch n, ok := a.node(state); {
	case !ok:
		return nil, "the flow has none of that name"
	case n.Ends():
		return nil, "the flow ends there"
	default:
		return n, ""
	}
}

func (a *FlowAgent) behindStart(n *flow.Node) bool {
	return a.Flow.Start.Type == flow.Start && !n.Ends() &&
		slices.ContainsFunc(a.Flow.Start.Options, func(o *flow.Option) bool { return o.Next == n })
}

// maxHistory is how many messages a conversation that is resumed remembers: far more than the window that a model sees.
const maxHistory = 1_000

func historyOf(said []Said) []flow.Message {
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

// Asks names the field that a state fills, or else the options that it offers.
func (a *FlowAgent) Asks(state string) string {
	n, ok := a.node(state)
	switch {
	case !ok, n.Ends():
		return ""
	case n.State != nil && n.State.Field != "":
		return "field " + n.State.Field
	}
	targets := make([]string, 0, len(n.Options))
	for _, o := range n.Options {
		targets = append(targets, o.Label+" → "+o.Target())
	}
	slices.Sort(targets)
	return strings.Join(targets, "\n")
}

// flowConversation is a conversation along a flow.
type flowConversation struct{ session *flow.Session }

func (c *flowConversation) State() string { return c.session.Context().CurrentNodeID }

func (c *flowConversation) Say(ctx context.Context, text string) (Answer, error) {
	r, err := c.session.Say(ctx, text, flow.Options{})
	if err != nil {
		return Answer{}, err
	}
	return Answer{
		Text: r.AssistantMessage, State: c.State(), Completed: r.FlowCompleted, Data: collected(r.Memory),
		Tokens: r.Usage.PromptTokens + r.Usage.CompletionTokens, Cost: r.Usage.Cost,
	}, nil
}

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

func collected(m flow.Memory) map[string]any {
	if len(m.Facts) == 0 {
		return nil
	}
	data := make(map[string]any, len(m.Facts))
	for _, f := range m.Facts {
		if !f.Deleted {
			data[f.Key] = f.Value
		}
	}
	return data
}
