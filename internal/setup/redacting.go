package setup

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"rehearse/internal/chat"
	"rehearse/internal/llm"
	"rehearse/internal/redact"
)

// redactingModel is a model whose replies never repeat a secret, even when the model echoes one.
// It wraps the model before anything keeps or passes on a reply.
type redactingModel struct {
	llm.Model
	secrets *redact.Redactor
}

// Generate asks the model and replaces secrets in the reply.
func (m *redactingModel) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	return m.redacted(m.Model.Generate(ctx, r))
}

// Stream asks the model. It passes the text to token as it comes, without secrets.
func (m *redactingModel) Stream(ctx context.Context, r llm.Request, token func(string)) (chat.Reply, error) {
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
	return m.redacted(reply, err)
}

// redacted returns an answer without secrets.
func (m *redactingModel) redacted(reply chat.Reply, err error) (chat.Reply, error) {
	reply.Text = m.secrets.Text(reply.Text)
	for i := range reply.ToolCalls {
		call := &reply.ToolCalls[i]
		call.Args, call.Result = m.secrets.Bytes(call.Args), m.secrets.Bytes(call.Result)
	}
	if fault, ok := errors.AsType[*llm.Error](err); ok {
		clean := *fault
		clean.Message = m.secrets.Text(clean.Message)
		return reply, &clean
	}
	return reply, err
}

// wholeWords splits a text after its last character that no secret contains: a blank, or one outside ASCII.
// The rest may be the beginning of a secret.
func wholeWords(text string) (whole, rest string) {
	end := strings.LastIndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsSpace(r) })
	if end < 0 {
		return "", text
	}
	for end++; end < len(text) && text[end]&0xC0 == 0x80; end++ { // to the end of the character
	}
	return text[:end], text[end:]
}
