package llm

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// Limits holds what the models of a process may ask of each provider and address together.
// It is safe for concurrent use.
type Limits struct {
	mu     sync.Mutex
	shared map[string]*limiter
	over   Shared
}

// Shared keeps limits that hold over several processes. It is safe for concurrent use.
type Shared interface {
	// Begin waits until one more call is within the limit that key names. done says, once, that it has ended, and how
	// many tokens it took.
	Begin(ctx context.Context, key string, a Allowance) (done func(tokens int), err error)
}

// Allowance is what may be asked; 0 means any number.
type Allowance struct{ RequestsPerMinute, TokensPerMinute, Concurrency int }

// NewLimits returns Limits without a limit; each model brings its own (Limit).
func NewLimits() *Limits { return &Limits{shared: map[string]*limiter{}} }

// SharedLimits returns Limits that are kept over several processes.
func SharedLimits(over Shared) *Limits {
	l := NewLimits()
	l.over = over
	return l
}

// Limit returns model with each call waiting for its turn, for as long as its context allows. Calls to the same
// provider and address share one limit, for which the lowest numbers that any of the models sets count: a server that
// allows 60 requests a minute does not care which model they are for. Requests are spread evenly, at most one second's
// share at once. Tokens are known only after a reply: a call waits until what earlier replies used is paid off.
func (l *Limits) Limit(model Model, c config.Model, at string) Model {
	share := l.share(c, at)
	if l.over == nil {
		return &limited{model, share.begin}
	}
	return &limited{model, func(ctx context.Context) (func(int), error) {
		return l.over.Begin(ctx, c.Provider+" "+at, share.allowance())
	}}
}

func (l *Limits) share(c config.Model, at string) *limiter {
	key := c.Provider + " " + at
	l.mu.Lock()
	defer l.mu.Unlock()
	shared, ok := l.shared[key]
	if !ok {
		// The burst is large only so that a limit starts with a full bucket when it is set.
		shared = &limiter{
			requests: rate.NewLimiter(rate.Inf, 1<<40), tokens: rate.NewLimiter(rate.Inf, 1<<40),
			slots: semaphore.NewWeighted(slotSpace),
		}
		l.shared[key] = shared
	}
	shared.tighten(c)
	return shared
}

// slotSpace is divided by the number of calls allowed at once to get the weight of one,
// so that the number can change while calls are under way: each gives back what it took.
const slotSpace = 1 << 40

type limiter struct {
	requests, tokens *rate.Limiter
	slots            *semaphore.Weighted
	mu               sync.Mutex
	weight           int64 // of one call; 0 without a limit
	allowed          Allowance
}

// allowance returns the lowest numbers that any model set.
func (l *limiter) allowance() Allowance {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.allowed
}

func (l *limiter) tighten(c config.Model) {
	if n := c.RequestsPerMinute; n > 0 && perMinute(n) < l.requests.Limit() {
		l.requests.SetLimit(perMinute(n))
		l.requests.SetBurst(max(1, n/60))
	}
	if n := c.TokensPerMinute; n > 0 && perMinute(n) < l.tokens.Limit() {
		l.tokens.SetLimit(perMinute(n))
		l.tokens.SetBurst(n)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := int64(c.Concurrency); n > 0 {
		l.weight = max(l.weight, slotSpace/n)
	}
	l.allowed = Allowance{
		lower(l.allowed.RequestsPerMinute, c.RequestsPerMinute), lower(l.allowed.TokensPerMinute, c.TokensPerMinute),
		lower(l.allowed.Concurrency, c.Concurrency),
	}
}

// lower returns the lower of two bounds, of which 0 bounds nothing.
func lower(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func perMinute(n int) rate.Limit { return rate.Limit(float64(n) / 60) }

type limited struct {
	model Model
	begin func(context.Context) (done func(tokens int), err error)
}

func (m *limited) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return m.Stream(ctx, r, nil)
}

func (m *limited) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	done, err := m.begin(ctx)
	if err != nil {
		return chat.Reply{}, err
	}
	reply, err := ask(ctx, m.model, r, token)
	done(reply.Usage.Total())
	return reply, err
}

// begin waits for a call's turn. The caller says with done how many tokens the call took.
func (l *limiter) begin(ctx context.Context) (done func(tokens int), err error) {
	l.mu.Lock()
	weight := l.weight
	l.mu.Unlock()
	if err := l.slots.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	if err = wait(ctx, l.tokens); err == nil {
		err = wait(ctx, l.requests)
	}
	if err != nil {
		l.slots.Release(weight)
		return nil, err
	}
	return func(tokens int) {
		l.slots.Release(weight)
		l.charge(tokens - 1) // one was taken while waiting
	}, nil
}

// wait is rate.Limiter.Wait, except that a deadline ends it with the context's own error, and not before.
func wait(ctx context.Context, l *rate.Limiter) error {
	turn := l.Reserve()
	pause := turn.Delay()
	if pause == 0 {
		return ctx.Err()
	}
	err := Sleep(ctx, pause)
	if err != nil {
		turn.Cancel()
	}
	return err
}

// charge takes tokens that were used already; later calls wait until they are paid off.
func (l *limiter) charge(tokens int) {
	if l.tokens.Limit() == rate.Inf {
		return
	}
	for tokens > 0 {
		part := min(tokens, l.tokens.Burst())
		l.tokens.ReserveN(time.Now(), part)
		tokens -= part
	}
}
