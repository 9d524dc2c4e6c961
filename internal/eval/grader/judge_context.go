package grader

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// excerpt is the context that a judge of criteria sees beside the reply. For an agent that shows its state, it
// is the prompt of the current node, the live facts and the user's last message; for any other agent, the conversation
// as graders see it.
func excerpt(x *runner.Exchange) string {
	shown, problem := stateOf[struct {
		Node *struct {
			Prompt string `json:"prompt"`
		} `json:"next_node_descriptor"`
		Memory *memory `json:"memory"`
	}](x)
	if problem != "" || shown.Node == nil && shown.Memory == nil {
		return chat.Format(x.Input)
	}
	var lines []string
	if shown.Node != nil && shown.Node.Prompt != "" {
		lines = append(lines, "node prompt: "+shown.Node.Prompt)
	}
	if shown.Memory != nil {
		for _, f := range shown.Memory.live() {
			lines = append(lines, "fact: "+f.Key+" = "+plainText(f.Value))
		}
	}
	if said, ok := lastUser(x.Input); ok {
		lines = append(lines, "user: "+said)
	}
	return strings.Join(lines, "\n")
}

func lastUser(messages []chat.Message) (said string, ok bool) {
	for _, m := range messages {
		if m.Role == chat.User {
			said, ok = m.Content.String(), true
		}
	}
	return said, ok
}
