// Package mailbox keeps what has come for a conversation until it is taken, within a bound.
package mailbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrTooLong says that more has come than may.
var ErrTooLong = errors.New("larger than")

// Most is how many lines or messages wait at most: each takes room, also an empty one.
const Most = 1 << 16

// ErrTooMany says that more than Most have come.
var ErrTooMany = fmt.Errorf("larger than %d messages", Most)

// Box holds lines or messages in the order in which they came. Any goroutine may put; one takes. Make it with New.
type Box struct {
	most int
	// news has room for one signal: something has come.
	news chan struct{}

	mu     sync.Mutex
	held   [][]byte
	bytes  int
	failed error
}

// New returns a box for at most so many bytes.
func New(most int) *Box { return &Box{most: most, news: make(chan struct{}, 1)} }

// Put adds a line or message, which the box then owns. One that does not fit is dropped, and fails the box with
// ErrTooLong or ErrTooMany. Nothing fits after a failure: what followed a gap would be taken for what belongs there.
func (b *Box) Put(data []byte) (fits bool) {
	b.mu.Lock()
	switch {
	case b.failed != nil:
	case b.bytes+len(data) > b.most:
		b.failed = fmt.Errorf("%w %d bytes", ErrTooLong, b.most)
	case len(b.held) == Most:
		b.failed = ErrTooMany
	default:
		b.held, b.bytes = append(b.held, data), b.bytes+len(data)
		fits = true
	}
	b.mu.Unlock()
	b.tell()
	return fits
}

// Fail makes Next return an error once everything that came before it is taken. The first error counts.
func (b *Box) Fail(err error) {
	b.mu.Lock()
	if b.failed == nil {
		b.failed = err
	}
	b.mu.Unlock()
	b.tell()
}

func (b *Box) tell() {
	select {
	case b.news <- struct{}{}:
	default: // there is a signal already
	}
}

// Next waits for the next line or message and takes it. The error is that of Fail, or of ctx.
func (b *Box) Next(ctx context.Context) ([]byte, error) {
	for {
		b.mu.Lock()
		failed := b.failed
		if len(b.held) > 0 {
			data := b.held[0]
			b.held[0] = nil
			b.held, b.bytes = b.held[1:], b.bytes-len(data)
			b.mu.Unlock()
			return data, nil
		}
		b.held = nil
		b.mu.Unlock()
		if failed != nil {
			return nil, failed
		}
		select {
		case <-b.news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Waiting takes what has come and was not taken, without waiting for more.
func (b *Box) Waiting() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.held
	b.held, b.bytes = nil, 0
	return held
}

// Len returns how many lines or messages wait to be taken.
func (b *Box) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.held)
}
