package recording

import (
	"context"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// pieces is a model that says its text in these pieces.
type pieces []string

func (p pieces) Generate(context.Context, llm.Request) (chat.Reply, error) {
	return chat.Reply{Text: strings.Join(p, "")}, nil
}

func (p pieces) Stream(ctx context.Context, r llm.Request, token func(string)) (chat.Reply, error) {
	for _, piece := range p {
		token(piece)
	}
	return p.Generate(ctx, r)
}

// A secret does not get through in pieces, and what cannot be the beginning of one is not held back.
func TestRedactingStream(t *testing.T) {
	secrets := redact.New([]string{"A_KEY=sk-1234567890"})
	for name, c := range map[string]struct {
		says pieces
		want []string
	}{
		"one piece": {pieces{"the key sk-1234567890 it is."}, []string{"the key [redacted A_KEY] it is."}},
		"letter by letter": {
			pieces(strings.Split("a sk-1234567890, b", "")), []string{"a", " ", "[redacted A_KEY],", " ", "b"},
		},
		"several words": {pieces{"s", "k-12", "34", "5 is no key"}, []string{"sk-12345 is no key"}},
		"words":         {pieces{"Hello ", "there, ", "you"}, []string{"Hello ", "there, ", "you"}},
		"no blanks":     {pieces{"您", "好，", "sk-12345", "67890", "。"}, []string{"您", "好，", "[redacted A_KEY]。"}},
		"nothing":       {pieces{""}, nil},
	} {
		var got []string
		reply, err := (&redactingModel{c.says, secrets}).Stream(t.Context(), llm.Request{}, func(piece string) {
			got = append(got, piece)
		})
		if err != nil || reply.Text != strings.Join(got, "") || strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: %q, want %q; the reply is %q, %v", name, got, c.want, reply.Text, err)
		}
	}
}
