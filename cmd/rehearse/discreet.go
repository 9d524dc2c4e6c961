package main

import (
	"context"
	"strings"
	"unicode"

	"rehearse/internal/chat"
	"rehearse/internal/llm"
)

// Stream asks the model with its text given to token as it comes, without secrets.
func (m *discreet) Stream(ctx context.Context, r llm.Request, token func(string)) (chat.Reply, error) {
	var kept strings.Builder
	give := func(text string) {
		if text != "" {
			token(m.secrets.Text(text))
		}
	}
	reply, err := llm.Stream(ctx, m.Model, r, func(piece string) {
		kept.WriteString(piece)
		whole, rest := wholeWords(kept.String())
		kept.Reset()
		kept.WriteString(rest)
		give(whole)
	})
	if err == nil {
		give(kept.String())
	}
	return (&discreet{answered{reply, err}, m.secrets}).Generate(ctx, r)
}

// answered is a model that has answered already.
type answered struct {
	reply chat.Reply
	err   error
}

// Generate returns the answer.
func (a answered) Generate(context.Context, llm.Request) (chat.Reply, error) { return a.reply, a.err }

// wholeWords cuts a text behind its last character that no secret has: a blank, or one outside ASCII.
// What follows may be the beginning of a secret.
func wholeWords(text string) (whole, rest string) {
	end := strings.LastIndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsSpace(r) })
	if end < 0 {
		return "", text
	}
	for end++; end < len(text) && text[end]&0xC0 == 0x80; end++ { // to the end of the character
	}
	return text[:end], text[end:]
}
