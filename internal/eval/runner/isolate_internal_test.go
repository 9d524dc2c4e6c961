package runner

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A guard reuses its goroutines, but not those that code has ended or does not give back; none is left after it is
// closed (synctest waits for all).
func TestGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Guard{}
		before := runtime.NumGoroutine()
		for range 20 {
			if n, err := isolate(t.Context(), g, func() (int, error) { return 3, nil }, nil); n != 3 || err != nil {
				t.Fatal(n, err)
			}
		}
		if n := runtime.NumGoroutine() - before; n != 1 {
			t.Errorf("%d goroutines for one call after the other", n)
		}
		for range 3 {
			_, err := isolate(t.Context(), g, func() (int, error) { runtime.Goexit(); return 0, nil }, nil)
			if err == nil {
				t.Error("code that ended its goroutine has an answer")
			}
			if _, err := isolate(t.Context(), g, func() (int, error) { panic("no") }, nil); !errors.Is(err, errPanic) {
				t.Error(err)
			}
		}
		cut, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late := 0
		_, err := isolate(cut, g, func() (int, error) { time.Sleep(time.Minute); return 7, nil },
			func(n int) { late = n })
		if !errors.Is(err, errAbandoned) {
			t.Error(err)
		}
		g.Close()
		if n, err := isolate(t.Context(), g, func() (int, error) { return 5, nil }, nil); n != 5 || err != nil {
			t.Error(n, err) // a session that is closed after its conversation
		}
		time.Sleep(2 * time.Minute)
		if synctest.Wait(); late != 7 {
			t.Errorf("late answer %d", late)
		}
	})
}
