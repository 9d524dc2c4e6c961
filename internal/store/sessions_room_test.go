package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"rehearse/graph"
	"rehearse/internal/store"
)

// The bytes of all sessions are right whatever becomes of them.
func TestSessionBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	defer s.Close()
	db := rawDB(t, path)
	same := func(when string) {
		t.Helper()
		var counted, held int64
		if err := db.QueryRowContext(t.Context(), `SELECT (SELECT bytes FROM checkpoint_bytes),
			(SELECT coalesce(sum(coalesce(length(state), 0) + coalesce(length(appended), 0)), 0) FROM checkpoints)`).Scan(&counted, &held); err != nil || counted != held {
			t.Errorf("%s: %d bytes are counted, %d held, %v", when, counted, held, err)
		}
	}
	c := s.Checkpoints(0)
	same("empty")
	for turn := range 3 {
		mustSave(t, c, sizedRecord(turn+1, 1000))
	}
	same("saved")
	if err := c.Compact(t.Context(), "thread", sizedRecord(3, 500)); err != nil {
		t.Fatal(err)
	}
	same("compacted")
	if err := c.Erase(t.Context(), "thread", "site", "session"); err != nil {
		t.Fatal(err)
	}
	same("erased")
}

func sizedRecord(turn, size int) graph.Record {
	r := turnRecord(turn)
	r.Values = json.RawMessage(`"` + string(bytes.Repeat([]byte("x"), size-2)) + `"`)
	r.Appended = nil
	return r
}

// fill saves sessions of 1,000 bytes each, the first the oldest.
func fill(t *testing.T, c *store.Checkpoints, n int) {
	t.Helper()
	for i := range n {
		if err := c.Save(t.Context(), fmt.Sprint("old ", i), sizedRecord(1, 1000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // the time of use is in milliseconds
	}
}

func TestMakeRoom(t *testing.T) {
	c := newCheckpoints(t, 0)
	fill(t, c, 40)
	checkRoom(t, c)
}

// roomKeeper is a store that makes room.
type roomKeeper interface {
	graph.Checkpointer
	MakeRoom(ctx context.Context, most, need int64, idleSince time.Time) (ok bool, err error)
}

// checkRoom has a store of 40 sessions of 1,000 bytes make room.
func checkRoom(t *testing.T, c roomKeeper) {
	lives := func(ctx context.Context) (n int) {
		for i := range 40 {
			records, err := c.Load(ctx, fmt.Sprint("old ", i), "")
			if err != nil {
				t.Fatal(err)
			}
			if len(records) > 0 {
				n++
				continue
			}
			if n > 0 {
				t.Errorf("%d is gone, and an older one is there", i)
			}
		}
		return n
	}
	for _, step := range []struct {
		most, need int64
		idleSince  time.Time
		ok         bool
		left       int
	}{
		{41_000, 1000, time.Now(), true, 40},                    // there is room
		{40_999, 1000, time.Now().Add(-time.Minute), false, 40}, // all are in use
		{40_999, 1000, time.Now().Add(time.Second), true, 39},   // one goes
		{10_000, 500, time.Now().Add(time.Second), true, 9},     // many go
		{400, 500, time.Now().Add(time.Second), false, 9},       // it can never fit, and nobody goes for it
		{8_000, 0, time.Now().Add(time.Second), true, 8},
	} {
		ok, err := c.MakeRoom(t.Context(), step.most, step.need, step.idleSince)
		if err != nil || ok != step.ok {
			t.Errorf("%+v: %v, %v", step, ok, err)
		}
		if left := lives(t.Context()); left != step.left {
			t.Errorf("%+v: %d are left", step, left)
		}
	}
}
