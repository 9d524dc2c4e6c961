package main

import (
	"context"
	"strings"

	"rehearse/internal/dataset"
	"rehearse/internal/llm"
)

// lexicalLeast is how similar to its texts a message must be for one of several labels, lexicalNear how close to the best of them.
const lexicalLeast, lexicalNear = 0.15, 0.9

// lexicalClassifier predicts the label whose examples, or whose name, have the words of the message. A message that shares none has no answer.
func lexicalClassifier(options []llm.Option, several bool) classifier {
	menu := llm.NewMenu("label", options, "")
	return func(ctx context.Context, item *dataset.Item) (p dataset.Prediction, err error) {
		ranked := menu.Rank(item.Message)
		if len(ranked) == 0 || ranked[0].Score == 0 {
			return dataset.Prediction{Null: true}, ctx.Err()
		}
		best := ranked[0].Score
		p.Confidence, p.Labels = &best, []string{ranked[0].ID}
		if several {
			p.Labels = []string{}
			for _, r := range ranked {
				if r.Score >= max(lexicalLeast, lexicalNear*best) && len(p.Labels) < dataset.MaxLabels {
					p.Labels = append(p.Labels, r.ID)
				}
			}
		}
		return p, ctx.Err()
	}
}

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
