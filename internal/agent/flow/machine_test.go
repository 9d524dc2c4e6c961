package flow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

const orders = `
flow:
  name: Orders
  version: 1.2.0
  initial_state: hello
  states:
    hello:
      type: question
      message: {text: "What can I do?", quick_replies: [order, human]}
    ask_number:
      type: data_collection
      message: Which order?
      validation: {required: true, pattern: '^AC-\d{3}$', error_message: That is not an order number.}
      actions: [{type: set_field, target: order}]
    ask_mail:
      type: data_collection
      message: Your e-mail for {order}?
      validation: {type: email}
      metadata: {progress: 0.5, skip_conditions: [{type: exists, field: ask_mail}]}
    look_up:
      type: ai_response
      message: Tell the user where order {order} is.
      actions: [{type: call_api, target: find_order}, {type: log_event, event: looked_up}]
    vip:
      type: question
      message: Straight to the manager.
      actions: [{type: redirect, to: human}]
    human:
      type: question
      message: A colleague will take over.
    chat:
      type: ai_response
      message: Small talk.
    bye:
      type: end
      message: Goodbye.
  transitions:
    - {from: hello, to: human, condition: {type: contains, value: human}, priority: 1}
    - {from: hello, to: vip, condition: {operator: and, conditions: [{type: exists, field: vip}, {type: contains, value: order}]}, priority: 5}
    - {from: hello, to: ask_number, condition: {type: matches, pattern: "order|parcel"}}
    - {from: hello, to: chat, label: Small talk, when: talks about something else}
    - {from: ask_number, to: ask_mail, condition: {type: always}}
    - {from: ask_mail, to: look_up, condition: always}
    - {from: look_up, to: bye, condition: {type: not, condition: {type: equals, value: more}}}
    - {from: human, to: bye, condition: {type: always}, actions: [{type: validate, target: order, validation: {required: true}}]}
    - {from: chat, to: hello, condition: {type: always}}
`

func TestMachineTurns(t *testing.T) {
	flows, err := flow.Load("orders.yaml", []byte(orders))
	if err != nil {
		t.Fatal(err)
	}
	f := flows[0]
	for _, tc := range []struct {
		name     string
		node     string
		facts    string
		message  string
		replies  []any
		text     string
		next     string
		kind     flow.TransitionKind
		calls    int // of the model
		traced   string
		learned  string
		decision string
	}{
		{
			"a rule decides", "hello", `[]`, "My ORDER please", nil, "Which order?", "ask_number", flow.Advanced, 0,
			"process_node", "", "rule",
		},
		{
			"priority", "hello", `[]`, "an order, no, a human", nil, "A colleague will take over.", "human",
			flow.Advanced, 0, "process_node", "", "rule",
		},
		{
			"redirect", "hello", `[{"key":"vip","value":"yes"}]`, "an order", nil, "A colleague will take over.",
			"human", flow.Advanced, 0, "process_node", "", "rule",
		},
		{
			"no rule decides", "hello", `[]`, "Nice weather",
			[]any{move("hello", "chat"), "Lovely."},
			"Lovely.", "chat", flow.Advanced, 2, "process_node", "", "",
		},
		{
			"the model stays", "hello", `[]`, "Hm", []any{move("hello", "-1")}, "What can I do?", "hello", flow.Stayed,
			1, "process_node", "", "",
		},
		{
			"validation fails", "ask_number", `[]`, "12", nil, "That is not an order number.", "ask_number",
			flow.Stayed, 0, "process_node", "", "rule",
		},
		{
			"a field is kept", "ask_number", `[]`, "AC-123", nil, "Your e-mail for AC-123?", "ask_mail", flow.Advanced,
			0, "process_node", "order=AC-123", "rule",
		},
		{
			"a state is skipped", "ask_number", `[{"key":"ask_mail","value":"a@b.c"}]`, "AC-123",
			[]any{"On its way."},
			"On its way.", "look_up", flow.Advanced, 1, "process_node find_order log_event", "order=AC-123", "rule",
		},
		{
			"the model speaks", "ask_mail", `[{"key":"order","value":"AC-123"}]`, "a@b.de",
			[]any{"On its way."},
			"On its way.", "look_up", flow.Advanced, 1, "process_node find_order log_event", "ask_mail=a@b.de", "rule",
		},
		{"no rule holds", "look_up", `[]`, "More", nil, "", "look_up", flow.Stayed, 1, "process_node", "", "rule"},
		{"the end", "look_up", `[]`, "thanks", nil, "Goodbye.", "bye", flow.Completed, 0, "process_node", "", "rule"},
		{
			"an action refuses", "human", `[]`, "ok", nil, "Please write an answer.", "human", flow.Stayed, 0,
			"process_node", "", "rule",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			model := &actor{replies: append(tc.replies, "Well.")}
			library, err := flow.NewLibrary(f)
			if err != nil {
				t.Fatal(err)
			}
			engine := flow.New(flow.Config{Model: model, Flows: library})
			message, err := json.Marshal(tc.message)
			if err != nil {
				t.Fatal(err)
			}
			c := inContext(t, "ask", "flow", `{"ref":"orders@1"}`, "latest_user_message", string(message), "memory",
				`{"turn_index":0,"facts":`+tc.facts+`}`)
			c.CurrentNodeID, c.MemoryPipeline = tc.node, nil
			r, err := engine.Execute(t.Context(), c, flow.Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkResult(t, r)
			if tc.text == "" {
				tc.text = "Well."
			}
			if r.AssistantMessage != tc.text || *r.NextNodeID != tc.next || r.Transition.Kind != tc.kind ||
				len(model.requests) != tc.calls {
				t.Errorf("got %q at %s (%s) after %d calls, want %q at %s (%s) after %d",
					r.AssistantMessage, *r.NextNodeID, r.Transition.Kind, len(model.requests), tc.text, tc.next,
					tc.kind, tc.calls)
			}
			var traced []string
			for _, call := range r.ToolCalls {
				traced = append(traced, call.Name)
			}
			if d := cmp.Diff(tc.traced, strings.Join(traced, " ")); d != "" {
				t.Errorf("trace (-want +got):\n%s", d)
			}
			var learned []string
			for _, fact := range r.MemoryDelta.FactsAdded {
				learned = append(learned, fact.Key+"="+fact.Value)
			}
			if d := cmp.Diff(tc.learned, strings.Join(learned, " ")); d != "" {
				t.Errorf("fields (-want +got):\n%s", d)
			}
			if got := string(r.ToolCalls[0].Result); strings.Contains(got, `"decided_by":"rule"`) !=
				(tc.decision == "rule") {
				t.Errorf("result of process_node: %s", got)
			}
		})
	}
}

