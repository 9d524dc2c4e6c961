package flow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// What goes back to the model is what a strict server accepts, whatever the model wrote: every call has an id of its
// own, its arguments are an object, and exactly one result answers it.
func TestCallsGoBackInOrder(t *testing.T) {
	calls := []chat.ToolCall{
		{ID: "x", Name: "get_full_history", Args: json.RawMessage(`{}`)},
		{ID: "x", Name: "process_node", Args: json.RawMessage(`"{bad"`)},
		{Name: "process_node", Args: json.RawMessage(`[1]`)},
	}
	model := &actor{replies: []any{calls, "Hm."}}
	r, err := execute(t, model, inContext(t, "ask"))
	if err != nil {
		t.Fatal(err)
	}
	sent := model.requests[1].Messages
	asked, results := sent[len(sent)-4], sent[len(sent)-3:]
	seen := map[string]bool{}
	for i, call := range asked.ToolCalls {
		if call.ID == "" || seen[call.ID] || results[i].ToolCallID != call.ID || r.ToolCalls[i].ID != call.ID {
			t.Errorf("call %d is %q, answered as %q, traced as %q", i, call.ID, results[i].ToolCallID,
				r.ToolCalls[i].ID)
		}
		seen[call.ID] = true
		if json.Unmarshal(call.Args, &map[string]any{}) != nil {
			t.Errorf("call %d goes back with %s", i, call.Args)
		}
	}
	for _, result := range results[1:] {
		if !strings.Contains(result.Content.Text, `"error":"the arguments are not a JSON object","allowed":["ask"]`) {
			t.Errorf("the model reads %s", result.Content.Text)
		}
	}
	if calls[2].ID != "" || string(calls[1].Args) != `"{bad"` {
		t.Errorf("the reply was changed: %v", calls)
	}
}

// process_node is carried out wherever it stands among the calls.
func TestMoveAmongManyCalls(t *testing.T) {
	var calls []chat.ToolCall
	for i := range 40 {
		calls = append(calls, chat.ToolCall{ID: fmt.Sprint(i), Name: "get_full_history"})
	}
	r, err := execute(t, &actor{replies: []any{append(calls, move("ask", "tea")), "Bye."}}, inContext(t, "ask"))
	if err != nil {
		t.Fatal(err)
	}
	if !r.FlowCompleted || r.ToolCalls[31].Error != nil || r.ToolCalls[32].Error == nil {
		t.Errorf("completed %v, calls %+v", r.FlowCompleted, r.ToolCalls[31:])
	}
}

// A model that says nothing is asked again without being forced to call a tool that was given up.
func TestSilentModelIsNotForced(t *testing.T) {
	model := &actor{replies: []any{"", "", "Tea?"}}
	r, err := execute(t, model, inContext(t, "ask"))
	if err != nil {
		t.Fatal(err)
	}
	if r.AssistantMessage != "Tea?" || model.requests[1].ToolChoice != "process_node" ||
		model.requests[2].ToolChoice != "auto" {
		t.Errorf("%q after %q, %q", r.AssistantMessage, model.requests[1].ToolChoice, model.requests[2].ToolChoice)
	}
}

// The longest time limit that can be written is not shorter than none.
func TestEndlessTurnTimeout(t *testing.T) {
	for _, limit := range []string{`10000000000000`, `9223372036854775807`, `-1`} {
		c := inContext(t, "ask", "limits", `{"turn_timeout_ms":`+limit+`}`)
		if _, err := execute(t, &actor{replies: []any{move("ask", "tea"), "Bye."}}, c); err != nil {
			t.Errorf("%s ms: %v", limit, err)
		}
	}
}

// A flow in a request may have keys that mean nothing here, one called ref among them.
func TestInlineFlowWithRef(t *testing.T) {
	c, err := flow.ReadContext([]byte(
		`{"flow":{"ref":"other","id":"f","nodes":[{"id":"s","type":"start","next":["e"]},{"id":"e","type":"stop"}]},
		"current_node_id":"s","latest_user_message":"m","history":[],"memory":{"turn_index":0}}`))
	if err != nil || c.Flow.Ref != "" || c.Flow.Inline == nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// A memory always has its lists, so that callers need not ask whether they are there.
func TestMemoryHasLists(t *testing.T) {
	r, err := execute(t, &actor{replies: []any{move("ask", "tea"), "Bye."}}, inContext(t, "ask"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r.Memory)
	if want := `{"turn_index":1,"facts":[],"summary":{"level":0,"last_summarized_turn":0,"chunks":[]}}`; err != nil ||
		string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// The result of get_full_history stays within 32 KB as JSON, however much its writing takes.
func TestFullHistoryBytes(t *testing.T) {
	for name, history := range map[string][]flow.Message{
		"many small":     repeated(300, strings.Repeat("x", 150)),
		"quotes":         repeated(20, strings.Repeat(`"`, 1500)),
		"one long":       repeated(1, strings.Repeat("é", 90_000)),
		"one of escapes": repeated(1, strings.Repeat("\x01", 30_000)),
	} {
		c := inContext(t, "ask")
		c.History = history
		r, err := execute(t, &actor{replies: []any{
			[]chat.ToolCall{move("ask", "-1"), call("get_full_history", `{}`)}, "Ok.",
		}}, c)
		if err != nil {
			t.Fatal(err)
		}
		result := r.ToolCalls[1].Result
		if len(result) > 32<<10 || len(result) < 24<<10 || !strings.HasSuffix(string(result), `"truncated":true}`) {
			t.Errorf("%s: %d bytes, ending in %s", name, len(result), result[max(0, len(result)-40):])
		}
	}
}

func repeated(n int, content string) []flow.Message {
	history := make([]flow.Message, n)
	for i := range history {
		history[i] = flow.Message{Role: chat.User, Content: content}
	}
	return history
}
