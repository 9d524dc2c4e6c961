package target

import (
	"context"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// lexicalLeast is how similar to its texts a message must be for one of several labels, lexicalNear how close to the
// best of them.
const lexicalLeast, lexicalNear = 0.15, 0.9

// lexicalChoice predicts the label whose examples, or whose name, have the words of the message. A message that shares
// none has no answer.
func lexicalChoice(c Choice) runner.Target {
	menu := llm.NewMenu("label", c.options(), "")
	return labels(func(_ context.Context, a classifierRequest) (Classification, chat.Reply, error) {
		return choose(menu, c.Several, a.message), chat.Reply{}, nil
	})
}

func choose(menu *llm.Menu, several bool, message string) Classification {
	ranked := menu.Rank(message)
	if len(ranked) == 0 || ranked[0].Score == 0 {
		return Classification{}
	}
	best := ranked[0].Score
	if !several {
		return Classification{Label: &ranked[0].ID, Labels: []string{ranked[0].ID}, Confidence: &best}
	}
	found := Classification{Labels: []string{}, Confidence: &best}
	for _, r := range ranked {
		if r.Score >= max(lexicalLeast, lexicalNear*best) && len(found.Labels) < maxLabels {
			found.Labels = append(found.Labels, r.ID)
		}
	}
	return found
}

// maxLabels is how many labels one message may have.
const maxLabels = 100

// inWords makes words of a label such as card_arrival or CardArrival.
func inWords(label string) string {
	var b strings.Builder
	lower := false
	for _, r := range label {
		upper := r >= 'A' && r <= 'Z'
		switch {
		case r == '_' || r == '-' || r == '.' || r == '/':
			r = ' '
		case upper && lower:
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z'
		b.WriteRune(r)
	}
	return b.String()
}
