package process

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rehearse-dev/rehearse/internal/base/mailbox"
)

// ErrTooLong says that a program wrote more than it may.
var ErrTooLong = mailbox.ErrTooLong

// ExitError is a program that ended with a status other than 0.
type ExitError struct {
	// Err is the *exec.ExitError.
	Err error
	// Stderr is the end of what the program wrote to its standard error.
	Stderr string
}

func (e *ExitError) Error() string {
	if e.Stderr == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v, and it says: %s", e.Err, e.Stderr)
}

func (e *ExitError) Unwrap() error { return e.Err }

// Ended returns the same as Process.Ended.
func (e *ExitError) Ended() error { return &EndError{how(e.Err), e.Stderr} }

// Run starts a program, gives it the input and returns all of its standard output, at most so many bytes. When ctx
// ends, or the output becomes larger, the program is killed with all that it has started. The error is ctx's own,
// ErrTooLong, an *ExitError, or says that the program cannot be started.
func Run(ctx context.Context, c Command, input []byte, most int) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	p, err := Start(c)
	if err != nil {
		return nil, err
	}
	written := make(chan struct{})
	writing, unread := context.WithCancel(ctx)
	go func() {
		defer close(written)
		_ = p.Write(writing, input) // ends with ctx, as reading does
		p.CloseInput()
	}()
	output, err := p.readAll(ctx, most)
	unread()
	<-written
	if err != nil {
		p.Stop(0)
		return nil, err
	}
	select {
	case <-p.Exited():
	case <-ctx.Done():
		p.Stop(0)
		return nil, ctx.Err()
	}
	p.Stop(Grace)
	if p.Exit() != nil {
		return nil, &ExitError{p.Exit(), p.Stderr()}
	}
	return output, nil
}

// readAll reads the output to its end.
func (p *Process) readAll(ctx context.Context, most int) ([]byte, error) {
	var output []byte
	part := make([]byte, 32<<10)
	for {
		n, err := p.Read(ctx, part)
		output = append(output, part[:n]...)
		switch {
		case len(output) > most:
			return nil, fmt.Errorf("%w %d bytes", ErrTooLong, most)
		case errors.Is(err, io.EOF):
			return output, nil
		case err != nil:
			return nil, err
		}
	}
}
