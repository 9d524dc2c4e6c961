package llm_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// A model that is played from a file of rules needs neither a network nor a key.
func ExampleOpen() {
	script := `
rules:
  - {when: {user: 'weather in (\w+)'}, reply: It rains in $1.}
default: {reply: Pardon?}
`
	model, err := llm.Open(config.Model{Provider: "scripted", Name: "weather.yaml"}, llm.Options{
		ReadFile: func(string) ([]byte, error) { return []byte(script), nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := llm.Request{Messages: []chat.Message{chat.NewMessage(chat.User, "How is the weather in Bergen?")}}
	reply, err := model.Generate(context.Background(), request)
	fmt.Println(reply.Text, err)
	// Output: It rains in Bergen. <nil>
}
