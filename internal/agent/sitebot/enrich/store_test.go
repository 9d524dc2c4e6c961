package enrich

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKeepOutlivesTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var failures []string
		cache := &keeper{keepTook: time.Second}
		table := &keeper{keepTook: time.Hour}
		chain, err := NewChain(Options{
			Sources: map[string]Source{"cache": cache, "supabase": table, "snitcher": &fake{profile: acme}},
			Failed: func(source string, err error) {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, source+": "+err.Error())
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if got, _ := chain.Find(ctx, visitor); got.Status != Completed {
			t.Errorf("got %v", got)
		}
		cancel() // the turn is over
		short, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		if err := chain.Close(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close did not wait: %v", err)
		}
		if err := chain.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(cache.kept) != 1 || len(table.kept) != 0 {
			t.Errorf("kept %v and %v", cache.kept, table.kept)
		}
		chain.Find(t.Context(), visitor) // answers, but keeps nothing
		want := []string{
			"supabase: context deadline exceeded", "cache: not kept: the program is ending",
			"supabase: not kept: the program is ending",
		}
		mu.Lock()
		defer mu.Unlock()
		if d := cmp.Diff(want, failures); d != "" {
			t.Error(d)
		}
	})
}

func TestKeepIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dropped atomic.Int32
		cache := &keeper{keepTook: time.Second}
		chain, err := NewChain(Options{
			Sources: map[string]Source{"cache": cache, "snitcher": &fake{profile: acme}},
			Failed:  func(string, error) { dropped.Add(1) },
		})
		if err != nil {
			t.Fatal(err)
		}
		var turns sync.WaitGroup
		for range 100 {
			turns.Go(func() { chain.Find(t.Context(), visitor) })
		}
		turns.Wait()
		if err := chain.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(cache.kept) != writesMost || dropped.Load() != 100-writesMost {
			t.Errorf("kept %d, dropped %d", len(cache.kept), dropped.Load())
		}
	})
}
