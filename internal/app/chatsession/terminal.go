package chatsession

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Terminal holds a conversation with whoever writes lines, a person or a pipe. /state, /reset and /quit are commands; a
// blank line says nothing.
type Terminal struct {
	In io.Reader
	// Prompt is where a prompt is written before each line; nil writes none.
	Prompt io.Writer
	// Send answers a message; over is true when the conversation has come to its end.
	Send func(ctx context.Context, message string) (over bool, err error)
	// State shows what the agent remembers, Reset begins anew. Reset is called once before the first line.
	State func(ctx context.Context) error
	Reset func(ctx context.Context) error
}

// maxLine bounds one message.
const maxLine = 64 << 10

// Run holds the conversation until the lines end, one of them is /quit, Say says that it is over, or ctx ends. The
// first error ends it, too.
func (t *Terminal) Run(ctx context.Context) error {
	if err := t.Reset(ctx); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	lines := read(t.In, stop)
	for {
		if t.Prompt != nil {
			fmt.Fprint(t.Prompt, "> ")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case l, ok := <-lines:
			if !ok || l.err != nil {
				return l.err
			}
			if over, err := t.line(ctx, l.text); err != nil || over {
				return err
			}
		}
	}
}

// line carries out a command, or answers a message.
func (t *Terminal) line(ctx context.Context, text string) (over bool, err error) {
	switch text {
	case "":
		return false, nil
	case "/quit", "/exit":
		return true, nil
	case "/reset":
		return false, t.Reset(ctx)
	case "/state":
		return false, t.State(ctx)
	}
	return t.Send(ctx, text)
}

type line struct {
	text string
	err  error
}

// read returns the lines of a reader, without white space at their ends. A read that waits for a person cannot be
// broken off: its goroutine ends with the next line or the program.
func read(from io.Reader, stop <-chan struct{}) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(from)
		scanner.Buffer(nil, maxLine)
		for scanner.Scan() {
			select {
			case lines <- line{text: strings.TrimSpace(scanner.Text())}:
			case <-stop:
				return
			}
		}
		err := scanner.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = source.Invalid("a message is longer than %d KB", maxLine>>10)
		}
		if err != nil {
			select {
			case lines <- line{err: err}:
			case <-stop:
			}
		}
	}()
	return lines
}
