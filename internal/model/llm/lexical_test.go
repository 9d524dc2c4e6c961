package llm

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// step is a request in a turn of a flow: the user's message, then each result of process_node with the call before it.
func step(menu *Menu, choice, user string, results ...string) Request {
	r := Request{ToolChoice: choice, Tools: []Tool{{Name: "other"}, {Name: "process_node", Menu: menu}}}
	r.Messages = append(r.Messages, chat.NewMessage(chat.System, "Be kind."), chat.NewMessage(chat.User, user))
	for _, result := range results {
		id := callID(len(r.Messages), 1)
		r.Messages = append(r.Messages,
			chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{
				ID: id, Name: "process_node", Args: json.RawMessage("{}"),
			}}},
			chat.Message{Role: chat.Tool, ToolCallID: id, Content: chat.Content{Text: result}})
	}
	return r
}

const (
	nextStep = `{"next_node_id":"b","next_node_descriptor":{"id":"b","type":"conversation","prompt":" Which order? ","options":[]},"instructions":"Reply: x"}`
	badStep  = `{"error":"unknown option","allowed":["order","billing"]}`
)

func TestLexical(t *testing.T) {
	must := NewMenu("next_node_id", []Option{{ID: "a"}, {ID: "b", Label: "billing"}}, "")
	called := func(args string) chat.Reply {
		return chat.Reply{Attempts: 1, ToolCalls: []chat.ToolCall{{
			ID: "call_2_1", Name: "process_node", Args: json.RawMessage(args),
		}}}
	}
	retried := func(args string) chat.Reply {
		reply := called(args)
		reply.ToolCalls[0].ID = "call_4_1"
		return reply
	}
	said := func(text string) chat.Reply { return chat.Reply{Attempts: 1, Text: text} }
	const stay = `{"current_node_id":"triage","option_id":"-1"}`
	none := func(r Request) Request {
		r.Tools = nil
		return r
	}
	for _, tc := range []struct {
		name    string
		request Request
		want    chat.Reply
	}{
		{
			"the best option", step(triage(), "process_node", "my parcel is late"),
			called(`{"current_node_id":"triage","option_id":"order"}`),
		},
		{
			"a free choice", step(triage(), "auto", "billing: a refund"),
			called(`{"current_node_id":"triage","option_id":"billing"}`),
		},
		{
			"required", step(triage(), "required", "the invoice"),
			called(`{"current_node_id":"triage","option_id":"billing"}`),
		},
		{"nothing like it", step(triage(), "", "What's the weather?"), called(stay)},
		{"two alike", step(triage(), "", "order, delivery, invoice, refund"), called(stay)},
		{"one must be chosen", step(must, "", "hm"), called(`{"next_node_id":"a"}`)},
		{"one must be chosen, and fits", step(must, "", "billing"), called(`{"next_node_id":"b"}`)},
		{"only a way to stay", step(NewMenu("option_id", nil, "-1"), "", "hm"), called(`{"option_id":"-1"}`)},
		{"no user yet", Request{Tools: []Tool{{Name: "process_node", Menu: must}}}, chat.Reply{
			Attempts: 1, ToolCalls: []chat.ToolCall{{
				ID: "call_0_1", Name: "process_node", Args: json.RawMessage(`{"next_node_id":"a"}`),
			}},
		}},
		{"the prompt of the step", step(triage(), "auto", "my parcel", nextStep), said("Which order?")},
		{"forced although done", step(triage(), "process_node", "my parcel", nextStep), said("Which order?")},
		{"tools off", step(triage(), "none", "my parcel", nextStep), said("Which order?")},
		{"no tools", none(step(nil, "", "my parcel", nextStep)), said("Which order?")},
		{
			"the flow's end", step(triage(), "", "bye",
				`{"next_node_id":null,"next_node_descriptor":null,"instructions":"Say goodbye: Farewell!"}`),
			said("Farewell!"),
		},
		{
			"instructions without a colon", step(triage(), "", "bye", `{"instructions":"Say goodbye."}`),
			said("Say goodbye."),
		},
		{
			"instructions about nothing", step(triage(), "", "bye",
				`{"next_node_descriptor":{"prompt":" "},"instructions":"Reply to the user following this prompt: "}`),
			said(again),
		},
		{
			"instructions about nothing, cut",
			step(triage(), "", "bye", `{"instructions":"Reply to the user following this prompt:"}`), said(again),
		},
		{"nothing to say", step(triage(), "", "bye", `{}`), said(again)},
		{"not JSON", step(triage(), "", "bye", `oops`), said(again)},
		{"an error", step(triage(), "", "my parcel", badStep), retried(stay)},
		{"an error where one must be chosen", step(must, "", "hm", badStep), retried(`{"next_node_id":"order"}`)},
		{"an error that allows nothing", step(must, "", "billing", `{"error":"x"}`), retried(`{"next_node_id":"a"}`)},
		{"an error again", step(triage(), "process_node", "my parcel", badStep, badStep), said(again)},
		{"an error, then a step", step(triage(), "", "my parcel", badStep, nextStep), said("Which order?")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Lexical{}.Generate(t.Context(), tc.request)
			if err != nil {
				t.Fatal(err)
			}
			tc.want.FinishReason = ended(tc.want)
			diff(t, "reply", tc.want, got, cmpopts.IgnoreFields(chat.Reply{}, "Latency"))
		})
	}
}

