package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Reader reads replies out of the output of a program. Each of its methods ends with ctx, whose error it then returns;
// at the end of the output the error is io.EOF, with what came before it, and a reply of more than Most bytes is
// ErrTooLong. It is for one goroutine.
type Reader struct {
	// From is read into a buffer and gives its number of bytes, like Process.Read.
	From func(ctx context.Context, into []byte) (int, error)
	// Most is the most that a reply may have, in bytes.
	Most int
	// read is what has been read and not been returned; searched is how much of it was looked through in vain.
	read     []byte
	searched int
}

// NewReader returns a reader of a program's output.
func NewReader(p *Process, most int) *Reader { return &Reader{From: p.Read, Most: most} }

// fill reads more.
func (r *Reader) fill(ctx context.Context) error {
	if len(r.read) > r.Most {
		return fmt.Errorf("%w %d bytes", ErrTooLong, r.Most)
	}
	const least = 4 << 10
	if cap(r.read)-len(r.read) < least {
		grown := make([]byte, len(r.read), 2*cap(r.read)+least)
		copy(grown, r.read)
		r.read = grown
	}
	n, err := r.From(ctx, r.read[len(r.read):min(cap(r.read), len(r.read)+r.Most+1)])
	r.read = r.read[:len(r.read)+n]
	return err
}

// take returns the first n bytes of what was read and passes over skip more.
func (r *Reader) take(n, skip int) []byte {
	taken := bytes.Clone(r.read[:n])
	rest := r.read[n+skip:]
	if len(rest) == 0 {
		r.read = nil // a long reply's buffer is not kept for the conversation
	} else {
		r.read = append(r.read[:0], rest...)
	}
	r.searched = 0
	return taken
}

// find reads until the text is there, and returns what stands before it.
func (r *Reader) find(ctx context.Context, text string) ([]byte, error) {
	for {
		from := max(0, r.searched-len(text)+1)
		if at := bytes.Index(r.read[from:], []byte(text)); at >= 0 {
			if from+at > r.Most {
				return nil, fmt.Errorf("%w %d bytes", ErrTooLong, r.Most)
			}
			return r.take(from+at, len(text)), nil
		}
		r.searched = len(r.read)
		if err := r.fill(ctx); errors.Is(err, io.EOF) {
			return r.take(len(r.read), 0), err
		} else if err != nil {
			return nil, err
		}
	}
}

// glance is how long Waiting looks for output that the program has written already.
const glance = 200 * time.Microsecond

// Waiting returns what the program has written and nobody has taken. It takes nothing and waits for nothing.
func (r *Reader) Waiting() []byte {
	if len(r.read) <= r.Most { // else the next reply is too long anyway
		ctx, cancel := context.WithTimeout(context.Background(), glance)
		_ = r.fill(ctx) // the end of the output is told to whoever reads on
		cancel()
	}
	return bytes.Clone(r.read)
}

// Line returns the next line, without its end.
func (r *Reader) Line(ctx context.Context) ([]byte, error) {
	line, err := r.find(ctx, "\n")
	return bytes.TrimSuffix(line, []byte("\r")), err
}

// Before returns what the program writes before a text, without a line break at its end.
func (r *Reader) Before(ctx context.Context, text string) ([]byte, error) {
	said, err := r.find(ctx, text)
	return withoutEnd(said), err
}

// BeforeLine returns the lines before one that is the text, without a line break at their end.
func (r *Reader) BeforeLine(ctx context.Context, text string) ([]byte, error) {
	var said []byte
	for {
		line, err := r.Line(ctx)
		switch {
		case string(line) == text:
			return withoutEnd(said), nil
		case err != nil:
			return append(said, line...), err
		case len(said)+len(line) > r.Most:
			return nil, fmt.Errorf("%w %d bytes", ErrTooLong, r.Most)
		}
		said = append(append(said, line...), '\n')
	}
}

// BeforeQuiet returns what the program writes until it writes nothing for so long, without a line break at its end. It
// waits for the first byte.
func (r *Reader) BeforeQuiet(ctx context.Context, quiet time.Duration) ([]byte, error) {
	for len(r.read) == 0 {
		if err := r.fill(ctx); err != nil {
			return nil, err
		}
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, quiet)
		err := r.fill(waiting)
		cancel()
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			return withoutEnd(r.take(len(r.read), 0)), nil
		case errors.Is(err, io.EOF):
			return withoutEnd(r.take(len(r.read), 0)), err
		}
		return nil, err
	}
}

func withoutEnd(said []byte) []byte { return bytes.TrimRight(said, "\r\n") }
