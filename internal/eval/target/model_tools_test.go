package target_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// toolUser answers with what its steps say, in order: a call is NAME{ARGS}, several are separated by a blank; anything
// else is a text.
type toolUser struct {
	steps             []string
	classifierRequest []llm.Request
	calls             int
}

func (c *toolUser) Generate(_ context.Context, r llm.Request) (chat.Reply, error) {
	r.Messages = slices.Clone(r.Messages)
	c.classifierRequest = append(c.classifierRequest, r)
	step := c.steps[min(len(c.classifierRequest), len(c.steps))-1]
	reply := chat.Reply{
		Usage: chat.Usage{InputTokens: 10, OutputTokens: 1}, Cost: chat.Cost{USD: 0.5}, Attempts: 2,
		FinishReason: "stop", Thread: fmt.Sprintf("t%d", len(c.classifierRequest)),
	}
	if !strings.Contains(step, "{") {
		reply.Text = step
		return reply, nil
	}
	for part := range strings.SplitSeq(step, " ") {
		c.calls++
		name, args, _ := strings.Cut(part, "{")
		reply.ToolCalls = append(reply.ToolCalls, chat.ToolCall{
			ID: fmt.Sprintf("c%d", c.calls), Name: name, Args: json.RawMessage("{" + args),
		})
	}
	reply.FinishReason = "tool_calls"
	return reply, nil
}

