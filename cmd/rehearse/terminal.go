package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
)

// terminal holds a conversation with whoever writes lines on standard input, a person or a pipe.
type terminal struct {
	env *Env
	// say answers a message; over is true when the conversation has come to its end.
	say func(ctx context.Context, message string) (over bool, err error)
	// state shows what the agent remembers, reset begins anew.
	state func(ctx context.Context) error
	reset func() error
}

// maxLine bounds one message.
const maxLine = 64 << 10

func (t *terminal) run(ctx context.Context) error {
	if err := t.reset(); err != nil {
		return err
	}
	lines := bufio.NewScanner(t.env.Stdin)
	lines.Buffer(nil, maxLine)
	for t.prompt(); lines.Scan(); t.prompt() {
		over, err := t.line(ctx, strings.TrimSpace(lines.Text()))
		if err != nil || over {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return usage("a message is longer than %d KB", maxLine>>10)
	} else if err != nil {
		return outcome(err)
	}
	return nil
}

func (t *terminal) prompt() {
	if t.env.Interactive {
		fmt.Fprint(t.env.Stderr, "> ")
	}
}

// line carries out a command, or answers a message.
func (t *terminal) line(ctx context.Context, text string) (over bool, err error) {
	switch text {
	case "":
		return false, nil
	case "/quit", "/exit":
		return true, nil
	case "/reset":
		return false, t.reset()
	case "/state":
		return false, t.state(ctx)
	}
	return t.say(ctx, text)
}
