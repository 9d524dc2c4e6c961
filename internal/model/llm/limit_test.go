package llm

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// slow is a model that takes a second and notes how many calls it had at once.
type slow struct{ now, most, calls atomic.Int64 }

func (s *slow) Generate(ctx context.Context, _ Request) (chat.Reply, error) {
	s.calls.Add(1)
	if n := s.now.Add(1); n > s.most.Load() {
		s.most.Store(n)
	}
	defer s.now.Add(-1)
	return chat.Reply{Usage: chat.Usage{InputTokens: 60, OutputTokens: 40}}, Sleep(ctx, time.Second)
}

// together makes n calls at once and returns how long they took.
func together(t *testing.T, n int, models ...Model) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, err := models[i%len(models)].Generate(t.Context(), Request{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		limits := NewLimits()
		a := limits.Limit(&s, config.Model{Provider: "openai", Name: "a", Concurrency: 3}, "here")
		b := limits.Limit(&s, config.Model{Provider: "openai", Name: "b"}, "here")
		diff(t, "took", 4*time.Second, together(t, 12, a, b))
		diff(t, "at once", int64(3), s.most.Load())
	})
}

func TestLimitsAreByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		limits := NewLimits()
		a := limits.Limit(&s, config.Model{Provider: "openai", Concurrency: 1}, "here")
		b := limits.Limit(&s, config.Model{Provider: "openai", Concurrency: 1}, "there")
		c := limits.Limit(&s, config.Model{Provider: "scripted"}, "here")
		diff(t, "took", time.Second, together(t, 3, a, b, c))
	})
}

// A limit that tightens while calls are under way holds for all that come.
func TestLimitTightens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		limits := NewLimits()
		wide := limits.Limit(&s, config.Model{Concurrency: 10}, "here")
		var wg sync.WaitGroup
		wg.Go(func() { together(t, 20, wide) })
		synctest.Wait()
		limits.Limit(&s, config.Model{Concurrency: 2}, "here")
		limits.Limit(&s, config.Model{Concurrency: 5}, "here") // wider than what holds
		wg.Wait()
		s.most.Store(0)
		together(t, 6, wide)
		diff(t, "at once", int64(2), s.most.Load())
	})
}

func TestRequestsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		m := NewLimits().Limit(&s, config.Model{RequestsPerMinute: 120}, "here")
		// Two at once, then one every half second: the 21st begins after 9.5 s and takes one.
		diff(t, "took", 10500*time.Millisecond, together(t, 21, m).Round(time.Millisecond))
	})
}

func TestTokensPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		m := NewLimits().Limit(&s, config.Model{TokensPerMinute: 600}, "here")
		start := time.Now()
		for range 20 { // of 100 tokens each: 600 at once, the rest at 10 a second
			if _, err := m.Generate(t.Context(), Request{}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took < 125*time.Second || took > 145*time.Second {
			t.Errorf("2,000 tokens at 600 a minute took %v", took)
		}
	})
}

func TestWaitingEndsWithTheCaller(t *testing.T) {
	for name, c := range map[string]config.Model{
		"concurrency": {Concurrency: 1}, "requests": {RequestsPerMinute: 1}, "tokens": {TokensPerMinute: 60},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s slow
				m := NewLimits().Limit(&s, c, "here")
				var wg sync.WaitGroup
				wg.Go(func() { _, _ = m.Generate(t.Context(), Request{}) })
				if name == "concurrency" {
					synctest.Wait()
				} else {
					wg.Wait()
				}
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				start := time.Now()
				if _, err := m.Generate(ctx, Request{}); err != context.DeadlineExceeded { //nolint:errorlint // as it is
					t.Errorf("got %v, want the context's own error", err)
				}
				diff(t, "waited", 500*time.Millisecond, time.Since(start))
				diff(t, "calls", int64(1), s.calls.Load())
				wg.Wait()
				// The turn that was given up is free again.
				if _, err := m.Generate(t.Context(), Request{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Waiting for a turn is not the model's time.
func TestTimeoutStartsAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		m := NewLimits().Limit(Timeout(&s, 2*time.Second, "m", ""), config.Model{Concurrency: 1}, "here")
		diff(t, "took", 8*time.Second, together(t, 8, m))
	})
}

// counted is a limit over processes that notes what it is asked.
type counted struct {
	mu              sync.Mutex
	recordedRequest map[string][]Allowance
	spent           int
}

func (c *counted) Begin(_ context.Context, key string, a Allowance) (func(int), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recordedRequest[key] = append(c.recordedRequest[key], a)
	return func(tokens int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.spent += tokens
	}, nil
}

// TestSharedLimits: what is asked of one provider and address is one limit, the lowest of any model, also for models
// without one.
func TestSharedLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := &counted{recordedRequest: map[string][]Allowance{}}
		limits := SharedLimits(over)
		a := limits.Limit(&slow{}, config.Model{
			Provider: "openai", Name: "a", Concurrency: 3, RequestsPerMinute: 60,
		}, "here")
		b := limits.Limit(&slow{}, config.Model{
			Provider: "openai", Name: "b", Concurrency: 2, TokensPerMinute: 9,
		}, "here")
		c := limits.Limit(&slow{}, config.Model{Provider: "openai", Name: "c"}, "here")
		there := limits.Limit(&slow{}, config.Model{Provider: "openai", Name: "c"}, "there")
		together(t, 4, a, b, c, there)
		all := Allowance{RequestsPerMinute: 60, TokensPerMinute: 9, Concurrency: 2}
		diff(t, "asked", map[string][]Allowance{"openai here": {all, all, all}, "openai there": {{}}},
			over.recordedRequest)
		diff(t, "spent", 400, over.spent)
	})
}
