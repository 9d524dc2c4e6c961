package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Execute is a flow behind HTTP as a target: a server that answers POST /execute or /internal/agent/test
// with an ExecutionResult. The server keeps nothing; the session sends the whole state with every turn.
// It gives the same results as Flow does for the same flow.
type Execute struct {
	URL string
	// Flow is a reference or a whole flow, and is sent unchanged. Start is the node of tests that name none.
	Flow  flow.Source
	Start string
	FlowSettings
	// Header is sent with every request, such as an Authorization.
	Header http.Header
	// Client carries the requests.
	Client *http.Client
	// Timeout bounds one call; 0 means two minutes. Retries is how often a failed call is retried.
	Timeout time.Duration
	Retries int
	// bounds has the other bounds; MaxBytes is 64 MB by default.
	bounds Bounds
	// Limit wraps one attempt of a call with what all conversations share; nil limits nothing.
	Limit func(llm.Model) llm.Model
	// Wrap wraps the server like a model, for example in a recording; nil wraps nothing.
	Wrap func(llm.Model) llm.Model
}

var _ runner.Target = (*Execute)(nil)

// maxResult bounds the body of an answer where nothing is configured.
const maxResult = 64 << 20

// Open begins a conversation at the node and with the memory that the test gives.
func (e *Execute) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	memory, err := seededMemory(o.Test)
	if err != nil {
		return nil, err
	}
	if err := withoutFields(o.Test, "flow"); err != nil {
		return nil, err
	}
	said, err := before(o.Test)
	if err != nil {
		return nil, err
	}
	s := &executeSession{Execute: e, earlier: said, turns: o.Test.Turns, stubs: stubsOf(o.Test.Stubs)}
	s.next = executeRequest{
		Flow: e.Flow, ConversationID: conversationID(o), TestCaseID: o.Test.ID, CurrentNodeID: o.Test.Start.Node,
		MemoryPipeline: e.Pipeline, KnowledgeBases: e.KnowledgeBases, Limits: e.Limits,
		Model: modelParams(o.Test.Sampling),
	}
	if s.next.CurrentNodeID == "" {
		s.next.CurrentNodeID = e.Start
	}
	history := flowHistory(said)
	if history == nil {
		history = []flow.Message{}
	}
	if s.next.History, err = json.Marshal(history); err != nil {
		return nil, err
	}
	s.next.Memory, err = json.Marshal(memory)
	return s, err
}

// executeRequest is an ExecutionContext. Its history and memory go back to the server exactly as they came from it.
type executeRequest struct {
	Flow              flow.Source          `json:"flow"`
	ConversationID    string               `json:"conversation_id,omitempty"`
	TestCaseID        string               `json:"test_case_id,omitempty"`
	CurrentNodeID     string               `json:"current_node_id"`
	LatestUserMessage string               `json:"latest_user_message"`
	History           json.RawMessage      `json:"history"`
	Memory            json.RawMessage      `json:"memory"`
	MemoryPipeline    *flow.MemoryPipeline `json:"memory_pipeline,omitempty"`
	KnowledgeBases    []string             `json:"knowledge_bases,omitempty"`
	Model             *flow.ModelParams    `json:"model,omitempty"`
	Limits            flow.Limits          `json:"limits,omitzero"`
	Stubs             flow.Stubs           `json:"stubs,omitempty"`
}

type executeSession struct {
	*Execute
	earlier
	next executeRequest
	done bool
	// turns are those of the test that are still to come, stubs those of the test.
	turns []suite.Turn
	stubs flow.Stubs
}

// Send posts the state with the user's message and keeps the returned state.
func (s *executeSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	if s.done {
		return chat.Reply{}, &flow.Error{
			Fault: flow.Over, Message: "the flow is already completed", Hint: "remove the turns after its end",
		}
	}
	request := s.next
	request.LatestUserMessage = message.String()
	own := turnStubs(s.turns)
	request.Stubs = s.stubs.With(own)
	body, err := json.Marshal(request)
	if err != nil {
		return chat.Reply{}, err
	}
	collect.Put(ctx, collect.Prompt, func() []byte { return body })
	unknown := chat.Reply{Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}}
	answer, err := s.exchange(ctx, body)
	if err != nil {
		return unknown, err
	}
	reply, err := s.keep([]byte(answer.Text))
	if err != nil {
		return unknown, &executeError{err, answer.Attempts}
	}
	s.turns = s.turns[min(1, len(s.turns)):]
	s.stubs = s.stubs.After(called(reply.ToolCalls), own)
	reply.Latency, reply.Attempts = answer.Latency, answer.Attempts
	remembered(ctx, reply.State)
	return reply, nil
}

// called returns calls as a flow's trace has them, by their names.
func called(calls []chat.ToolCall) []flow.ToolTrace {
	traces := make([]flow.ToolTrace, len(calls))
	for i, c := range calls {
		traces[i].Name = c.Name
	}
	return traces
}

// keep reads a result and takes its state for the next request.
func (s *executeSession) keep(answer []byte) (chat.Reply, error) {
	var r flow.Result
	var state struct {
		History json.RawMessage `json:"history"`
		Memory  json.RawMessage `json:"memory"`
		Usage   *struct {
			// Cost is told by servers of this program; nil where it is not.
			Cost *float64 `json:"cost_usd"`
		} `json:"usage"`
		Message *string `json:"assistant_message"`
	}
	if err := errors.Join(json.Unmarshal(answer, &r), json.Unmarshal(answer, &state)); err != nil {
		return chat.Reply{}, fmt.Errorf("%s answered with something that is not an execution result: %w", s.at(), err)
	}
	if null(state.History) || null(state.Memory) {
		return chat.Reply{}, fmt.Errorf("%s answered without history or memory; an execution result has both", s.at())
	}
	if state.Message == nil {
		return chat.Reply{},
			fmt.Errorf("%s answered without assistant_message; an execution result has one, be it empty", s.at())
	}
	if name := lacking(answer); name != "" {
		return chat.Reply{}, fmt.Errorf("%s answered without %s; an execution result has it", s.at(), name)
	}
	reply, err := flowReply(&r, state.Memory)
	if err != nil {
		return chat.Reply{}, err
	}
	reply.Usage.Unknown = state.Usage == nil
	reply.Cost.Unknown = state.Usage == nil || r.Usage.LLMCalls > 0 // what is not told
	if state.Usage != nil && state.Usage.Cost != nil {
		reply.Cost = chat.Cost{USD: *state.Usage.Cost}
	}
	reply.Cost = s.bounds.cost(reply)
	s.next.History, s.next.Memory, s.done = state.History, state.Memory, r.FlowCompleted
	if r.CurrentNodeID != nil {
		s.next.CurrentNodeID = *r.CurrentNodeID
	}
	return reply, nil
}

// lacking names a member of a result that its schema requires and that is missing; empty for none. What is missing
// would be read as an end that did not come, or as calls that were not made. The nodes may be null.
func lacking(result []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return "members"
	}
	for _, name := range []string{"current_node_id", "next_node_id"} {
		if _, ok := members[name]; !ok {
			return name
		}
	}
	for _, name := range []string{"flow_completed", "tool_calls"} {
		if null(members[name]) {
			return name
		}
	}
	return ""
}

// null reports whether a member is missing or null.
func null(member json.RawMessage) bool { return member == nil || string(member) == "null" }

// Close does nothing: the server keeps no session.
func (s *executeSession) Close() error { return nil }

// headerSafe replaces what a header must not contain.
func headerSafe(id string) string {
	for _, r := range id {
		if r < ' ' || r > '~' {
			return strconv.QuoteToASCII(id)
		}
	}
	return id
}
