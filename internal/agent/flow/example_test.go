package flow_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// A session of an engine carries the state from turn to turn. The lexical model chooses options by their examples.
func ExampleEngine() {
	flows, err := flow.Load("cafe.flow.yaml", []byte(`
id: cafe
name: Café
version: 1.0.0
nodes:
  - id: start
    type: start
    prompt: You work in a café.
    next: [ask]
  - id: ask
    type: conversation
    prompt: What would you like to drink?
    options: [{id: coffee, label: coffee, when: the user orders coffee, examples: [a coffee please], next: done}]
  - id: done
    type: stop
    prompt: Your coffee is on its way.
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := llm.Open(config.Model{Provider: config.Lexical}, llm.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := flow.New(flow.Config{Model: model}).Begin(flows[0], flow.Seed{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, message := range []string{"Hello", "A coffee, please"} {
		result, err := session.Send(context.Background(), message, flow.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.AssistantMessage, session.Completed())
	}
	// Output:
	// What would you like to drink? false
	// Your coffee is on its way. true
}
