package conversation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestSaidIn takes the transcript where it fits the turns, and the turns where it does not.
func TestSaidIn(t *testing.T) {
	say := chat.NewMessage
	turns := []result.Turn{{Input: chat.Content{Text: "a"}, Output: "A"}, {Input: chat.Content{Text: "b"}}}
	for _, c := range []struct {
		name   string
		output []chat.Message
		said   []utterance
		turns  []int
	}{
		{
			"after what was said before",
			[]chat.Message{
				say(chat.User, "x"), say(chat.Assistant, "X"), say(chat.User, "a"), say(chat.Tool, "{}"),
				say(chat.Assistant, "A"), say(chat.User, "b"),
			},
			[]utterance{
				{chat.User, "x"},
				{chat.Assistant, "X"},
				{chat.User, "a"},
				{chat.Assistant, "A"},
				{chat.User, "b"},
			},
			[]int{2, 4},
		},
		{
			"another transcript",
			[]chat.Message{say(chat.User, "x"), say(chat.User, "y")},
			[]utterance{{chat.User, "a"}, {chat.Assistant, "A"}, {chat.User, "b"}},
			[]int{0, 2},
		},
		{"no transcript", nil, []utterance{{chat.User, "a"}, {chat.Assistant, "A"}, {chat.User, "b"}}, []int{0, 2}},
	} {
		said, at := utterancesOf(&result.Test{Output: c.output, Turns: turns})
		if d := cmp.Diff(c.said, said) + cmp.Diff(c.turns, at); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
