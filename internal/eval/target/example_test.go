package target_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
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
	session, err := (&target.Model{Model: model}).Open(context.Background(), runner.Opening{
		Test: &suite.Test{ID: "greeting"},
	})
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
