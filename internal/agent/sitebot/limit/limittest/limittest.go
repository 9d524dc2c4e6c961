// Package limittest holds what every store of buckets and budgets has to fulfil.
package limittest

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
)

// RunStore checks an implementation; open returns two views of one empty store, as two processes have them, and closes
// them through t.Cleanup. They may be the same.
func RunStore(t *testing.T, open func(t *testing.T) (one, two limit.Store)) {
	for name, check := range map[string]func(t *testing.T, one, two limit.Store){
		"a burst, then the pace": checkPace,
		"all or none":            checkAllOrNone,
		"side by side":           checkRace,
		"buckets are apart":      checkApart,
		"what was spent":         checkSpent,
		"spent side by side":     checkSpentRace,
		"one salt":               checkSalt,
	} {
		t.Run(name, func(t *testing.T) {
			one, two := open(t)
			check(t, one, two)
		})
	}
}

// begin is when the checks begin. It is now, as some stores let buckets expire by their own clock.
func begin() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

func take(t *testing.T, s limit.Store, now time.Time, buckets ...limit.Bucket) (empty int, wait time.Duration) {
	t.Helper()
	empty, wait, err := s.Acquire(t.Context(), now, buckets...)
	if err != nil {
		t.Fatal(err)
	}
	if (empty < 0) != (wait <= 0) {
		t.Fatalf("bucket %d is empty, and the wait %v", empty, wait)
	}
	return empty, wait
}

// checkPace empties a bucket in two processes, and waits for as long as it says.
func checkPace(t *testing.T, one, two limit.Store) {
	now, b := begin(), limit.Bucket{Name: "a b:{c}", Every: 3 * time.Second, Burst: 4}
	for i := range 4 {
		if empty, _ := take(t, []limit.Store{one, two}[i%2], now, b); empty >= 0 {
			t.Fatalf("token %d is refused", i)
		}
	}
	for range 3 { // asking in vain costs nothing
		if _, wait := take(t, two, now, b); wait != 3*time.Second {
			t.Fatalf("the wait is %v, want 3s", wait)
		}
	}
	if _, wait := take(t, one, now.Add(2*time.Second), b); wait != time.Second {
		t.Fatalf("later the wait is %v, want 1s", wait)
	}
	now = now.Add(3 * time.Second)
	if empty, _ := take(t, one, now, b); empty >= 0 {
		t.Fatal("no token after the wait")
	}
	if empty, _ := take(t, two, now, b); empty != 0 {
		t.Fatal("two tokens after the wait for one")
	}
	now = now.Add(time.Hour)
	for i := range 4 {
		if empty, _ := take(t, two, now, b); empty >= 0 {
			t.Fatalf("after an hour, token %d is refused", i)
		}
	}
	if empty, _ := take(t, one, now, b); empty != 0 {
		t.Fatal("a bucket holds more than its burst")
	}
}

// checkAllOrNone finds one of two buckets empty: the other loses nothing.
func checkAllOrNone(t *testing.T, one, two limit.Store) {
	now := begin()
	deep, flat := limit.Bucket{Name: "deep", Every: time.Minute, Burst: 3},
		limit.Bucket{Name: "flat", Every: time.Second, Burst: 1}
	if empty, _ := take(t, one, now, deep, flat); empty >= 0 {
		t.Fatalf("bucket %d is empty at first", empty)
	}
	for range 10 {
		if empty, wait := take(t, two, now, deep, flat); empty != 1 || wait != time.Second {
			t.Fatalf("bucket %d is empty for %v, want the second for a second", empty, wait)
		}
	}
	for i := range 2 {
		if empty, _ := take(t, one, now, deep); empty >= 0 {
			t.Fatalf("token %d of the other bucket is gone", i)
		}
	}
	if empty, _ := take(t, one, now, deep, flat); empty != 0 {
		t.Fatalf("bucket %d is named, want the first of two empty ones", empty)
	}
	if empty, _ := take(t, one, now); empty >= 0 {
		t.Fatal("no buckets refuse")
	}
}

func checkApart(t *testing.T, one, _ limit.Store) {
	now := begin()
	for _, name := range []string{"x", "X", "x ", "é", "{x}", "x:y"} {
		b := limit.Bucket{Name: name, Every: time.Minute, Burst: 1}
		if empty, _ := take(t, one, now, b); empty >= 0 {
			t.Errorf("%q shares a bucket", name)
		}
	}
}

// checkRace lets many take at once: as many tokens are given as there are.
func checkRace(t *testing.T, one, two limit.Store) {
	now, b := begin(), limit.Bucket{Name: "race", Every: time.Hour, Burst: 10}
	var given atomic.Int64
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			empty, _, err := []limit.Store{one, two}[i%2].Acquire(t.Context(), now, b)
			if err != nil {
				t.Error(err)
			} else if empty < 0 {
				given.Add(1)
			}
		})
	}
	all.Wait()
	if given.Load() != 10 {
		t.Errorf("%d tokens of 10", given.Load())
	}
}

func spent(t *testing.T, s limit.Store, site, day string) limit.Spent {
	t.Helper()
	found, err := s.Spent(t.Context(), site, day)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// checkSpent adds up by site and day.
func checkSpent(t *testing.T, one, two limit.Store) {
	today := begin().Format(time.DateOnly)
	tomorrow := begin().AddDate(0, 0, 1).Format(time.DateOnly)
	if got := spent(t, one, "a.example", today); got != (limit.Spent{}) {
		t.Fatalf("spent at first: %+v", got)
	}
	for _, s := range []limit.Store{one, two} {
		if err := s.Spend(t.Context(), "a.example", today, limit.Spent{Tokens: 1000, CostUSD: 0.25}); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Spend(t.Context(), "b.example", today, limit.Spent{Tokens: 1, CostUSD: 1e-7}); err != nil {
		t.Fatal(err)
	}
	if err := one.Spend(t.Context(), "a.example", tomorrow, limit.Spent{Tokens: 7}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		site, day string
		want      limit.Spent
	}{
		{"a.example", today, limit.Spent{Tokens: 2000, CostUSD: 0.5}},
		{"a.example", tomorrow, limit.Spent{Tokens: 7}},
		{"b.example", today, limit.Spent{Tokens: 1, CostUSD: 1e-7}},
		{"b.example", tomorrow, limit.Spent{}},
	} {
		if got := spent(t, two, c.site, c.day); got.Tokens != c.want.Tokens ||
			math.Abs(got.CostUSD-c.want.CostUSD) > 1e-9 {
			t.Errorf("%s on %s: %+v, want %+v", c.site, c.day, got, c.want)
		}
	}
}

func checkSpentRace(t *testing.T, one, two limit.Store) {
	var all sync.WaitGroup
	today := begin().Format(time.DateOnly)
	for i := range 20 {
		all.Go(func() {
			if err := []limit.Store{one, two}[i%2].Spend(t.Context(), "a.example", today,
				limit.Spent{Tokens: 3, CostUSD: 0.5}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := spent(t, two, "a.example", today); got != (limit.Spent{Tokens: 60, CostUSD: 10}) {
		t.Errorf("%+v", got)
	}
}

func checkSalt(t *testing.T, one, two limit.Store) {
	first, err := one.Salt(t.Context())
	if err != nil || len(first) < 20 {
		t.Fatalf("%q, %v", first, err)
	}
	for _, s := range []limit.Store{one, two} {
		if again, err := s.Salt(t.Context()); err != nil || again != first {
			t.Errorf("%q, %v; want %q", again, err, first)
		}
	}
}
