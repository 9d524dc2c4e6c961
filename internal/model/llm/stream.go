package llm

import (
	"context"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Streamer is implemented by models that can give out their text while it comes.
type Streamer interface {
	// Stream is Generate with the text of the reply given to token piece by piece, in order, before it returns the
	// whole. What was given out before an error stays given out. Token is not called at the same time twice, nor after
	// the return.
	Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error)
}

// Stream asks model and gives its text to token as it comes, or in one piece when the model is no Streamer.
// A reply without text gives nothing.
func Stream(ctx context.Context, model Model, r Request, token func(string)) (chat.Reply, error) {
	if s, ok := model.(Streamer); ok {
		return s.Stream(ctx, r, token)
	}
	reply, err := model.Generate(ctx, r)
	return inOnePiece(reply, err, token)
}

// inOnePiece gives the text of a reply that came as a whole.
func inOnePiece(reply chat.Reply, err error, token func(string)) (chat.Reply, error) {
	if err == nil && reply.Text != "" {
		token(reply.Text)
	}
	return reply, err
}

// ask is Stream, or Generate when token is nil. Wrappers of models serve both calls with it.
func ask(ctx context.Context, model Model, r Request, token func(string)) (chat.Reply, error) {
	if token == nil {
		return model.Generate(ctx, r)
	}
	return Stream(ctx, model, r, token)
}

// giveWords gives a text word by word, each with the white space behind it, until the context ends.
func giveWords(ctx context.Context, text string, token func(string)) error {
	for text != "" {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		end := len(text) // where the white space behind the first word ends
		if space := strings.IndexAny(text, " \t\n\r"); space >= 0 {
			end = len(text) - len(strings.TrimLeft(text[space:], " \t\n\r"))
		}
		token(text[:end])
		text = text[end:]
	}
	return nil
}
