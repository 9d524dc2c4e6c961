package natsconn_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn/natsconntest"
)

// processes returns the limits of n processes on one NATS.
func processes(t *testing.T, n int, wait time.Duration) []*natsconn.Limits {
	t.Helper()
	server := natsconntest.StartEmbedded(t)
	all := make([]*natsconn.Limits, n)
	for i := range all {
		all[i] = natsconn.NewLimits(natsconntest.Connect(t, natsconn.ConnConfig{Server: server}), wait)
		t.Cleanup(all[i].Close)
	}
	return all
}

// crowd makes calls at each process, perProcess at a time, until ctx ends. It returns how many each has made.
func crowd(ctx context.Context, all []*natsconn.Limits, perProcess int, limit natsconn.Limit,
	call func() (tokens int)) []int64 {
	made := make([]int64, len(all))
	var group sync.WaitGroup
	for i, l := range all {
		for range perProcess {
			group.Go(func() {
				for {
					done, err := l.Begin(ctx, "provider at address", limit)
					if err != nil {
						return
					}
					done(call())
					atomic.AddInt64(&made[i], 1)
				}
			})
		}
	}
	group.Wait()
	return made
}

// TestConcurrencyIsShared: three processes never make more calls at once than the limit, nearly as many, and each has
// its part.
func TestConcurrencyIsShared(t *testing.T) {
	for _, slots := range []int{1, 4, 7} {
		all := processes(t, 3, 5*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		var now, most, total atomic.Int64
		made := crowd(ctx, all, 10, natsconn.Limit{Concurrency: slots}, func() int {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(50 * time.Millisecond)
			now.Add(-1)
			total.Add(1)
			return 0
		})
		cancel()
		if most.Load() > int64(slots) {
			t.Errorf("%d calls at once, limit %d", most.Load(), slots)
		}
		best := int64(slots) * 60 // 3 s of 50 ms
		t.Logf("%d slots: %d calls of at most %d, by process %v", slots, total.Load(), best, made)
		if total.Load() < best/4 {
			t.Errorf("%d calls, of at most %d", total.Load(), best)
		}
		for i, n := range made {
			if n < total.Load()/12 {
				t.Errorf("process %d made %d of %d calls", i, n, total.Load())
			}
		}
	}
}

// TestRequestsAreShared: what three processes ask within a time never exceeds the limit, and is near to it.
func TestRequestsAreShared(t *testing.T) {
	all := processes(t, 3, 5*time.Second)
	const perMinute, seconds = 3000, 4
	ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
	defer cancel()
	began := time.Now()
	var mu sync.Mutex
	asked := 0
	made := crowd(ctx, all, 8, natsconn.Limit{RequestsPerMinute: perMinute}, func() int {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if most := perMinute/60*time.Since(began).Seconds() + perMinute/60 + 1; float64(asked) > most {
			t.Errorf("%d requests after %s; at most %.0f", asked, time.Since(began), most)
		}
		return 0
	})
	const best = perMinute / 60 * seconds
	t.Logf("%d requests of %d, by process %v", asked, best, made)
	if asked < best*6/10 {
		t.Errorf("%d requests of %d", asked, best)
	}
}

// TestTokensAreShared: calls wait until the tokens of earlier ones are paid off, also those of other processes.
func TestTokensAreShared(t *testing.T) {
	all := processes(t, 3, 5*time.Second)
	const perMinute, seconds, each = 600_000, 4, 500
	ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
	defer cancel()
	made := crowd(ctx, all, 2, natsconn.Limit{TokensPerMinute: perMinute}, func() int {
		time.Sleep(10 * time.Millisecond)
		return each
	})
	total := each * (made[0] + made[1] + made[2])
	// Each process may be in debt with the calls that it has under way, and the first begins with a full bucket.
	t.Logf("%d tokens of %d, by process %v", total, perMinute/60*seconds, made)
	if most := int64(perMinute/60*seconds + perMinute + 6*each); total > most {
		t.Errorf("%d tokens, at most %d", total, most)
	}
	if total < perMinute/60*seconds*6/10 {
		t.Errorf("%d tokens of %d", total, perMinute/60*seconds)
	}
}

// TestSharesOfALostProcessReturn after it was silent for long enough, and not before.
func TestSharesOfALostProcessReturn(t *testing.T) {
	server := natsconntest.StartEmbedded(t)
	const wait = 2 * time.Second
	lostConn := natsconntest.Connect(t, natsconn.ConnConfig{Server: server})
	lost := natsconn.NewLimits(lostConn, wait)
	limit := natsconn.Limit{Concurrency: 1}
	if _, err := lost.Begin(t.Context(), "p", limit); err != nil {
		t.Fatal(err)
	}
	other := natsconn.NewLimits(natsconntest.Connect(t, natsconn.ConnConfig{Server: server}), wait)
	t.Cleanup(other.Close)
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := other.Begin(soon, "p", limit); err == nil {
		t.Fatal("two calls at once, limit 1")
	}
	lostConn.NATS().Close()
	gone := time.Now()
	later, cancel := context.WithTimeout(t.Context(), natsconntest.Patience)
	defer cancel()
	done, err := other.Begin(later, "p", limit)
	if err != nil {
		t.Fatal(err)
	}
	done(0)
	if took := time.Since(gone); took < wait/2 {
		t.Errorf("the slot came back after %s", took)
	}
	lost.Close()
}
