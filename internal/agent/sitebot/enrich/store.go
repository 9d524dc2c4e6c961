package enrich

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// keepLimit is how long one source may take to remember an answer. Nobody waits for it.
	keepLimit = 2 * time.Second
	// writesMost is how many answers are being kept at once; beyond that they are not, and will be looked up again.
	writesMost = 64
)

// writes are the answers that are being kept in the background.
type writes struct {
	failed func(source string, err error)
	slots  chan struct{}

	mu     sync.Mutex
	closed bool
	group  sync.WaitGroup
}

// keep has every source that can remember a company. The turn goes on meanwhile, and may well end before.
func (c *Chain) keep(ctx context.Context, v Visitor, p Profile) {
	v.Reveal = nil // the caller's memory, and no keeper's business
	for _, s := range c.steps {
		if keeper, ok := s.source.(Saver); ok {
			c.writes.start(context.WithoutCancel(ctx), s.name, func(ctx context.Context) error {
				return keeper.Save(ctx, v, p)
			})
		}
	}
}

func (w *writes) start(ctx context.Context, source string, write func(context.Context) error) {
	if err := w.enter(); err != nil {
		w.fail(source, err)
		return
	}
	go func() {
		defer w.group.Done()
		defer func() { <-w.slots }()
		ctx, cancel := context.WithTimeout(ctx, keepLimit)
		defer cancel()
		if err := write(ctx); err != nil {
			w.fail(source, err)
		}
	}()
}

// enter takes a slot, which the write gives back at its end.
func (w *writes) enter() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errors.New("not kept: the program is ending")
	}
	select {
	case w.slots <- struct{}{}:
		w.group.Add(1)
		return nil
	default:
		return errors.New("not kept: too many answers are being kept already; is the store slow?")
	}
}

func (w *writes) fail(source string, err error) {
	if w.failed != nil {
		w.failed(source, err)
	}
}

// Close waits until what is being kept has been kept, or until ctx ends, whose error it then returns. No write takes
// longer than two seconds. Find still answers afterwards, but keeps nothing.
func (c *Chain) Close(ctx context.Context) error {
	c.writes.mu.Lock()
	c.writes.closed = true
	c.writes.mu.Unlock()
	done := make(chan struct{})
	go func() {
		c.writes.group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
