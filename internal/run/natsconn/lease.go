package natsconn

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// lease is this process's part of one limit.
type lease struct {
	limits *Limits
	key    string
	wake   chan struct{} // the ledger should be looked at
	gate   chan struct{} // held by the call whose turn is next

	mu      sync.Mutex
	changed chan struct{} // closed when the share has changed, or a slot became free
	limit   Limit
	have    share
	until   time.Time // when the share ends
	// used are calls under way, waiting those that wait for a slot, turning those that wait for a request or for
	// tokens.
	used, waiting, turning int
	// contended is true while others want slots; base is how many this process keeps all the same. given counts those
	// that it gave up, told those of them that the ledger knows.
	contended   bool
	base        int
	given, told int
	// asked and spent count requests and tokens since the last look; pace is what they come to in a minute.
	asked, spent     int
	pace             share
	paced            time.Time
	requests, tokens *rate.Limiter

	// Of the goroutine that keeps the lease: its last beat and when the ledger had it, and the value of given that goes
	// into the ledger.
	beat    uint64
	beaten  time.Time
	telling int
	seen    map[string]lastSeen
}

// lastSeen is a holder's last new beat, and when this process saw it: clocks of other machines are not compared.
type lastSeen struct {
	beat uint64
	at   time.Time
}

// state says which limit this process knows.
func (s *lease) state(limit Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tight := s.limit.tighten(limit); tight != s.limit {
		s.limit = tight
		s.nudge()
	}
}

// nudge has the ledger looked at soon.
func (s *lease) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// tell wakes the calls that wait. The lock is held.
func (s *lease) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// takeSlot waits until a call is allowed beside those under way.
func (s *lease) takeSlot(ctx context.Context) error {
	s.mu.Lock()
	s.waiting++
	for {
		if s.limit.Concurrency == 0 || s.used < s.have.Slots && time.Now().Before(s.until) {
			s.used++
			s.waiting--
			s.mu.Unlock()
			return nil
		}
		changed := s.changed
		s.mu.Unlock()
		s.nudge()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		case <-s.limits.ctx.Done():
			err = errors.New("the limits are closed")
		}
		s.mu.Lock()
		if err != nil {
			s.waiting--
			s.mu.Unlock()
			return err
		}
	}
}

// giveSlot ends a call. A slot beyond those that this process keeps goes to the others, if they want one.
func (s *lease) giveSlot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	if s.contended && s.have.Slots > s.base {
		s.have.Slots--
		s.given++
		s.nudge()
	}
	s.tell()
}

// takeTurn waits for a request, and until earlier tokens are paid off.
func (s *lease) takeTurn(ctx context.Context) error {
	s.mu.Lock()
	s.turning++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.turning--
		s.mu.Unlock()
	}()
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.gate }()
	for {
		s.mu.Lock()
		pause, changed := s.turn(time.Now()), s.changed
		s.mu.Unlock()
		if pause == 0 {
			return ctx.Err()
		}
		s.nudge()
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-s.limits.ctx.Done():
			timer.Stop()
			return errors.New("the limits are closed")
		}
		timer.Stop()
	}
}

// turn takes a request and one token if it may, and else returns how long to wait. The lock is held.
func (s *lease) turn(now time.Time) time.Duration {
	asks, spends := s.limit.RequestsPerMinute > 0, s.limit.TokensPerMinute > 0
	if (asks || spends) && !now.Before(s.until) {
		return look
	}
	pause := time.Duration(0)
	if asks {
		pause = max(pause, due(s.requests, now))
	}
	if spends {
		pause = max(pause, due(s.tokens, now))
	}
	if pause > 0 {
		return pause
	}
	if asks {
		s.requests.AllowN(now, 1)
	}
	if spends {
		s.tokens.AllowN(now, 1)
	}
	s.asked++
	s.spent++
	return 0
}

// due is how long it takes until a bucket has one, at most look.
func due(b *rate.Limiter, now time.Time) time.Duration {
	if b.Limit() <= idle {
		return look
	}
	missing := 1 - b.TokensAt(now)
	if missing <= 1e-9 {
		return 0
	}
	return min(look, time.Duration(missing/float64(b.Limit())*float64(time.Second))+time.Microsecond)
}

// charge takes tokens that a call has used. One was taken before.
func (s *lease) charge(tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit.TokensPerMinute == 0 {
		return
	}
	s.spent += max(0, tokens-1)
	now := time.Now()
	for left := tokens - 1; left > 0; {
		part := min(left, s.tokens.Burst())
		s.tokens.ReserveN(now, part)
		left -= part
	}
}
