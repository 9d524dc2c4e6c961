package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm/llmtest"
)

// vendors starts a model at all providers and sets the variables with its addresses and keys. Asked for the weather, it
// calls tools and says what the first answers, unless its name has loops in it; else it says hello. As a judge it is
// satisfied, unless the request bears a conversation's id, which only those to a target do.
func vendors(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: vendors")
	}
	s := llmtest.Start(vendorAnswer)
	ts.Defer(s.Close)
	for name, value := range s.Environ() {
		ts.Setenv(name, value)
	}
	ts.Setenv("RESPONSES", s.Base("responses"))
	ts.Setenv("AZURE_RESPONSES", s.Base("azure-responses"))
	servers.Store(vendorsKey{ts}, s)
	ts.Defer(func() { servers.Delete(vendorsKey{ts}) })
}

type vendorsKey struct{ ts *testscript.TestScript }

func vendorAnswer(asked llmtest.Request) llmtest.Answer {
	id, traced := asked.Header.Get("X-Conversation-Id"), asked.Header.Get("Traceparent")
	last := asked.Texts[len(asked.Texts)-1]
	switch {
	case asked.Schema != nil:
		satisfied := id == "" && traced != ""
		return llmtest.Answer{Text: checksOf(last, satisfied, "it is")}
	case strings.Contains(last, "wordy"):
		return llmtest.Answer{Text: "This has no", Finish: "length"}
	case len(asked.Results) > 0 && strings.Contains(asked.Model, "loops"):
		return llmtest.Answer{Calls: []chat.ToolCall{{Name: "get_time", Args: json.RawMessage(`{}`)}}}
	case len(asked.Results) > 0:
		return llmtest.Answer{Text: "It says: " + asked.Results[0].Text, Thought: "So."}
	case len(asked.Tools) > 0 && strings.Contains(last, "weather"):
		return llmtest.Answer{Thought: "Which tool?", Calls: []chat.ToolCall{
			{Name: "get_weather", Args: json.RawMessage(`{"city":"Bern"}`)},
			{Name: "get_time", Args: json.RawMessage(`{}`)},
		}}
	case id == "" || len(traced) != 55:
		return llmtest.Answer{Status: 400, Error: "no conversation"}
	}
	return llmtest.Answer{Text: "Hello, " + asked.System + strings.Join(asked.Texts, ", ")}
}

// vendorsAsked compares a field of all requests since the start, each once: a header, or JSON at the top of the body.
func vendorsAsked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: vendorsasked FIELD VALUE…")
	}
	found, ok := servers.Load(vendorsKey{ts})
	if !ok {
		ts.Fatalf("start the vendors first")
	}
	values := map[string]bool{}
	for _, asked := range found.(*llmtest.Server).Requests() {
		var body map[string]json.RawMessage
		ts.Check(json.Unmarshal(asked.Raw, &body))
		for _, value := range []string{asked.Header.Get(args[0]), string(body[args[0]])} {
			values[value] = true
		}
	}
	delete(values, "")
	if got := slices.Sorted(maps.Keys(values)); !slices.Equal(got, args[1:]) {
		ts.Fatalf("%s is %q, want %q", args[0], got, args[1:])
	}
}
