package replay

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// TargetAgent replays against a target of any kind. It is safe for concurrent use.
type TargetAgent struct {
	Target runner.Target
	Traits target.Traits
	// Nodes are those of a target that follows a flow, its own or one that it is said to follow; nil of any other one,
	// and where only a server knows them.
	Nodes *Nodes
	// Start is the node at which its configuration begins a flow; empty is the flow's own.
	Start string
	// Completion says what its answers come to.
	Completion Completion
}

var (
	_ Agent    = (*TargetAgent)(nil)
	_ Reticent = (*TargetAgent)(nil)
)

// Reports reports what the target and its rules tell.
func (a *TargetAgent) Reports() (states, completion, data bool) {
	states, completion = a.Traits.States || a.Completion.state != nil, a.Traits.Ends || a.Completion.decides()
	return states, completion, a.Traits.Flow || a.Completion.data != nil
}

// RequestedField names what a node of its flow asks for.
func (a *TargetAgent) RequestedField(state string) string {
	if a.Nodes == nil {
		return ""
	}
	return a.Nodes.asks(state)
}

// Open begins a conversation of its own. Its id is new, so that it is never one of production.
func (a *TargetAgent) Open(ctx context.Context, at Moment) (Conversation, error) {
	test := &suite.Test{Suite: "replay", ID: at.SessionID, Conversation: true}
	c := &targetConversation{agent: a}
	for _, said := range at.History {
		role := chat.Assistant
		if said.User {
			role = chat.User
			c.turn++
		}
		test.Input = append(test.Input, chat.NewMessage(role, said.Text))
	}
	var err error
	switch {
	case a.Traits.Flow:
		test.Input = test.Input[max(0, len(test.Input)-maxHistory):]
		err = a.place(test, at)
		c.state = test.Start.Node
	case a.Nodes != nil: // it cannot be told its node, it has only the messages; where it stands is known all the same
		c.state, err = a.Nodes.begin(at)
	}
	if err != nil {
		return nil, err
	}
	c.said = test.Input
	c.session, err = a.Target.Open(ctx, runner.Opening{Test: test, ConversationID: rand.Text()})
	if err != nil {
		return nil, err
	}
	if before, ok := c.session.(runner.Historian); ok {
		c.said = before.Earlier()
	}
	return c, nil
}

// place says at which node of its flow a test begins, and with which facts.
func (a *TargetAgent) place(test *suite.Test, at Moment) (err error) {
	switch {
	case a.Nodes == nil && at.Resumed && at.State == "":
		return &NotThereError{at.State, "the log does not say which"}
	case a.Nodes == nil && at.Resumed:
		test.Start.Node = at.State
	case a.Nodes == nil:
		test.Start.Node = a.Start
	case a.Start != "" && !at.Resumed:
		test.Start.Node = a.Start
	default:
		test.Start.Node, err = a.Nodes.begin(at)
	}
	if facts := factsOf(at.Known); err == nil && len(facts) > 0 {
		test.Start.Memory, err = json.Marshal(flow.Memory{Facts: facts})
	}
	return err
}

// targetConversation is a conversation with a target.
type targetConversation struct {
	agent   *TargetAgent
	session runner.Session
	state   string
	// said is the conversation so far, which a judge reads. reply and turn are those of the last turn.
	said  []chat.Message
	reply chat.Reply
	turn  int
}

var _ Decider = (*targetConversation)(nil)

// State is where the conversation stands; empty where the agent does not say, and until it has said it.
func (c *targetConversation) State() string { return c.state }

// Send takes one turn.
func (c *targetConversation) Send(ctx context.Context, text string) (Answer, error) {
	reply, err := c.session.Send(ctx, chat.Content{Text: text})
	if err != nil {
		return Answer{}, err
	}
	c.turn++
	c.reply = reply
	c.said = append(slices.Clip(c.said), chat.NewMessage(chat.User, text))
	a := Answer{
		Reply: reply, Completed: reply.Ended && c.agent.Traits.Ends, Ended: reply.Ended,
		ToolCalls: len(reply.ToolCalls),
	}
	if c.agent.Traits.Flow {
		stand, err := target.FlowStandOf(reply)
		if err != nil {
			return Answer{}, fmt.Errorf("read the state of a flow: %w", err)
		}
		if stand.Node != "" {
			c.state = stand.Node
		}
		a.Data, a.ToolCalls = collected(stand.Facts), 0
	} else if c.agent.Traits.States {
		c.state = reply.Node
	}
	a.State = c.state
	return a, nil
}

// Decide asks the target's own rules what the last answer comes to.
func (c *targetConversation) Decide(ctx context.Context, a Answer) (Answer, error) {
	a, err := c.agent.Completion.of(ctx, a, c)
	c.said = append(c.said, c.reply.Message())
	c.state = a.State
	return a, err
}

// Close ends the conversation.
func (c *targetConversation) Close() error { return c.session.Close() }
