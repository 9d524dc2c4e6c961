package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Flow is a flow that the built-in engine runs, as a target. A test may give the node and the memory with which it
// begins. A flow has its own system prompt, so system messages of a suite's input are left out. Earlier turns become
// its history.
type Flow struct {
	Engine *flow.Engine
	Flow   *flow.Flow
	FlowSettings
	Turns
}

var _ runner.Target = (*Flow)(nil)

// Open begins a conversation at the node and with the memory that the test gives.
func (f *Flow) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	if err := withoutFields(o.Test, "flow"); err != nil {
		return nil, err
	}
	memory, err := seededMemory(o.Test)
	if err != nil {
		return nil, err
	}
	said, err := before(o.Test)
	if err != nil {
		return nil, err
	}
	session, err := f.Engine.Begin(f.Flow, flow.Seed{
		Node: o.Test.Start.Node, Memory: memory, History: flowHistory(said),
		ConversationID: conversationID(o), TestCaseID: o.Test.ID,
		Stubs: stubsOf(o.Test.Stubs), KnowledgeBases: f.KnowledgeBases, Pipeline: f.Pipeline, Limits: f.Limits,
		Model: modelParams(o.Test.Sampling),
	})
	if err != nil {
		return nil, err
	}
	return &flowSession{Flow: f, earlier: said, session: session, turns: o.Test.Turns}, nil
}

func seededMemory(t *suite.Test) (flow.Memory, error) {
	var memory flow.Memory
	if len(t.Start.Memory) == 0 {
		return memory, nil
	}
	if err := json.Unmarshal(t.Start.Memory, &memory); err != nil {
		return flow.Memory{}, fmt.Errorf("the memory of test %s: %w", t.ID, err)
	}
	return memory, nil
}

// flowHistory returns the messages before the first turn in the form of a flow's history.
func flowHistory(input []chat.Message) []flow.Message {
	var history []flow.Message
	for _, m := range input {
		if m.Role == chat.User || m.Role == chat.Assistant {
			history = append(history, flow.Message{Role: m.Role, Content: m.Content.String()})
		}
	}
	return history
}

func conversationID(o runner.Opening) string {
	if o.Trial > 0 {
		return fmt.Sprintf("%s/%s/%d", o.Test.Suite, o.Test.ID, o.Trial)
	}
	return o.Test.Suite + "/" + o.Test.ID
}

func modelParams(s *suite.Sampling) *flow.ModelParams {
	if s == nil {
		return nil
	}
	return &flow.ModelParams{Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed}
}

type flowSession struct {
	*Flow
	earlier
	session *flow.Session
	// turns are those of the test that are still to come.
	turns []suite.Turn
}

// stubsOf returns stubs of a test as those of a flow.
func stubsOf(stubs suite.Stubs) flow.Stubs {
	if len(stubs) == 0 {
		return nil
	}
	all := make(flow.Stubs, len(stubs))
	for name, list := range stubs {
		for _, s := range list {
			all[name] = append(all[name], flow.Stub(s))
		}
	}
	return all
}

// turnStubs returns the stubs of the next turn.
func turnStubs(turns []suite.Turn) flow.Stubs {
	if len(turns) == 0 {
		return nil
	}
	return stubsOf(turns[0].Stubs)
}

// Send takes one turn of the flow. After an error, the reply still has the usage of the turn.
func (s *flowSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	return s.take(ctx, "flow", "flow "+s.Flow.Flow.ID, func(ctx context.Context) (chat.Reply, error) {
		r, err := s.session.Send(ctx, message.String(), flow.Options{
			TraceID: trace.IDOf(ctx), Stubs: turnStubs(s.turns),
		})
		if failed, ok := errors.AsType[*flow.Error](err); ok {
			return flowUse(failed.Usage), err
		}
		if err != nil {
			return chat.Reply{}, err
		}
		s.turns = s.turns[min(1, len(s.turns)):]
		if r.Memory.Facts == nil {
			// A seed may have no facts. Graders could not tell its JSON from a memory that does not show them.
			r.Memory = flow.Memory{TurnIndex: r.Memory.TurnIndex, Summary: r.Memory.Summary}
		}
		reply, err := flowReply(r, r.Memory)
		remembered(ctx, reply.State)
		return reply, err
	})
}

// Close does nothing: the engine keeps no state.
func (s *flowSession) Close() error { return nil }

// flowState is the part of a result that graders see after a turn: everything but the conversation itself.
type flowState struct {
	PreviousNodeID     string           `json:"previous_node_id"`
	CurrentNodeID      *string          `json:"current_node_id"`
	NextNodeID         *string          `json:"next_node_id"`
	Transition         flow.Transition  `json:"transition"`
	NextNodeDescriptor *flow.Descriptor `json:"next_node_descriptor"`
	FlowCompleted      bool             `json:"flow_completed"`
	Memory             any              `json:"memory"`
	MemoryDelta        flow.MemoryDelta `json:"memory_delta"`
	Warnings           []flow.Warning   `json:"warnings"`
	Usage              flow.Usage       `json:"usage"`
}

// flowUse returns a reply that has nothing but the usage of a flow's turn.
func flowUse(u flow.Usage) chat.Reply {
	return chat.Reply{
		Usage: chat.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, Unknown: u.Unknown},
		Cost:  u.Cost, Attempts: u.Attempts,
	}
}

// remembered gathers what a turn changed in the memory; nothing where it changed nothing.
func remembered(ctx context.Context, state json.RawMessage) {
	if !collect.Conversing(ctx) {
		return
	}
	var changed struct {
		Delta map[string]json.RawMessage `json:"memory_delta"`
	}
	if json.Unmarshal(state, &changed) != nil {
		return
	}
	maps.DeleteFunc(changed.Delta, func(_ string, of json.RawMessage) bool {
		return slices.Contains([]string{"null", "[]", "{}"}, string(of))
	})
	if len(changed.Delta) == 0 {
		return
	}
	collect.Put(ctx, collect.MemoryDelta, func() []byte {
		data, _ := json.Marshal(changed.Delta) // it was JSON
		return data
	})
}

// flowReply returns a turn of a flow as a target's reply. memory is that of the result, or the engine's own JSON: what
// an engine does not report stays unknown to graders.
func flowReply(r *flow.Result, memory any) (chat.Reply, error) {
	reply := flowUse(r.Usage)
	reply.Text, reply.TraceID, reply.Ended = r.AssistantMessage, r.TraceID, r.FlowCompleted
	if r.NextNodeID != nil {
		reply.Node = *r.NextNodeID
	}
	for _, call := range r.ToolCalls {
		reply.ToolCalls = append(reply.ToolCalls, chat.ToolCall{
			ID: call.ID, Name: call.Name, Args: call.Args, Result: call.Result, LatencyMS: call.LatencyMS,
		})
	}
	var err error
	reply.State, err = json.Marshal(flowState{
		PreviousNodeID: r.PreviousNodeID, CurrentNodeID: r.CurrentNodeID, NextNodeID: r.NextNodeID,
		Transition: r.Transition, NextNodeDescriptor: r.NextNodeDescriptor, FlowCompleted: r.FlowCompleted,
		Memory: memory, MemoryDelta: r.MemoryDelta, Warnings: r.Warnings, Usage: r.Usage,
	})
	return reply, err
}
