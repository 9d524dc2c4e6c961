package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/process"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// The ways in which a program serves conversations.
const (
	perConversation = "conversation"
	perTurn         = "turn"
	forAll          = "shared"
)

// dialogue says how a program is spoken with.
type dialogue struct {
	// text is true of a program that is sent and writes plain text; else both are lines of JSON.
	text bool
	// At most one of these says where a reply of text ends; without one it is a line.
	until, prompt string
	quiet         time.Duration
}

// wire carries a conversation: what is sent, and what comes back in order. Both end with their context.
type wire interface {
	send(ctx context.Context, message []byte) error
	next(ctx context.Context) ([]byte, error)
	// unread returns what came since next was called last. It does not wait.
	unread() [][]byte
	// close ends the conversation and returns when nothing of it is left.
	close()
}

// ownProcess is a conversation's own program.
type ownProcess struct {
	dialogue
	process *process.Process
	output  *process.Reader
	// begun is true once the program has been seen to wait for its first message.
	begun bool
}

func startOwn(c process.Command, d dialogue, most int) (wire, error) {
	p, err := process.Start(c)
	if err != nil {
		return nil, err
	}
	return &ownProcess{dialogue: d, process: p, output: process.NewReader(p, most)}, nil
}

func (w *ownProcess) send(ctx context.Context, message []byte) error {
	if !w.begun && w.prompt != "" {
		if said, err := w.output.Before(ctx, w.prompt); err != nil {
			_, err = w.ended(said, err)
			return err
		}
	}
	w.begun = true
	if w.text {
		message = oneLine(message)
	}
	return w.process.Write(ctx, append(message, '\n'))
}

// oneLine returns a text whose line breaks have become spaces.
func oneLine(text []byte) []byte {
	return []byte(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(string(text)))
}

func (w *ownProcess) next(ctx context.Context) ([]byte, error) {
	if !w.text {
		return jsonLine(func() ([]byte, error) { return w.ended(w.output.Line(ctx)) })
	}
	switch {
	case w.until != "":
		return w.ended(w.output.BeforeLine(ctx, w.until))
	case w.prompt != "":
		return w.ended(w.output.Before(ctx, w.prompt))
	case w.quiet > 0:
		return w.ended(w.output.BeforeQuiet(ctx, w.quiet))
	}
	return w.ended(w.output.Line(ctx))
}

// ended returns what was read last, or how the program has ended. What stands before the end of the output is whole if
// it is JSON, or if nothing says where a reply ends but its end, and the program had no fault.
func (w *ownProcess) ended(said []byte, err error) ([]byte, error) {
	if !errors.Is(err, io.EOF) {
		return said, err
	}
	w.process.Stop(process.Grace)
	ends := w.text && w.until == "" && w.prompt == "" && w.process.Exit() == nil
	if len(said) > 0 && (ends || !w.text && said[0] == '{' && json.Valid(said)) {
		return said, nil
	}
	return nil, w.process.Ended()
}

// unread returns lines of JSON one by one, and plain text in a piece. A program that prints a prompt is not waited for
// before it is spoken to.
func (w *ownProcess) unread() (waiting [][]byte) {
	switch said := bytes.TrimSpace(w.output.Waiting()); {
	case len(said) == 0, w.text && w.prompt != "" && !w.begun:
	case w.text:
		waiting = append(waiting, said)
	default:
		for line := range bytes.Lines(said) {
			if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("{")) {
				waiting = append(waiting, line)
			}
		}
	}
	return waiting
}

func (w *ownProcess) close() { w.process.Stop(process.Grace) }

// jsonLine returns the first line that begins like an object; others are the agent's logging.
func jsonLine(line func() ([]byte, error)) ([]byte, error) {
	for {
		read, err := line()
		if err != nil || bytes.HasPrefix(read, []byte("{")) {
			return read, err
		}
	}
}

// sharedProcess is a conversation's part of a program that serves all.
type sharedProcess struct {
	*process.Client
	id string
}

func (w sharedProcess) send(ctx context.Context, message []byte) error {
	line, err := withConversation(message, w.id)
	if err != nil {
		return err
	}
	return w.Send(ctx, append(line, '\n'))
}

func (w sharedProcess) next(ctx context.Context) ([]byte, error) { return w.Line(ctx) }
func (w sharedProcess) unread() [][]byte                         { return w.Waiting() }
func (w sharedProcess) close()                                   { w.Leave() }

// withConversation adds the id of a conversation to a line that has none.
func withConversation(line []byte, id string) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		return nil, errors.New("the body of a shared process is not a mapping")
	}
	if _, ok := members["conversation_id"]; ok {
		return line, nil
	}
	value, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	members["conversation_id"] = value
	return json.Marshal(members)
}

// ownerOf returns the conversation that a line of a shared process belongs to. Lines that do not begin like an object
// are the agent's logging.
func ownerOf(line []byte) (string, error) {
	if !bytes.HasPrefix(line, []byte("{")) {
		return "", nil
	}
	var said struct {
		ID any `json:"conversation_id"`
	}
	if err := json.Unmarshal(line, &said); err != nil {
		return "", fmt.Errorf("%w: %.200s", answer.ErrNotJSON, line)
	}
	id, ok := said.ID.(string)
	if !ok {
		return "", fmt.Errorf("a line of a shared process has no conversation_id: %.200s", line)
	}
	return id, nil
}

// turnProcess starts a program for each turn.
type turnProcess struct {
	command func() (process.Command, error)
	// onInput is true if the message goes to the standard input.
	onInput bool
	most    int
	message []byte
}

func (w *turnProcess) send(_ context.Context, message []byte) error {
	w.message = message
	return nil
}

func (w *turnProcess) next(ctx context.Context) ([]byte, error) {
	command, err := w.command()
	if err != nil {
		return nil, err
	}
	var input []byte
	if w.onInput {
		input = append(w.message, '\n')
	}
	output, err := process.Run(ctx, command, input, w.most)
	if failed, ok := errors.AsType[*process.ExitError](err); ok {
		err = failed.Ended()
	}
	return bytes.TrimRight(output, "\r\n"), err
}

func (w *turnProcess) unread() [][]byte { return nil }
func (w *turnProcess) close()           {}

// Program is a program as it is configured: its words and its environment are templates.
type Program struct {
	Words []*template.Template
	Dir   string
	// Environ is the environment that programs may see; Env is set besides.
	Environ []string
	Env     map[string]*template.Template
}

// command fills in what a conversation is about.
func (p Program) command(v *template.Values) (process.Command, error) {
	c := process.Command{Dir: p.Dir, Env: append([]string{}, p.Environ...)}
	if v.MCPURL != "" {
		c.Env = append(c.Env, mcpVariable+"="+v.MCPURL)
	}
	for _, word := range p.Words {
		filled, _, err := word.Text(v, template.Plain)
		if err != nil {
			return c, err
		}
		if strings.ContainsRune(filled, 0) {
			return c, errors.New("an argument of the program has a zero byte")
		}
		c.Words = append(c.Words, filled)
	}
	for name, value := range p.Env {
		filled, _, err := value.Text(v, template.Plain)
		if err != nil {
			return c, err
		}
		c.Env = append(c.Env, name+"="+filled)
	}
	return c, nil
}
