package lead

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pendingMost is how many deliveries may be under way or waiting to be tried again.
const pendingMost = 1000

// ErrFull is returned for what is not taken because too many deliveries are pending: a receiver is down or slow.
var ErrFull = errors.New("not sent: 1000 deliveries are pending already; is a receiver down?")

// ErrClosed is returned for what is not taken because the queue has been closed.
var ErrClosed = errors.New("not sent: the program is ending")

// Delivery tells the log what became of something to be sent.
type Delivery struct {
	// To names the receiver by kind and host.
	To string
	// Site and Session say whose it was: a lead that was given up is still in the session's state.
	Site, Session string
	// Key is the idempotency key.
	Key string
	// Attempts is how often it was tried; 0 for what had been sent before.
	Attempts int
	// Duplicate is true for what was not sent because it had been.
	Duplicate bool
	// Err is why it was given up; it has no secret in it.
	Err  error
	Took time.Duration
}

// Queue delivers in the background. It is safe for concurrent use.
type Queue struct {
	sent Sent
	done func(Delivery)

	ctx     context.Context // ends what is under way when Close does not wait any longer
	abandon context.CancelCauseFunc
	group   sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	pending int
}

// NewQueue returns a queue. A nil sent remembers within the process. The log, done, is called from other goroutines; it may be nil.
// Close ends the queue.
func NewQueue(sent Sent, done func(Delivery)) *Queue {
	if sent == nil {
		sent = &Memory{}
	}
	if done == nil {
		done = func(Delivery) {}
	}
	q := &Queue{sent: sent, done: done}
	q.ctx, q.abandon = context.WithCancelCause(context.Background())
	return q
}

// receiver is where something is delivered to.
type receiver interface {
	name() string
	// send tries once. Its error is a *refusal where the receiver answered.
	send(ctx context.Context, m message) error
	// slots bounds how many requests it gets at once, so that one that hangs does not hold up the others.
	slots() chan struct{}
}

// message is something to be sent.
type message struct {
	site, session string
	key           string
	body          []byte
}

// put starts a delivery and returns at once.
func (q *Queue) put(to receiver, m message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return ErrClosed
	case q.pending >= pendingMost:
		return ErrFull
	}
	q.pending++
	q.group.Go(func() {
		q.done(q.deliver(to, m))
		q.mu.Lock()
		defer q.mu.Unlock()
		q.pending--
	})
	return nil
}

// deliver sends a message unless it was sent before. Where that cannot be found out it is sent: a lead that comes twice with one
// idempotency key does no harm, a lost one does.
func (q *Queue) deliver(to receiver, m message) (d Delivery) {
	d = Delivery{To: to.name(), Site: m.site, Session: m.session, Key: m.key}
	start := time.Now()
	defer func() { d.Took = time.Since(start) }()
	if free, err := q.claim(m.key); err == nil && !free {
		d.Duplicate = true
		return d
	}
	if d.Attempts, d.Err = sendWithRetry(q.ctx, to, m); d.Err != nil {
		d.Err = fmt.Errorf("%s: %w", to.name(), d.Err)
		q.release(m.key)
	}
	return d
}

// sentLimit bounds how long a Sent may take.
const sentLimit = 5 * time.Second

func (q *Queue) claim(key string) (bool, error) {
	ctx, cancel := context.WithTimeout(q.ctx, sentLimit)
	defer cancel()
	return q.sent.Claim(ctx, key)
}

// release also works when the queue was abandoned. A key that stays claimed would only keep the capture from being sent again.
func (q *Queue) release(key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), sentLimit)
	defer cancel()
	_ = q.sent.Release(ctx, key)
}

// Close takes nothing more and waits for what is under way. When ctx ends first, the rest is given up, each with a Delivery of its
// own, and the error says how many there were.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	defer q.abandon(nil)
	ended := make(chan struct{})
	go func() {
		q.group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	rest := q.pending
	q.mu.Unlock()
	q.abandon(errors.New("given up: the program is ending"))
	<-ended
	return fmt.Errorf("%d leads or events were given up while ending: %w", rest, ctx.Err())
}