func TestLexicalSchema(t *testing.T) {
	ask := func(schema string) (chat.Reply, error) {
		r := say("x")
		r.Schema = &Schema{Name: "facts", JSON: json.RawMessage(schema)}
		return Lexical{}.Generate(t.Context(), r)
	}
	for schema, want := range map[string]string{
		`{"type":"object","required":["facts"],"properties":{"facts":{"type":"array","items":{"type":"object"}},"note":{"type":"string"}}}`: `{"facts":[]}`,
		`{"type":"object"}`: `{}`,
		`{"type":"array"}`:  `[]`,
		`{"type":"object","required":["b","a"],"properties":{"a":{"type":["string","null"]},"b":{"type":"object","required":["c"],"properties":{"c":{"type":"array"}}}}}`: `{"b":{"c":[]},"a":null}`,
	} {
		got, err := ask(schema)
		if err != nil || got.Text != want {
			t.Errorf("%s: got %s, %v, want %s", schema, got.Text, err, want)
		}
	}
	for _, schema := range []string{
		``, `{`, `{"type":"string"}`, `{"type":"array","minItems":1}`,
		`{"type":"object","required":["passed"],"properties":{"passed":{"type":"boolean"}}}`,
		`{"type":"object","required":["x"]}`,
		strings.Repeat(`{"type":"object","required":["x"],"properties":{"x":`, 99) + `{"type":"array"}` +
			strings.Repeat(`}}`, 99),
	} {
		if got, err := ask(schema); err == nil {
			t.Errorf("%s: got %s", schema, got.Text)
		}
	}
}

func TestLexicalRefuses(t *testing.T) {
	const what = "lexical:default: there is nothing to choose: it only takes steps in a flow and labels of a " +
		"classifier, " +
		"by the words that a message shares with them (use a language model for this, such as openai:gpt-5, " +
		"or a script)"
	for name, tc := range map[string]struct {
		request Request
		want    string
	}{
		"no tools":     {say("hi"), what},
		"no menu":      {step(nil, "", "hi"), what},
		"another tool": {step(triage(), "other", "hi"), what},
		"tools off":    {step(triage(), "none", "hi"), what},
		"nothing to offer": {step(NewMenu("id", nil, ""), "", "hi"), "lexical:default: " +
			"the menu of the tool process_node has no options (give it at least one, or a way to stay)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Lexical{}.Generate(t.Context(), tc.request)
			diff(t, "fault", Refused, wantError(t, err).Fault)
			diff(t, "error", tc.want, err.Error())
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Lexical{}).Generate(ended, step(triage(), "", "hi")); err != context.Canceled { //nolint:errorlint // as it is
		t.Errorf("got %v", err)
	}
}

func TestOpenLexical(t *testing.T) {
	for _, short := range []string{"lexical", "lexical:default", "lexical:"} {
		m, err := ParseModel(short)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "name", "lexical:default", m.String())
		if _, err := Open(m, Options{}); err != nil {
			t.Error(err)
		}
	}
	_, err := Open(config.Model{Provider: "lexical", Name: "large"}, Options{})
	diff(t, "error", `lexical:large: there is no lexical model "large" (write lexical: there is one only)`, err.Error())
}

// The same menu is asked by many conversations at once, and the answers never differ.
func TestLexicalConcurrently(t *testing.T) {
	menu := triage()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				got, err := Lexical{}.Generate(t.Context(), step(menu, "", "Where is my parcel?"))
				if err != nil || string(got.ToolCalls[0].Args) != `{"current_node_id":"triage","option_id":"order"}` ||
					got.Latency > time.Minute {
					t.Errorf("got %+v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}
