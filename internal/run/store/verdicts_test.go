package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// disk is where the tests' batches go.
type disk struct {
	mu      sync.Mutex
	broken  error
	batches []int
	rows    map[string]string
}

func (d *disk) write(_ context.Context, batch map[string][]byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return d.broken
	}
	d.batches = append(d.batches, len(batch))
	for k, v := range batch {
		d.rows[k] = string(v)
	}
	return nil
}

func (d *disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = err
}

func (d *disk) want(t *testing.T, batches ...int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.batches, batches) {
		t.Errorf("batches of %v, want %v", d.batches, batches)
	}
}

func TestVerdictsAreWrittenInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{rows: map[string]string{}}
		var p pending
		p.start(d.write)
		for i := range 10 {
			if err := p.put(t.Context(), fmt.Sprint(i), nil); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(flushEvery - time.Millisecond)
		synctest.Wait()
		d.want(t)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		d.want(t, 10)
		// Enough is written at once, and idle time writes nothing.
		for i := range flushAt {
			if err := p.put(t.Context(), fmt.Sprint(i), nil); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		d.want(t, 10, flushAt)
		if err := p.put(t.Context(), "last", nil); err != nil {
			t.Fatal(err)
		}
		if wrote, err := p.stop(); !wrote || err != nil {
			t.Errorf("stop = %t, %v", wrote, err)
		}
		d.want(t, 10, flushAt, 1)
	})
}

func TestFailedBatchIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		d := &disk{broken: broken, rows: map[string]string{}}
		var p pending
		p.start(d.write)
		put := func(key, value string) error { return p.put(t.Context(), key, []byte(value)) }
		if err := put("a", "old"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(flushEvery)
		synctest.Wait()
		if err := put("b", "1"); !errors.Is(err, broken) {
			t.Errorf("put after a failed batch: %v, want %v", err, broken)
		}
		if err := put("a", "new"); !errors.Is(err, broken) {
			t.Errorf("put after a failed batch: %v, want %v", err, broken)
		}
		for key, want := range map[string]string{"a": "new", "b": "1"} {
			if v, ok := p.get(key); !ok || string(v) != want {
				t.Errorf("get(%s) = %q, %t; want %q", key, v, ok, want)
			}
		}
		d.fail(nil)
		time.Sleep(flushEvery)
		synctest.Wait()
		d.want(t, 2)
		if diff := cmp.Diff(map[string]string{"a": "new", "b": "1"}, d.rows); diff != "" {
			t.Errorf("rows mismatch (-want +got):\n%s", diff)
		}
		if err := put("c", "2"); err != nil {
			t.Errorf("put after recovery: %v", err)
		}
		d.fail(broken)
		if _, err := p.stop(); !errors.Is(err, broken) {
			t.Errorf("stop = %v, want %v", err, broken)
		}
	})
}

func TestPutWaitsWhenTooMuchIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var p pending
		p.start(func(context.Context, map[string][]byte) error { <-gate; return nil })
		n := 0
		for ; ; n++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := p.put(ctx, fmt.Sprint(n), nil)
			cancel()
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("put: %v", err)
				}
				break
			}
		}
		// Beside what waits there is the batch that is being written, which is as large as the writer was late.
		if n < maxPending || n > 2*maxPending {
			t.Errorf("%d puts were taken, want %d to %d", n, maxPending, 2*maxPending)
		}
		close(gate)
		if err := p.put(t.Context(), "more", nil); err != nil {
			t.Errorf("put after the disk came back: %v", err)
		}
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseDropsTheOldestVerdicts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	// again reopens the file; each session puts its verdicts and keeps at most three.
	again := func(keys ...string) {
		t.Helper()
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		s.keep = 3
		for _, key := range keys {
			if err := s.writeVerdicts(t.Context(), map[string][]byte{key: []byte("v")}); err != nil {
				t.Fatal(err)
			}
		}
		s.verdicts.wrote = true
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	again("a", "b")
	again("c", "a", "d") // a is young again
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, ok, err := s.Verdict(t.Context(), key); ok != want || err != nil {
			t.Errorf("Verdict(%s) found %t, %v; want %t", key, ok, err, want)
		}
	}
}
