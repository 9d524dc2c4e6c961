package flow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

const refusing = `
name: refusing
apis: {first: {url: "https://api.example.com/first"}}
initial_state: ask
states:
  ask: {type: question, message: What now?, field: said}
  done: {type: question, message: "Done, {name}.", actions: [{type: set_field, target: stage, value: entered}, {type: log_event, event: entered}]}
  end: {type: end, message: Bye.}
transitions:
  - from: ask
    to: done
    id: by_rule
    condition: {type: contains, value: rule}
    actions:
      - {type: call_api, target: first}
      - {type: set_field, target: name, value: "Ada {said}"}
      - {type: log_event, event: leaving}
      - {type: validate, target: name, validation: {max_length: 12, error_message: That is too long.}}
      - {type: set_field, target: level, value: "2"}
  - {from: ask, to: done, id: by_model, label: Go on, actions: *actions}
  - {from: done, to: end}
`

// When a validation of a transition fails, nothing of the transition happens: no field, no event, no call, neither in
// memory nor in the trace.
func TestRefusedTransitions(t *testing.T) {
	f := loadFlow(t, strings.Replace(refusing, "*actions}",
		"[{type: call_api, target: first}, {type: set_field, target: name, value: \"Ada {said}\"}, "+
			"{type: log_event, event: leaving}, {type: validate, target: name, validation: {max_length: 12, "+
			"error_message: That is too long.}}, {type: set_field, target: level, value: \"2\"}]}", 1))
	for _, tc := range []struct {
		name, message string
		replies       []any
		text, next    string
		kind          flow.TransitionKind
		facts, trace  string
		warnings      string
	}{
		{
			"a rule, valid", "rule", []any{"-"}, "Done, Ada rule.", "done", flow.Advanced,
			"said=rule name=Ada rule level=2 stage=entered", "process_node first log_event log_event", "[]",
		},
		{
			"a rule, refused", "rule, and a long word", []any{"-"}, "That is too long.", "ask", flow.Stayed, "",
			"process_node", "[]",
		},
		{
			"the model, valid", "go on", []any{move("ask", "by_model"), "-"}, "Done, Ada go on.", "done", flow.Advanced,
			"said=go on name=Ada go on level=2 stage=entered", "process_node first log_event log_event", "[]",
		},
		{
			"the model, refused", "go on with a long word", []any{move("ask", "by_model"), "Too long, sorry."},
			"Too long, sorry.", "ask", flow.Stayed, "", "process_node", "[transition_refused]",
		},
		{"refused, then another call", "go on with a long word", []any{
			move("ask", "by_model"), move("ask", "-1"), "Sorry.",
		}, "Sorry.", "ask", flow.Stayed, "", "process_node process_node", "[transition_refused already_processed]"},
		{"refused after an invalid call", "go on with a long word", []any{
			move("ask", "x"), move("ask", "by_model"), "Sorry.",
		}, "Sorry.", "ask", flow.Stayed, "", "process_node process_node", "[transition_refused]"},
		{
			"refused, and nothing said", "go on with a long word", []any{move("ask", "by_model"), "", ""},
			"That is too long.", "ask", flow.Stayed, "", "process_node", "[transition_refused empty_text]",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			web := &web{answer: `1`}
			s, err := flow.New(flow.Config{Model: &actor{replies: tc.replies}, Remote: web}).Begin(f, flow.Seed{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Send(t.Context(), tc.message, flow.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var facts, trace []string
			for _, one := range r.Memory.Facts {
				facts = append(facts, one.Key+"="+one.Value)
			}
			for _, one := range r.ToolCalls {
				trace = append(trace, one.Name)
			}
			if r.AssistantMessage != tc.text || *r.NextNodeID != tc.next || r.Transition.Kind != tc.kind ||
				fmt.Sprint(r.Warnings) != tc.warnings {
				t.Errorf("%q, %s to %s, warnings %v", r.AssistantMessage, r.Transition.Kind, *r.NextNodeID, r.Warnings)
			}
			if got := strings.Join(facts, " "); got != tc.facts {
				t.Errorf("facts %q", got)
			}
			if got := strings.Join(trace, " "); got != tc.trace || len(web.asked) != strings.Count(got, "first") {
				t.Errorf("trace %q, %d calls", got, len(web.asked))
			}
			if refused := slices.Contains(r.Warnings, flow.TransitionRefused); refused {
				at := len(trace) - 1
				if tc.name == "refused, then another call" {
					at = 0
				}
				if got := string(r.ToolCalls[at].Result); got !=
					`{"refused":"That is too long.","instructions":"Tell the user why: That is too long."}` ||
					r.ToolCalls[at].Error != nil {
					t.Errorf("the model reads %s", got)
				}
			}
		})
	}
	// The small model inside tells the user why, too.
	s, err := flow.New(flow.Config{Model: llm.Lexical{}}).Begin(f, flow.Seed{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Send(t.Context(), "go on with a long word", flow.Options{}); err != nil ||
		r.AssistantMessage != "That is too long." {
		t.Errorf("%v, %v", r, err)
	}
}

// A circle of redirects is told of.
func TestRedirectCircle(t *testing.T) {
	f := loadFlow(t, "name: r\ninitial_state: a\nstates:\n  a: {type: question}\n  b: {type: question, actions: "+
		"[{type: redirect, to: c}]}\n"+
		"  c: {type: question, actions: [{type: redirect, to: b}]}\n  d: {type: question, actions: [{type: redirect, "+
		"to: b}]}\n  e: {type: end}\n"+
		"transitions: [{from: a, to: b}, {from: a, to: d}, {from: a, to: e}]\n")
	got := f.Warnings.Error()
	if strings.Count(got, "redirects in a circle") != 2 || !strings.Contains(got, `"b" redirects`) ||
		!strings.Contains(got, `"c" redirects`) {
		t.Error(got)
	}
}
