package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Locker is what RunLocks tests.
type Locker interface {
	Lock(ctx context.Context, name string, ttl time.Duration) (unlock func(), ok bool, err error)
}

// lockTTL outlasts every test.
const lockTTL = 2 * time.Minute

// RunLocks runs every conformance test on the locks that open returns, which are free.
func RunLocks(t *testing.T, open func(t *testing.T) Locker) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, Locker)
	}{
		{"a lock is held once", lockOnce},
		{"unlocking twice does not free another's lock", unlockTwice},
		{"names do not meet", lockNames},
		{"of many at once one gets it", lockRace},
		{"a cancelled context locks nothing", lockCancelled},
		{"unlocking needs no context", unlockAfterCancel},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
	}
}

func lockOnce(t *testing.T, l Locker) {
	for range 3 {
		unlock := locked(t, l, "a")
		refused(t, l, "a")
		refused(t, l, "a")
		unlock()
	}
}

func unlockTwice(t *testing.T, l Locker) {
	first := locked(t, l, "a")
	first()
	second := locked(t, l, "a")
	first()
	refused(t, l, "a")
	second()
	locked(t, l, "a")()
}

func lockNames(t *testing.T, l Locker) {
	for _, name := range []string{"a", "A", "a ", "{a}", "a}", "}", "*", "", "a:b", "日本語"} {
		locked(t, l, name)
	}
}

func lockRace(t *testing.T, l Locker) {
	var got atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, ok, err := l.Lock(t.Context(), "a", lockTTL)
			if err != nil {
				t.Error(err)
			}
			if ok {
				got.Add(1)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		t.Errorf("%d of 50 got the lock, want 1", got.Load())
	}
}

func lockCancelled(t *testing.T, l Locker) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	unlock, ok, err := l.Lock(ctx, "a", lockTTL)
	if ok || !errors.Is(err, context.Canceled) {
		t.Errorf("Lock with a cancelled context: %t, %v", ok, err)
	}
	unlock()
	locked(t, l, "a")()
}

func unlockAfterCancel(t *testing.T, l Locker) {
	ctx, cancel := context.WithCancel(t.Context())
	unlock, ok, err := l.Lock(ctx, "a", lockTTL)
	if !ok || err != nil {
		t.Fatalf("Lock: %t, %v", ok, err)
	}
	cancel()
	unlock()
	locked(t, l, "a")()
}

// locked takes a lock that is free.
func locked(t *testing.T, l Locker, name string) (unlock func()) {
	t.Helper()
	unlock, ok, err := l.Lock(t.Context(), name, lockTTL)
	if !ok || err != nil {
		t.Fatalf("Lock(%q): %t, %v; want the lock", name, ok, err)
	}
	return unlock
}

// refused tries a lock that is held; the unlock of who did not get it does nothing.
func refused(t *testing.T, l Locker, name string) {
	t.Helper()
	unlock, ok, err := l.Lock(t.Context(), name, lockTTL)
	if ok || err != nil {
		t.Fatalf("Lock(%q): %t, %v; want it to be refused", name, ok, err)
	}
	unlock()
}
