package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

const everyAnswer = `
rules:
  - when: {after: process_node, result: '"prompt":"(\w+)"'}
    reply: "after the tool: $1, called for ${tool.current_node_id}"
  - when: {choice: process_node, args: {current_node_id: triage}, after: user}
    tool_calls: [{name: process_node, args: {current_node_id: "${tool.current_node_id}", option_id: "-1"}}]
  - {when: {choice: none}, reply: no tools}
  - when: {user: '^hello (?P<name>\w+)', system: brief}
    reply: "Hello, ${name}: <&> \"quoted\"\nline"
  - when: {user: weather, tools: get_weather}
    tool_calls: [{name: get_weather, args: {city: Bern, days: [1, 2.5]}}, {name: odd, args: "{broken"}]
  - when: {user: both}
    reply: text and
    tool_calls: [{name: f}]
  - when: {user: data}
    json: {a: [1, {b: "$0"}]}
  - when: {user: '"rubrics"'}
    verdicts: [{criterion: greets, output: Hello}]
  - when: {user: picture}
    reply: nice
  - when: {user: later, turn: 2}
    reply: turn two
  - when: {user: '^model$', model: ^judge$}
    reply: judged
  - when: {user: '^model$'}
    reply: acted
  - when: {user: limited}
    fault: {status: 429, retry_after: 250ms, body: slow down, times: 1}
    reply: at last
  - {when: {user: s401}, fault: {status: 401, body: who}}
  - {when: {user: s404}, fault: {status: 404, body: "no such model"}}
  - {when: {user: s422}, fault: {status: 422, body: '{"error":{"message":"odd","type":"x"}}'}}
  - {when: {user: s503}, fault: {status: 503, retry_after: 2s}}
  - {when: {user: malformed}, fault: malformed}
  - {when: {user: oops}, fault: {kind: malformed, body: "oops\n"}}
  - {when: {user: cut}, fault: cut_stream}
  - {when: {user: gone}, fault: refuse_connection}
  - {when: {user: hang}, fault: timeout}
  - {when: {user: ^$}, reply: ""}
`

// A script gives the same replies and faults in the process and over HTTP, by either name.
func TestConformance(t *testing.T) {
	talk := func(texts ...string) llm.Request {
		r := llm.Request{Messages: []chat.Message{chat.NewMessage(chat.System, "Be brief.")}}
		for i, text := range texts {
			r.Messages = append(r.Messages, chat.NewMessage([]chat.Role{chat.User, chat.Assistant}[i%2], text))
		}
		return r
	}
	tools := talk("weather?")
	tools.Tools = []llm.Tool{{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object"}`)}}
	tools.ToolChoice, tools.Temperature, tools.Seed, tools.MaxTokens = "get_weather", new(0.0), new(4), 9
	tools.Schema = &llm.Schema{Name: "s", JSON: json.RawMessage(`{}`)}
	picture := talk("x")
	picture.Messages[1].Content = chat.Content{Blocks: []chat.Block{
		{Type: "text", Value: "a picture"}, {Type: "image", Value: "data:image/png;base64,AA=="},
		{Type: "file", Value: "and text"},
	}}
	answered := talk("both", "x", "both again")
	answered.Messages = append(answered.Messages,
		chat.Message{
			Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "f", Args: json.RawMessage(`"{broken"`)}},
		},
		chat.Message{Role: chat.Tool, ToolCallID: "1", Content: chat.Content{Text: "done"}})
	step := talk("hello")
	step.ToolChoice = "process_node"
	step.Tools = []llm.Tool{{
		Name:       "process_node",
		Parameters: json.RawMessage(`{"type":"object","properties":{"current_node_id":{"const":"triage"}}}`),
	}}
	stepped := step
	stepped.ToolChoice = "auto"
	stepped.Messages = append(stepped.Messages[:2:2],
		chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{
			ID: "1", Name: "process_node", Args: json.RawMessage(`{}`),
		}}},
		chat.Message{Role: chat.Tool, ToolCallID: "1", Content: chat.Content{Text: `{"prompt":"Which"}`}})
	off := talk("hello")
	off.ToolChoice = "none"
	requests := map[string]llm.Request{
		"step": step, "after the step": stepped, "tools off": off,
		"text": talk("hello Ann"), "tools": tools, "both": talk("both"), "tool results": answered, "JSON": talk("data"),
		"judge":   talk(`{"output":"Hello","rubrics":[{"id":"a","outcome":"greets"},{"id":"b","outcome":"sings"}]}`),
		"picture": picture, "turn": talk("x", "y", "later"), "model": talk("model"), "empty": talk(""),
		"limited": talk("limited"),
	}
	for _, fault := range []string{
		"s401", "s404", "s422", "s503", "malformed", "oops", "cut", "gone", "hang", "no rule",
	} {
		requests[fault] = talk(fault)
	}

	for _, name := range []string{"agent", "judge"} {
		inProcess := script(t, everyAnswer).As(name)
		address, client := serve(t, script(t, everyAnswer), Options{})
		m := config.Model{Provider: "openai", Name: name, BaseURL: address + "/v1", Temperature: new(0.5)}
		overHTTP, err := llm.NewClient(m, llm.Options{Transport: client.Transport})
		if err != nil {
			t.Fatal(err)
		}
		for title, request := range requests {
			t.Run(name+" "+title, func(t *testing.T) {
				patience := time.Minute
				if title == "hang" {
					patience = 50 * time.Millisecond
				}
				played, served := llm.Timeout(inProcess, patience, "m", ""), llm.Timeout(overHTTP, patience, "m", "")
				for round := range 2 { // the second time, limited faults are over
					want, wantErr := played.Generate(t.Context(), request)
					got, gotErr := served.Generate(t.Context(), request)
					if d := cmp.Diff(want, got, cmpopts.IgnoreFields(chat.Reply{}, "Model", "Latency", "Cost",
						"FirstText")); d != "" {
						t.Errorf("round %d: replies differ (-in process +HTTP):\n%s", round, d)
					}
					diffErrors(t, title, wantErr, gotErr)
				}
				if title == "limited" {
					return // both are beyond its fault
				}
				said := []string{"", ""}
				want, wantErr := llm.Stream(t.Context(), played, request, func(token string) { said[0] += token })
				got, gotErr := llm.Stream(t.Context(), served, request, func(token string) { said[1] += token })
				if d := cmp.Diff(want, got, cmpopts.IgnoreFields(chat.Reply{}, "Model", "Latency", "Cost",
					"FirstText")); d != "" {
					t.Errorf("streamed replies differ (-in process +HTTP):\n%s", d)
				}
				diffErrors(t, title, wantErr, gotErr)
				if wantErr == nil && (said[0] != want.Text || said[1] != want.Text) {
					t.Errorf("streamed %q in process and %q over HTTP, want %q", said[0], said[1], want.Text)
				}
			})
		}
	}
}

