package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// clocked are checkpoints with a clock that the test turns.
type clocked struct {
	*Saver
	t     *testing.T
	clock time.Time
}

func newClocked(t *testing.T, ttl time.Duration) *clocked {
	t.Helper()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.ttl = ttl
	c := &clocked{Saver: s, t: t, clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	c.now = func() time.Time { return c.clock }
	return c
}

func (c *clocked) pass(d time.Duration) { c.clock = c.clock.Add(d) }

// turns saves turns from the first to the last.
func (c *clocked) turns(thread string, first, last int) {
	c.t.Helper()
	for turn := first; turn <= last; turn++ {
		r := graph.Record{ID: fmt.Sprintf("%08d", turn), Turn: turn, Source: graph.SourceTurn, At: c.clock}
		if turn > 1 {
			r.Parent = fmt.Sprintf("%08d", turn-1)
		}
		if err := c.Save(c.t.Context(), thread, r); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *clocked) want(thread string, turns int) {
	c.t.Helper()
	loaded, err := c.Load(c.t.Context(), thread, "")
	if err != nil || len(loaded) != turns {
		c.t.Errorf("%s: %d records, %v; want %d", thread, len(loaded), err, turns)
	}
	if newest, err := c.Newest(c.t.Context(), thread); err != nil || (newest == "") != (turns == 0) {
		c.t.Errorf("%s: the newest record is %q, %v; want %d records", thread, newest, err, turns)
	}
	listed, err := c.List(c.t.Context(), thread)
	if err != nil || len(listed) != turns {
		c.t.Errorf("%s: %d records in the list, %v; want %d", thread, len(listed), err, turns)
	}
}

// rows returns how many rows a table has.
func (c *clocked) rows(table string) (n int) {
	c.t.Helper()
	if err := c.file.DB.QueryRowContext(c.t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

func TestCheckpointsExpire(t *testing.T) {
	c := newClocked(t, time.Hour)
	c.turns("thread", 1, 2)
	c.pass(50 * time.Minute)
	c.turns("thread", 3, 3)
	c.pass(50 * time.Minute)
	c.want("thread", 3)
	c.pass(11 * time.Minute)
	c.want("thread", 0)
	c.turns("thread", 1, 1) // the name begins anew
	c.want("thread", 1)
	if n := c.rows("checkpoints"); n != 1 {
		t.Errorf("%d records, want 1: what expired is gone", n)
	}
}

func TestCheckpointsWithoutTTLStay(t *testing.T) {
	c := newClocked(t, 0)
	c.turns("thread", 1, 2)
	c.pass(1000 * 24 * time.Hour)
	c.turns("another", 1, 1)
	c.want("thread", 2)
}

// Expired sessions leave the file as others come, a few at a time; those that live stay.
func TestCheckpointsArePruned(t *testing.T) {
	c := newClocked(t, time.Hour)
	for i := range 100 {
		c.turns(fmt.Sprint("old ", i), 1, 3)
		c.turns(fmt.Sprint("live ", i), 1, 1)
	}
	c.pass(50 * time.Minute)
	for i := range 100 {
		c.turns(fmt.Sprint("live ", i), 2, 2)
	}
	c.pass(20 * time.Minute)
	before := c.rows("checkpoint_threads")
	c.turns("new", 1, 1)
	if now := c.rows("checkpoint_threads"); now < before+1-pruneTimes {
		t.Errorf("one Save deleted %d threads", before+1-now)
	}
	for i := range 100 {
		c.turns(fmt.Sprint("new ", i), 1, 1)
	}
	if threads, records := c.rows("checkpoint_threads"), c.rows("checkpoints"); threads != 201 || records != 301 {
		t.Errorf("%d threads with %d records, want 201 with 301", threads, records)
	}
	for i := range 100 {
		c.want(fmt.Sprint("live ", i), 2)
		c.want(fmt.Sprint("old ", i), 0)
	}
}

// A long session goes in parts, of which none is seen, also when its name comes back in between.
func TestCheckpointsPruneLongSessions(t *testing.T) {
	c := newClocked(t, time.Hour)
	c.turns("long", 1, 3*pruneRecords+1)
	c.turns("longer", 1, 3*pruneRecords)
	c.pass(2 * time.Hour)
	c.turns("new", 1, 1)
	if n := c.rows("checkpoints"); n != 4*pruneRecords+2 {
		t.Errorf("%d records after one Save, want %d", n, 4*pruneRecords+2)
	}
	c.want("long", 0)
	c.turns("longer", 1, 1)
	c.want("longer", 1)
	c.turns("newer", 1, 1)
	c.turns("newest", 1, 1)
	if threads, records := c.rows("checkpoint_threads"), c.rows("checkpoints"); threads != 4 || records != 4 {
		t.Errorf("%d threads with %d records, want 4 with 4", threads, records)
	}
}
