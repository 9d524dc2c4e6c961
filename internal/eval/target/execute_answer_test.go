package target_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// TestExecuteAnswers holds that an answer that breaks the protocol is an error that names what is missing; the empty
// text is a reply.
func TestExecuteAnswers(t *testing.T) {
	const rest = `"current_node_id": "a", "next_node_id": "a", "history": [], "memory": {}, "flow_completed": false, "tool_calls": []`
	for _, tc := range []struct{ name, body, says string }{
		{"without a message", "{" + rest + "}", "without assistant_message"},
		{"null for a message", `{"assistant_message": null, ` + rest + "}", "without assistant_message"},
		{"without history", `{"assistant_message": "hi", "memory": {}}`, "without history or memory"},
		{"without the end", `{"assistant_message": "hi", "current_node_id": "a", "next_node_id": "a", "history": [], "memory": {}, "tool_calls": []}`, "without flow_completed"},
		{"null for the end", `{"assistant_message": "hi", "current_node_id": "a", "next_node_id": "a", "history": [], "memory": {}, "flow_completed": null, "tool_calls": []}`, "without flow_completed"},
		{"without calls", `{"assistant_message": "hi", "current_node_id": "a", "next_node_id": "a", "history": [], "memory": {}, "flow_completed": false}`, "without tool_calls"},
		{"without a node", `{"assistant_message": "hi", "next_node_id": "a", "history": [], "memory": {}, "flow_completed": false, "tool_calls": []}`, "without current_node_id"},
		{"without the next node", `{"assistant_message": "hi", "current_node_id": "a", "history": [], "memory": {}, "flow_completed": false, "tool_calls": []}`, "without next_node_id"},
		{"null for history", `{"assistant_message": "hi", "current_node_id": "a", "next_node_id": "a", "history": null, "memory": {}, "flow_completed": false, "tool_calls": []}`, "without history or memory"},
		{"no node any more", `{"assistant_message": "", "current_node_id": null, "next_node_id": null, "history": [], "memory": {}, "flow_completed": true, "tool_calls": []}`, ""},
		{"an empty message", `{"assistant_message": "", ` + rest + "}", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := &target.Execute{
				URL: "http://flows.example/execute", Flow: flow.Source{Ref: "echo"},
				Client: &http.Client{Transport: handled(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, tc.body)
				})},
			}
			session, err := e.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "a", Suite: "s"}})
			if err != nil {
				t.Fatal(err)
			}
			reply, err := session.Send(t.Context(), chat.Content{Text: "hi"})
			if tc.says == "" &&
				(err != nil || reply.Text != "" || !strings.Contains(string(reply.State), `"memory":{},`)) {
				t.Errorf("reply %+v with the state %s, %v; a memory without facts stays as it is", reply,
					reply.State, err)
			}
			if tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("error %v, want %q in it", err, tc.says)
			}
		})
	}
}

// TestExecuteCost holds that a turn costs what the server tells, and that what it does not tell is not known, be it
// tokens or dollars.
func TestExecuteCost(t *testing.T) {
	for usage, want := range map[string]chat.Reply{
		`"usage": {"prompt_tokens": 2, "completion_tokens": 1, "llm_calls": 1, "cost_usd": 0.25}`: {
			Usage: chat.Usage{InputTokens: 2, OutputTokens: 1}, Cost: chat.Cost{USD: 0.25},
		},
		`"usage": {"prompt_tokens": 2, "completion_tokens": 1, "llm_calls": 1, "cost_usd": 0}`: {Usage: chat.Usage{
			InputTokens: 2, OutputTokens: 1,
		}},
		`"usage": {"prompt_tokens": 2, "completion_tokens": 1, "llm_calls": 1, "cost_usd": null}`: {
			Usage: chat.Usage{InputTokens: 2, OutputTokens: 1}, Cost: chat.Cost{Unknown: true},
		},
		`"usage": {"prompt_tokens": 2, "completion_tokens": 1, "llm_calls": 1}`: {
			Usage: chat.Usage{InputTokens: 2, OutputTokens: 1}, Cost: chat.Cost{Unknown: true},
		},
		`"usage": {"prompt_tokens": 0, "completion_tokens": 0, "llm_calls": 0}`: {},
		`"usage": null`: {Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}},
	} {
		e := &target.Execute{
			URL: "http://flows.example/execute", Flow: flow.Source{Ref: "echo"},
			Client: &http.Client{Transport: handled(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"assistant_message": "hi", "current_node_id": "a", "next_node_id": "a", "history": [], "memory": {}, "flow_completed": false, "tool_calls": [], `+usage+`}`)
			})},
		}
		session, err := e.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "a", Suite: "s"}})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := session.Send(t.Context(), chat.Content{Text: "hi"})
		if err != nil || reply.Usage != want.Usage || reply.Cost != want.Cost {
			t.Errorf("%s: %+v, %+v, %v", usage, reply.Usage, reply.Cost, err)
		}
	}
}
