package natsconn

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"
)

const (
	limitBucket = "rehearse-limits"
	limitAge    = time.Hour
	// look is the longest time between two looks at a ledger, breath the shortest.
	look   = 250 * time.Millisecond
	breath = 5 * time.Millisecond
	// idle is the limit of a bucket without a share: rate.Limiter forgets debts at 0.
	idle rate.Limit = 1e-9
	// greed is how much more than it used lately a process wants, so that it can grow.
	greed = 2.0
)

// Limits keeps what all processes on one NATS ask of each provider within its limits. Each process leases a share of a
// limit; the shares of a process that is not heard of are leased to others after a while. It is safe for concurrent
// use. Use NewLimits, and Close it.
type Limits struct {
	conn  *Conn
	id    string
	wait  time.Duration
	ctx   context.Context
	stop  context.CancelFunc
	group sync.WaitGroup
	mu    sync.Mutex
	known map[string]*lease
}

// NewLimits returns limits whose shares end wait after a process was heard of last.
func NewLimits(conn *Conn, wait time.Duration) *Limits {
	ctx, stop := context.WithCancel(context.Background())
	return &Limits{conn: conn, id: uuid.NewString(), wait: wait, ctx: ctx, stop: stop, known: map[string]*lease{}}
}

// Close gives the shares of this process back.
func (l *Limits) Close() {
	l.stop()
	l.group.Wait()
}

// Begin waits until one more call is within the limit that key names, and ctx allows. The lowest numbers that any
// process states for the key count. The caller says with done, once, that the call has ended and how many tokens it
// took: they are known only then, so later calls wait until they are paid off. While NATS cannot be reached, calls
// begin only for as long as the leases last.
func (l *Limits) Begin(ctx context.Context, key string, limit Limit) (done func(tokens int), err error) {
	if limit == (Limit{}) {
		return func(int) {}, nil
	}
	s := l.lease(key)
	s.state(limit)
	if err := s.takeSlot(ctx); err != nil {
		return nil, err
	}
	if err := s.takeTurn(ctx); err != nil {
		s.giveSlot()
		return nil, err
	}
	return func(tokens int) {
		s.charge(tokens)
		s.giveSlot()
	}, nil
}

func (l *Limits) lease(key string) *lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.known[key]
	if !ok {
		s = &lease{
			limits: l, key: digest(key), wake: make(chan struct{}, 1), changed: make(chan struct{}),
			gate: make(chan struct{}, 1), requests: emptyBucket(), tokens: emptyBucket(), seen: map[string]lastSeen{},
		}
		l.known[key] = s
		l.group.Go(func() { s.keep(l.ctx) })
	}
	return s
}

func emptyBucket() *rate.Limiter {
	b := rate.NewLimiter(idle, 1)
	b.AllowN(time.Now(), 1)
	return b
}
