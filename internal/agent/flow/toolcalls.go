package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// maxCalls bounds how many tools a model may call in one message.
const maxCalls = 32

// run carries out the calls of one message and appends them and their results to the conversation. process_node goes
// first, because the answer depends on it; the others run concurrently. The trace keeps the order of the calls.
func (t *turn) run(ctx context.Context, reply chat.Reply, iteration int) {
	calls := answerable(reply.ToolCalls, iteration)
	t.messages = append(t.messages, chat.Message{
		Role: chat.Assistant, Content: chat.Content{Text: reply.Text}, ToolCalls: calls,
	})
	traces := make([]ToolTrace, len(calls))
	var side sync.WaitGroup
	for _, moving := range []bool{true, false} {
		for i, call := range reply.ToolCalls { // with the arguments as the model wrote them
			if (call.Name == ProcessNode) != moving {
				continue
			}
			traces[i] = ToolTrace{ID: calls[i].ID, Iteration: iteration, Name: call.Name, Args: calls[i].Args}
			if moving {
				t.timed(&traces[i], func() (any, error) { return t.move(ctx, call) })
				continue
			}
			stub, missing := t.stubbed(call.Name) // in the order of the calls
			if i >= maxCalls {
				traces[i].fill(nil, fmt.Errorf("more than %d calls in one message", maxCalls))
				continue
			}
			side.Go(func() {
				t.timed(&traces[i], func() (any, error) { return t.use(ctx, call, stub, missing) })
			})
		}
	}
	side.Wait()
	for i := range traces {
		t.record(traces[i])
		t.messages = append(t.messages, chat.Message{
			Role: chat.Tool, Content: chat.Content{Text: string(traces[i].Result)}, ToolCallID: calls[i].ID,
		})
	}
	t.flushNotes()
}

// answerable returns the calls in a form that servers accept together with results: they refuse calls without an ID,
// two calls with the same ID, and arguments that are not a JSON object.
func answerable(calls []chat.ToolCall, iteration int) []chat.ToolCall {
	calls = slices.Clone(calls)
	taken := make(map[string]bool, len(calls))
	for i := range calls {
		if calls[i].ID == "" || taken[calls[i].ID] {
			calls[i].ID = fmt.Sprintf("call_%d_%d", iteration, i+1)
		}
		taken[calls[i].ID] = true
		calls[i].Args = object(calls[i].Args)
	}
	return calls
}

// record adds a trace and sends it to the sink.
func (t *turn) record(trace ToolTrace) {
	if trace.Error != nil && trace.Name != ProcessNode {
		if offered(t.tools, trace.Name) {
			t.warn(ToolFailed)
		} else {
			t.warn(UnknownTool)
		}
	}
	t.trace = append(t.trace, trace)
	if t.options.Sink != nil {
		t.options.Sink(Event{Tool: &trace})
	}
}

// timed fills a trace with the result and the duration of f.
func (t *turn) timed(trace *ToolTrace, f func() (any, error)) {
	start := t.Now()
	result, err := safely(f)
	trace.LatencyMS = float64(t.Now().Sub(start).Microseconds()) / 1000
	trace.fill(result, err)
}

// safely turns a panic of a tool into an error: tools call code that is not the engine's.
func safely(f func() (any, error)) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, fmt.Errorf("the tool broke down: %v", r)
		}
	}()
	return f()
}

func (trace *ToolTrace) fill(result any, err error) {
	if err != nil {
		message := err.Error()
		trace.Error = &message
		if result == nil {
			result = toolError{message}
		}
	}
	trace.Result = compact(result)
}

// maxInvalid is the number of invalid calls of process_node after which the turn stays.
const maxInvalid = 2

// move carries out a call of process_node. The first valid call of the turn counts.
func (t *turn) move(ctx context.Context, call chat.ToolCall) (any, error) {
	if t.decided {
		if t.invalid < maxInvalid {
			t.warn(SecondTransition)
		}
		return nil, fmt.Errorf("already processed in this turn; answer the user now")
	}
	s, wrong := choose(t.node, t.offer.options, call.Args)
	if wrong == nil && s.kind == Stayed {
		s = t.stay()
	}
	if wrong == nil && s.option != nil {
		var problem string
		if s, problem = t.follow(ctx, s.option); problem != "" {
			return t.refuseModel(problem), nil
		}
	}
	if wrong == nil {
		t.setStep(s)
		return t.outcome(s), nil
	}
	t.invalid++
	if t.invalid == maxInvalid {
		t.setStep(t.stay())
		t.warn(InvalidTransition)
		wrong.Instructions = t.fill(instructions(t.step))
	}
	return wrong, fmt.Errorf("%s", wrong.Error)
}

// use carries out a call of any other tool, or gives the result or the error of its stub.
func (t *turn) use(ctx context.Context, call chat.ToolCall, stub json.RawMessage, missing error) (any, error) {
	tool := slices.IndexFunc(t.node.tools, func(r *Remote) bool { return r.Name == call.Name })
	stubs := tool >= 0 || call.Name == searchKnowledge && len(t.in.KnowledgeBases) > 0
	switch {
	case stubs && missing == nil:
		return stub, nil
	case stubs && !errors.Is(missing, errNoStub):
		return nil, missing
	case tool >= 0:
		return t.useTool(ctx, t.node.tools[tool], call.Args)
	case call.Name == fullHistory:
		return searchHistory(t.history, call.Args)
	case call.Name == searchKnowledge && len(t.in.KnowledgeBases) > 0:
		return search(ctx, t.Knowledge, t.in.KnowledgeBases, call.Args)
	}
	return nil, fmt.Errorf("there is no tool %q; there are: %s", clip(call.Name, 100), toolNames(t.tools))
}

// object returns arguments as a JSON object, which a trace always contains.
func object(args json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(args)
	switch {
	case len(trimmed) == 0:
		return json.RawMessage("{}")
	case trimmed[0] == '{' && json.Valid(trimmed):
		return trimmed
	}
	raw := string(args)
	var text string
	if json.Unmarshal(trimmed, &text) == nil { // it was put into quotes on its way here
		raw = text
	}
	return compact(map[string]string{"_raw": clip(raw, 2000)})
}
