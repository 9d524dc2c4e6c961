package transcript

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Earlier returns the messages of a conversation before the first turn: what the test puts into the history.
func Earlier(t *result.Test) []chat.Message {
	end := len(t.Output)
	for _, v := range slices.Backward(t.Turns) {
		want := v.Input.String()
		for j := end - 1; j >= 0; j-- {
			if m := t.Output[j]; m.Role == chat.User && m.Content.String() == want {
				end = j
				break
			}
		}
	}
	return t.Output[:end]
}
