package natsconn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	cancelBucket  = "rehearse-cancels"
	cancelSubject = "rehearse.cancel."
	// cancelAge is how long workers that connect later hear of a cancelled run.
	cancelAge = 24 * time.Hour
)

// ErrCancelled is the cause of a context that ends because its run was cancelled.
var ErrCancelled = errors.New("the run was cancelled")

func (c *Conn) cancels(ctx context.Context) (jetstream.KeyValue, error) {
	return c.bucket(ctx, jetstream.KeyValueConfig{Bucket: cancelBucket, TTL: cancelAge})
}

// Cancel tells all workers, also those that connect later, that a run is cancelled.
func (c *Conn) Cancel(ctx context.Context, run string) error {
	err := Again(ctx, func(ctx context.Context) error {
		kv, err := c.cancels(ctx)
		if err == nil {
			_, err = kv.Put(ctx, Token(run), nil)
		}
		return err
	})
	if err == nil {
		err = c.nats.Publish(cancelSubject+Token(run), nil)
	}
	if err != nil {
		return fmt.Errorf("cancel a run: %w", err)
	}
	return nil
}

// Cancels knows which runs are cancelled. It is safe for concurrent use. Use Conn.Cancels, and Close it.
type Cancels struct {
	conn  *Conn
	sub   *nats.Subscription
	stop  context.CancelFunc
	done  chan struct{}
	mu    sync.Mutex
	runs  map[string]time.Time // cancelled, and when this was heard
	under map[string]map[*context.CancelCauseFunc]bool
}

// Cancels begins to listen, and returns when it knows the runs that were cancelled before.
func (c *Conn) Cancels(ctx context.Context) (*Cancels, error) {
	listening, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Cancels{
		conn: c, stop: stop, done: make(chan struct{}), runs: map[string]time.Time{},
		under: map[string]map[*context.CancelCauseFunc]bool{},
	}
	sub, err := c.nats.Subscribe(cancelSubject+"*", func(m *nats.Msg) {
		s.heard(strings.TrimPrefix(m.Subject, cancelSubject))
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("listen for cancelled runs: %w", err)
	}
	s.sub = sub
	back := c.nats.StatusChanged(nats.CONNECTED)
	if err := Again(ctx, s.catchUp); err != nil {
		stop()
		_ = sub.Unsubscribe()
		c.nats.RemoveStatusListener(back)
		return nil, fmt.Errorf("listen for cancelled runs: %w", err)
	}
	go s.keepUp(listening, back)
	return s, nil
}

// keepUp hears of the runs that were cancelled while NATS could not be reached.
func (s *Cancels) keepUp(ctx context.Context, back chan nats.Status) {
	defer close(s.done)
	defer s.conn.nats.RemoveStatusListener(back)
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-back:
			if !open {
				return
			}
			_ = Again(ctx, s.catchUp)
		}
	}
}

// catchUp reads which runs were cancelled.
func (s *Cancels) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if _, err := s.conn.cancels(ctx); err != nil { // it makes the bucket
		return err
	}
	runs, err := s.conn.keys(ctx, cancelBucket)
	if err != nil {
		return err
	}
	for _, run := range runs {
		s.heard(run)
	}
	return nil
}

func (s *Cancels) heard(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for old, at := range s.runs {
		if time.Since(at) > cancelAge {
			delete(s.runs, old)
		}
	}
	s.runs[run] = time.Now()
	for end := range s.under[run] {
		(*end)(ErrCancelled)
	}
	delete(s.under, run)
}

// Context returns a context that ends, with the cause ErrCancelled, when the run is cancelled. The caller ends it when
// the work is done.
func (s *Cancels) Context(ctx context.Context, run string) (context.Context, context.CancelFunc) {
	within, end := context.WithCancelCause(ctx)
	token := Token(run)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, cancelled := s.runs[token]; cancelled {
		end(ErrCancelled)
		return within, func() {}
	}
	if s.under[token] == nil {
		s.under[token] = map[*context.CancelCauseFunc]bool{}
	}
	s.under[token][&end] = true
	return within, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.under[token], &end)
		if len(s.under[token]) == 0 {
			delete(s.under, token)
		}
		end(context.Canceled)
	}
}

// Close ends listening.
func (s *Cancels) Close() {
	_ = s.sub.Unsubscribe()
	s.stop()
	<-s.done
}