func toolSet(t *testing.T, text string) tool.Set {
	t.Helper()
	v, err := source.ParseYAML("tools.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	reader := &source.Reader{}
	var set tool.Set
	set.DecodeNode(reader.Node(v, ""))
	if err := reader.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	return set
}

const orderTools = `
- name: get_order
  results: [{when: {id: "1"}, result: {status: shipped}}, {when: {id: "2"}, times: 1, error: busy}]
- name: now
  results: [{result: noon}]
`

func begin(t *testing.T, m *target.Model, o runner.Opening) runner.Session {
	t.Helper()
	if o.Test == nil {
		o.Test = &suite.Test{ID: "t"}
	}
	s, err := m.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func answer(id, text string) chat.Message {
	return chat.Message{Role: chat.Tool, ToolCallID: id, Content: chat.Content{Text: text}}
}

// Each call is answered by one message, in order, until the model calls no more; the turn has all calls with their
// results, and what all requests have used.
func TestModelTools(t *testing.T) {
	model := &toolUser{steps: []string{
		`get_order{"id":"1"} now{}`, `teleport{} get_order{"id":"2"}`, "Shipped at noon.",
	}}
	s := begin(t, &target.Model{Model: model, Tools: toolSet(t, orderTools)}, runner.Opening{})
	got, err := s.Send(t.Context(), chat.Content{Text: "Where is it?"})
	if err != nil {
		t.Fatal(err)
	}
	want := chat.Reply{
		Text: "Shipped at noon.", FinishReason: "stop", Requests: 3, Attempts: 6,
		Usage: chat.Usage{InputTokens: 30, OutputTokens: 3}, Cost: chat.Cost{USD: 1.5},
		ToolCalls: []chat.ToolCall{
			{
				ID: "c1", Name: "get_order", Args: json.RawMessage(`{"id":"1"}`),
				Result: json.RawMessage(`{"status":"shipped"}`),
			},
			{ID: "c2", Name: "now", Args: json.RawMessage(`{}`), Result: json.RawMessage(`"noon"`)},
			{
				ID: "c3", Name: "teleport", Args: json.RawMessage(`{}`),
				Result: json.RawMessage(`{"error":"unknown tool \"teleport\""}`),
			},
			{
				ID: "c4", Name: "get_order", Args: json.RawMessage(`{"id":"2"}`),
				Result: json.RawMessage(`{"error":"busy"}`),
			},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(chat.Reply{}, "Thread")); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	calls := func(calls ...chat.ToolCall) chat.Message { return chat.Message{Role: chat.Assistant, ToolCalls: calls} }
	bare := slices.Clone(want.ToolCalls)
	for i := range bare {
		bare[i].Result = nil
	}
	history := []chat.Message{
		chat.NewMessage(chat.User, "Where is it?"),
		calls(bare[:2]...), answer("c1", `{"status":"shipped"}`), answer("c2", "noon"),
		calls(bare[2:]...), answer("c3", `{"error":"unknown tool \"teleport\""}`), answer("c4", `{"error":"busy"}`),
	}
	if diff := cmp.Diff(history, model.classifierRequest[2].Messages); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if _, err := s.Send(t.Context(), chat.Content{Text: "Thanks"}); err != nil {
		t.Fatal(err)
	}
	history = append(history, chat.NewMessage(chat.Assistant, "Shipped at noon."), chat.NewMessage(chat.User, "Thanks"))
	if diff := cmp.Diff(history, model.classifierRequest[3].Messages); diff != "" {
		t.Errorf("history of the next turn (-want +got):\n%s", diff)
	}
}

func TestModelToolFailures(t *testing.T) {
	for _, tc := range []struct {
		name              string
		rounds            int
		steps             []string
		want              string
		calls             int
		classifierRequest int
	}{
		{
			"no result fits", 0, []string{`now{} get_order{"id":"7"}`},
			`the tool get_order has no result for {"id":"7"}`, 2, 1,
		},
		{"a loop", 0, []string{`now{}`}, "tool loop: the model still calls tools after 8 rounds of results: now", 8, 9},
		{
			"a short loop", 2, []string{`now{} now{}`},
			"tool loop: the model still calls tools after 2 rounds of results: now, now", 4, 3,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			model := &toolUser{steps: tc.steps}
			s := begin(t, &target.Model{Model: model, Tools: toolSet(t, orderTools), MaxToolRounds: tc.rounds},
				runner.Opening{})
			reply, err := s.Send(t.Context(), chat.Content{Text: "hi"})
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if len(reply.ToolCalls) != tc.calls || len(model.classifierRequest) != tc.classifierRequest ||
				reply.Usage.InputTokens != 10*tc.classifierRequest || reply.Requests != tc.classifierRequest {
				t.Errorf("%d requests, and the turn has %+v", len(model.classifierRequest), reply)
			}
			model.steps = []string{"fine"}
			model.classifierRequest = nil
			if _, err := s.Send(t.Context(), chat.Content{Text: "again"}); err != nil ||
				len(model.classifierRequest[0].Messages) != 1 {
				t.Errorf("after the failure %d messages are sent, %v", len(model.classifierRequest[0].Messages), err)
			}
		})
	}
}

// A turn that failed has used up no result.
func TestModelToolTimes(t *testing.T) {
	model := &toolUser{steps: []string{`get_order{"id":"2"}`, `get_order{"id":"9"}`, `get_order{"id":"2"}`, "ok"}}
	s := begin(t, &target.Model{Model: model, Tools: toolSet(t, orderTools)}, runner.Opening{})
	if _, err := s.Send(t.Context(), chat.Content{Text: "hi"}); err == nil {
		t.Fatal("a call without a result passes")
	}
	if _, err := s.Send(t.Context(), chat.Content{Text: "hi"}); err != nil {
		t.Fatal(err)
	}
}

// A choice that forces a call holds for the first request of a turn, or the model could never answer.
func TestModelToolChoice(t *testing.T) {
	model := &toolUser{steps: []string{"now{}", "noon", "now{}", "noon"}}
	s := begin(t, &target.Model{
		Model: model, Tools: toolSet(t, orderTools), Parameters: llm.Request{ToolChoice: "required"},
	}, runner.Opening{})
	var choices []string
	for range 2 {
		if _, err := s.Send(t.Context(), chat.Content{Text: "hi"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range model.classifierRequest {
		choices = append(choices, r.ToolChoice)
	}
	if diff := cmp.Diff([]string{"required", "", "required", ""}, choices); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
}

// With a conversation that the provider keeps, only what is new is sent.
func TestModelState(t *testing.T) {
	model := &toolUser{steps: []string{"now{}", "noon", "bye"}}
	s := begin(t, &target.Model{
		Model: model, Tools: toolSet(t, orderTools), State: "previous_response_id",
	}, runner.Opening{
		Test: &suite.Test{ID: "t", Input: []chat.Message{chat.NewMessage(chat.System, "S")}},
	})
	for _, text := range []string{"one", "two"} {
		if _, err := s.Send(t.Context(), chat.Content{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	var sent []string
	for _, r := range model.classifierRequest {
		sent = append(sent, r.Thread.ID+": "+strings.ReplaceAll(chat.Format(r.Messages), "\n\n", ", "))
	}
	want := []string{": system: S, user: one", "t1: tool: noon", "t2: user: two"}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// Placeholders know the conversation, the turn and what was said.
func TestModelValues(t *testing.T) {
	model := &toolUser{steps: []string{"one", "two"}}
	s := begin(t, &target.Model{Model: model}, runner.Opening{
		Test: &suite.Test{ID: "t", Vars: map[string]any{"tier": "gold"}}, ConversationID: "conv-1", Trial: 2,
	})
	for _, text := range []string{"a", "b"} {
		if _, err := s.Send(t.Context(), chat.Content{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	v := model.classifierRequest[1].Conversation
	if v.ConversationID != "conv-1" || v.TestID != "t" || v.Trial != 2 || v.Turn != 2 || v.Message != "b" ||
		len(v.History) != 2 || v.Vars["tier"] != "gold" {
		t.Errorf("the values are %+v", v)
	}
}
