package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/graphtest"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// newCheckpoints returns the checkpoints of a new store.
func newCheckpoints(t testing.TB, ttl time.Duration) *store.Checkpoints {
	s := open(t, newFile(t))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s.Checkpoints(ttl)
}

// sizedCheckpoints tells the size of a session, so that the suite looks at its growth.
type sizedCheckpoints struct {
	*store.Checkpoints
	db *sql.DB
}

func (s sizedCheckpoints) Size(ctx context.Context, _ string) (size int64, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT sum(length(name) + length(state) + length(appended)) FROM checkpoints`).
		Scan(&size)
	return size, err
}

func TestCheckpoints(t *testing.T) {
	t.Parallel()
	graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer {
		path := newFile(t)
		s := open(t, path)
		t.Cleanup(func() { s.Close() })
		return sizedCheckpoints{s.Checkpoints(time.Hour), rawDB(t, path)}
	})
}

func rawDB(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Two stores on one file are as two processes: each sees what the other saved, and a file opened later has it all.
func TestCheckpointsAreShared(t *testing.T) {
	path := newFile(t)
	one, two := open(t, path), open(t, path)
	mustSave(t, one.Checkpoints(0), turnRecord(1))
	mustSave(t, two.Checkpoints(0), turnRecord(2))
	if err := one.Checkpoints(0).Save(t.Context(), "thread", turnRecord(2)); err == nil ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("a turn that another process has saved: %v", err)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	wantTurns(t, two.Checkpoints(0), "thread", 2)
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	again := open(t, path)
	defer again.Close()
	wantTurns(t, again.Checkpoints(0), "thread", 2)
}

func TestCheckpointsOfAClosedStore(t *testing.T) {
	s := open(t, newFile(t))
	c := s.Checkpoints(0)
	mustSave(t, c, turnRecord(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Save(t.Context(), "thread", turnRecord(2)); err == nil ||
		!strings.Contains(err.Error(), "it is closed") {
		t.Errorf("Save: %v", err)
	}
	if _, err := c.Load(t.Context(), "thread", ""); err == nil || !strings.Contains(err.Error(), "it is closed") {
		t.Errorf("Load: %v", err)
	}
}

// A caller who gives up while others save with it in one transaction takes nothing from them.
func TestCheckpointsOfOneWhoGivesUp(t *testing.T) {
	c := newCheckpoints(t, 0)
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error)
		go func() { errs <- c.Save(ctx, fmt.Sprint("hasty ", i), turnRecord(1)) }()
		go func() { errs <- c.Save(context.WithoutCancel(ctx), fmt.Sprint("calm ", i), turnRecord(1)) }()
		cancel()
		failed := 0
		for range 2 {
			if err := <-errs; err != nil {
				failed++
			}
		}
		wantTurns(t, c, fmt.Sprint("calm ", i), 1)
		wantTurns(t, c, fmt.Sprint("hasty ", i), 1-failed) // an error means: not saved
	}
}