func TestMachineFaults(t *testing.T) {
	for _, tc := range []struct{ name, old, broken, want string }{
		{"unknown state", "to: vip,", "to: vipp,", `leads to "vipp", which does not exist`},
		{"unknown source", "from: ask_mail,", "from: ask_male,", `starts at "ask_male", which does not exist`},
		{"out of an end", "{from: chat, to: hello", "{from: bye, to: hello", `starts at "bye", which is an end`},
		{"unknown redirect", "to: human}]", "to: humans}]", `redirects to "humans", which does not exist`},
		{
			"unknown type", "type: ai_response\n      message: Small", "type: airesponse\n      message: Small",
			"airesponse",
		},
		{
			"unknown initial state", "initial_state: hello", "initial_state: hallo",
			`the initial state "hallo" does not exist`,
		},
		{"bad pattern", `pattern: "order|parcel"`, `pattern: "order("`, "bad pattern"},
		{"duplicate state", "    chat:\n", "    human:\n", "human"},
		{"unknown operator", "operator: and", "operator: xand", `unknown operator "xand"`},
		{"unknown condition", "{type: exists, field: vip}", "{type: existst, field: vip}", "existst"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !strings.Contains(orders, tc.old) {
				t.Fatalf("the flow does not hold %q", tc.old)
			}
			_, err := flow.Load("orders.yaml", []byte(strings.Replace(orders, tc.old, tc.broken, 1)))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestMachineWarnings(t *testing.T) {
	broken := strings.Replace(orders, "    - {from: chat, to: hello, condition: {type: always}}\n", "", 1)
	broken = strings.Replace(broken, "    chat:\n",
		"    island: {type: question, message: Hi, colour: red}\n    chat:\n", 1)
	flows, err := flow.Load("orders.yaml", []byte(broken))
	if err != nil {
		t.Fatal(err)
	}
	got := flows[0].Warnings.Error()
	for _, want := range []string{
		`no way leads from state "chat" to an end`, `state "island" cannot be reached`,
		`unknown key "colour" is ignored`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the warnings lack %q:\n%s", want, got)
		}
	}
}