func diffErrors(t *testing.T, title string, want, got error) {
	t.Helper()
	type seen struct {
		Fault      llm.Fault
		Status     int
		RetryAfter time.Duration
		Message    string
		Deadline   bool
	}
	see := func(err error) (s seen) {
		if e, ok := errors.AsType[*llm.Error](err); ok {
			s = seen{e.Fault, e.Status, e.RetryAfter, e.Message, errors.Is(err, context.DeadlineExceeded)}
		} else if err != nil {
			t.Errorf("%v is not an *Error", err)
		}
		switch title {
		case "gone": // a server cannot refuse what it has accepted
			s.Message = ""
		case "no rule": // the server says it with a status of its own
			s.Message, s.Status = "", 0
		}
		return s
	}
	if d := cmp.Diff(see(want), see(got)); d != "" {
		t.Errorf("errors differ (-in process +HTTP):\n%s", d)
	}
}

// Whatever is under way at the same time, each request meets its faults once and then gets through.
func TestRetriesOverHTTP(t *testing.T) {
	address, client := serve(t, script(t, `
rules:
  - {when: {user: cut}, fault: {kind: cut_stream, times: 1}, reply: "after $0"}
  - {when: {user: gone}, fault: {kind: refuse_connection, times: 1}, reply: "after $0"}
  - {when: {user: busy}, fault: {status: 503, retry_after: 5ms, times: 2}, reply: "after $0"}`), Options{})
	m, err := llm.Open(config.Model{Provider: "openai", Name: "agent", BaseURL: address + "/v1", Concurrency: 10},
		llm.Options{Transport: client.Transport})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 60 {
		kind, attempts := []string{"cut", "gone", "busy"}[i%3], []int{2, 2, 3}[i%3]
		wg.Go(func() {
			got, err := m.Generate(t.Context(), llm.Request{Messages: []chat.Message{
				chat.NewMessage(chat.User, fmt.Sprint(kind, " ", i)),
			}})
			if err != nil || got.Text != "after "+kind || got.Attempts != attempts {
				t.Errorf("%s: got %q after %d attempts, %v", kind, got.Text, got.Attempts, err)
			}
		})
	}
	wg.Wait()
}
