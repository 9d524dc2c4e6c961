package target_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/chat"
	"github.com/rehearse-dev/rehearse/internal/config"
	"github.com/rehearse-dev/rehearse/internal/llm"
	"github.com/rehearse-dev/rehearse/internal/runner"
	"github.com/rehearse-dev/rehearse/internal/suite"
	"github.com/rehearse-dev/rehearse/internal/target"
)

// A model is a target that is sent the whole conversation with every turn. Here a script plays the model.
func ExampleModel() {
	model, err := llm.Open(config.Model{Provider: "scripted", Name: "agent.yaml"}, llm.Options{
		ReadFile: func(string) ([]byte, error) {
			return []byte("rules: [{when: {turn: 2}, reply: Still here.}]\ndefault: {reply: Hello!}"), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := (&target.Model{Model: model}).Open(context.Background(), runner.Opening{Test: &suite.Test{ID: "greeting"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = session.Close() }() // a model keeps no session
	for _, message := range []string{"Hi", "Are you there?"} {
		reply, err := session.Send(context.Background(), chat.Content{Text: message})
		fmt.Println(reply.Text, err)
	}
	// Output:
	// Hello! <nil>
	// Still here. <nil>
}
