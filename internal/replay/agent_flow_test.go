package replay_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

const nodes = `
id: ride
start: begin
nodes:
  - {id: begin, type: start, prompt: Greet., next: [hello]}
  - id: hello
    type: conversation
    prompt: How can I help?
    options:
      - {id: book, label: Book a ride, examples: [I need a taxi], next: where}
      - {id: leave, label: Goodbye, next: bye}
  - id: where
    type: conversation
    prompt: Where to?
    options: [{id: done, label: To a place, examples: [to the airport], next: bye}]
  - {id: bye, type: stop, prompt: Goodbye!}
`

const machine = `
flow:
  name: pizza
  version: 1.0.0
  initial_state: ask_size
  states:
    ask_size: {type: data_collection, message: What size?, validation: {required: true}}
    ask_size_again: {type: data_collection, message: "Once more: what size?", field: ask_size}
    thanks: {type: end, message: Thank you.}
  transitions:
    - {from: ask_size, to: thanks, condition: {type: always}}
    - {from: ask_size_again, to: thanks, condition: {type: always}}
`

func agentOf(t *testing.T, text string) *replay.FlowAgent {
	t.Helper()
	flows, err := flow.Load("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &replay.FlowAgent{
		Engine: flow.New(flow.Config{Model: llm.Lexical{}}), Flow: flows[0], Pipeline: &flow.MemoryPipeline{},
	}
}

// TestWhereAFlowBegins proves that a replay begins at the flow's start, and behind it where the log does.
func TestWhereAFlowBegins(t *testing.T) {
	for name, tc := range map[string]struct {
		flow string
		at   replay.Moment
		want string
	}{
		"the log begins behind the start":     {nodes, replay.Moment{State: "hello"}, "hello"},
		"the log begins at the start":         {nodes, replay.Moment{State: "begin"}, "begin"},
		"the log begins elsewhere":            {nodes, replay.Moment{State: "where"}, "begin"},
		"the log begins in an unknown state":  {nodes, replay.Moment{State: "greeting"}, "begin"},
		"the log has other names":             {nodes, replay.Moment{State: "HELLO!"}, "hello"},
		"put into a state of another name":    {nodes, replay.Moment{State: "Where?", Resumed: true}, "where"},
		"put into a state":                    {nodes, replay.Moment{State: "where", Resumed: true}, "where"},
		"a machine begins at its first state": {machine, replay.Moment{State: "thanks"}, "ask_size"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := agentOf(t, tc.flow).Open(t.Context(), tc.at)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.State(); got != tc.want {
				t.Errorf("it begins at %s, not %s", got, tc.want)
			}
		})
	}
	for _, state := range []string{"bye", "greeting"} {
		var notThere *replay.NotThereError
		if _, err := agentOf(t, nodes).Open(t.Context(), replay.Moment{State: state, Resumed: true}); !errors.As(err,
			&notThere) {
			t.Errorf("put into %s: got %v", state, err)
		}
	}
}

func TestFlowAgent(t *testing.T) {
	c, err := agentOf(t, nodes).Open(t.Context(), replay.Moment{State: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.Send(t.Context(), "I need a taxi")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		replay.Answer{Reply: chat.Reply{Text: "Where to?", Node: "where"}, State: "where"}, first); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	last, err := c.Send(t.Context(), "to the airport")
	if err != nil || !last.Completed || last.State != "bye" {
		t.Errorf("got %+v, %v", last, err)
	}
	pizza, err := agentOf(t, machine).Open(t.Context(), replay.Moment{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := pizza.Send(t.Context(), "large")
	if diff := cmp.Diff(map[string]any{"ask_size": "large"}, answer.Data); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestFlowAgentAsks(t *testing.T) {
	ride, pizza := agentOf(t, nodes), agentOf(t, machine)
	if a, b := pizza.RequestedField("ask_size"), pizza.RequestedField("ask_size_again"); a == "" || a != b {
		t.Errorf("the same field: %q, %q", a, b)
	}
	if a, b := ride.RequestedField("hello"), ride.RequestedField("where"); a == "" || a == b {
		t.Errorf("different options: %q, %q", a, b)
	}
	if a, b := ride.RequestedField("bye"), ride.RequestedField("nowhere"); a != "" || b != "" {
		t.Errorf("nothing is asked: %q, %q", a, b)
	}
}

// TestPromptOfVariant proves that a variant's prompt reaches the model at every turn, and leaves the flow as it is.
func TestPromptOfVariant(t *testing.T) {
	agent := agentOf(t, nodes)
	var seen []string
	model, err := llm.LoadScript("script.yaml", []byte(`
rules:
  - {when: {system: Be brief., after: tool}, reply: brief}
  - {when: {args: {current_node_id: hello}}, tool_calls: [{name: process_node, args: {current_node_id: hello, option_id: book}}]}
  - {when: {args: {current_node_id: where}}, tool_calls: [{name: process_node, args: {current_node_id: where, option_id: "-1"}}]}
default: {reply: long}
`))
	if err != nil {
		t.Fatal(err)
	}
	agent.Engine = flow.New(flow.Config{Model: model})
	plain := agent.Flow
	agent.Flow = plain.WithSystemPrompt("Be brief.")
	c, err := agent.Open(t.Context(), replay.Moment{State: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		answer, err := c.Send(t.Context(), "a taxi")
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, answer.Reply.Text)
	}
	if diff := cmp.Diff([]string{"brief", "brief"}, seen); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if plain.SystemPrompt != "" {
		t.Errorf("the flow now has the prompt %q", plain.SystemPrompt)
	}
}

func TestModelUser(t *testing.T) {
	model, err := llm.LoadScript("user.yaml", []byte(`
rules:
  - {when: {user: "agent: Where to"}, reply: "  To Rome.  "}
default: {reply: "[END]"}
`))
	if err != nil {
		t.Fatal(err)
	}
	user := &replay.ModelUser{Model: model}
	scene := replay.Scene{Session: talked("s"), Turns: []replay.VariationTurn{{User: "a ride", Bot: "Where to?"}}}
	said, more, err := user.Next(t.Context(), scene)
	if said != "To Rome." || !more || err != nil {
		t.Errorf("got %q, %v, %v", said, more, err)
	}
	scene.Turns[0].Bot = "Goodbye."
	if _, more, err = user.Next(t.Context(), scene); more || err != nil {
		t.Errorf("got %v, %v: the user has nothing more to say", more, err)
	}
}

// TestNamesOfTheLog proves that a lane is told in the log's words, so that GetRide:INFORM and the node getride_inform
// are one state.
func TestNamesOfTheLog(t *testing.T) {
	s := talked("s", "Hello! taxi → WHERE", "WHERE airport → BYE")
	s.Messages[0].Text, s.Messages[2].Text = "I need a taxi", "to the airport"
	pair, err := (&replay.Replayer{Candidate: agentOf(t, nodes), Mode: replay.Recorded}).Replay(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	replay.Measure(s, pair, replay.Measuring{})
	if diff := cmp.Diff([]string{"Hello! I need a taxi → WHERE", "WHERE to the airport → BYE"},
		way(pair.Variation(replay.Candidate))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if m := pair.Variation(replay.Candidate).Metrics; *m.StateProgression != 1 {
		t.Errorf("state progression %v", *m.StateProgression)
	}
}
