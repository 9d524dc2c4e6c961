package llm

import (
	"context"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

var (
	_ Model    = Lexical{}
	_ Streamer = Lexical{}
)

const (
	// lexicalLeast is the similarity below which no option fits.
	lexicalLeast = 0.15
	// lexicalMargin is how much better than the second an option has to be.
	lexicalMargin = 0.02
)

// Lexical is a small deterministic model inside the program: it takes the option of a tool's Menu whose texts are most
// like the user's message, and answers with the prompt that the tool returns. It is a baseline without a language
// model, not a pretence of one.
//
// No option fits when the best is less similar than 0.15 or leads by less than 0.02: then it stays or, where one must
// be chosen, takes the first. A tool that answers {"error": …} is asked once more, with what certainly is allowed;
// after that the model answers in text, so no loop is endless. It uses no tokens. The zero value is ready and safe for
// concurrent use.
type Lexical struct{}

// Generate chooses, or answers with the prompt that was chosen. A request that leaves nothing to choose is Refused,
// except that a JSON schema of nothing but lists is answered with empty ones.
func (Lexical) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	if ctx.Err() != nil {
		return chat.Reply{}, ctx.Err()
	}
	start := time.Now()
	reply, err := lexicalReply(&r)
	if err != nil {
		return chat.Reply{}, err
	}
	reply.Latency, reply.Attempts = time.Since(start), 1
	reply.FinishReason = ended(reply)
	return reply, nil
}

// Stream is Generate with the text given word by word.
func (l Lexical) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	reply, err := l.Generate(ctx, r)
	if err == nil {
		err = giveWords(ctx, reply.Text, token)
	}
	if err != nil {
		return chat.Reply{}, err
	}
	return reply, nil
}

func lexicalReply(r *Request) (chat.Reply, error) {
	tool := chooseTool(r)
	user, tries, result := lexicalTurn(r, tool)
	switch {
	case tool != nil && tries == 0:
		return tool.Menu.call(r, tool.Name, tool.Menu.choose(user))
	case tool != nil && tries == 1 && result.failed:
		return tool.Menu.call(r, tool.Name, tool.Menu.certain(result.allowed))
	case result != nil:
		return chat.Reply{Text: result.text()}, nil
	case r.Schema != nil:
		if empty, ok := emptyLists(r.Schema.JSON); ok {
			return chat.Reply{Text: empty}, nil
		}
	}
	return chat.Reply{}, &Error{
		Fault: Refused, Model: lexicalName, Attempts: 1,
		Message: "there is nothing to choose: it only takes steps in a flow and labels of a classifier, " +
			"by the words that a message shares with them",
		Hint: "use a language model for this, such as openai:gpt-5, or a script",
	}
}

// lexicalTurn returns what the user said last, how often the tool was called since, and the last result of any tool
// since, nil without one.
func lexicalTurn(r *Request, tool *Tool) (user string, tries int, last *stepResult) {
	content := -1
	for i := len(r.Messages) - 1; i >= 0; i-- {
		switch m := &r.Messages[i]; {
		case m.Role == chat.User:
			return m.Content.String(), tries, readStep(r.Messages, content)
		case m.Role == chat.Tool:
			content = max(content, i)
			if tool != nil && calledTool(r.Messages, i) == tool.Name {
				tries++
			}
		}
	}
	return "", tries, readStep(r.Messages, content)
}

// chooseTool returns the tool with a menu that may be called: the one that is asked for or, when the choice is free,
// the first.
func chooseTool(r *Request) *Tool {
	for i := range r.Tools {
		t := &r.Tools[i]
		switch {
		case t.Menu == nil:
		case r.ToolChoice == t.Name, r.ToolChoice == "", r.ToolChoice == "auto", r.ToolChoice == "required":
			return t
		}
	}
	return nil
}

const lexicalName = "lexical:default"

func openLexical(m config.Model, _ Options) (Model, string, error) {
	if m.Name != "" && m.Name != "default" {
		return nil, "", &Error{
			Fault: Refused, Model: m.String(), Message: fmt.Sprintf("there is no lexical model %q", m.Name),
			Hint: "write lexical: there is one only",
		}
	}
	return Lexical{}, "", nil
}
