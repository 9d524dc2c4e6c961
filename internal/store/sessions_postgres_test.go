package store_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"rehearse/graph"
	"rehearse/graph/graphtest"
	"rehearse/internal/sitebot/lead/leadtest"
	"rehearse/internal/sitebot/limit"
	"rehearse/internal/sitebot/limit/limittest"
	"rehearse/internal/sitebot/register/registertest"
	"rehearse/internal/store"
	"rehearse/internal/store/storetest"
)

const emptySessions = `TRUNCATE exp.session_threads, exp.session_records, exp.session_steps, exp.session_locks, exp.session_rows, exp.session_notes,
	exp.outbox, exp.visit_buckets, exp.visit_spent, exp.visit_salt`

// openSessions opens the sessions of a database, as a process of its own.
func openSessions(t testing.TB, u *url.URL, ttl time.Duration) *store.PostgresSessions {
	t.Helper()
	s := openPostgres(t, u).Sessions(ttl)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func emptied(t testing.TB, u *url.URL) {
	t.Helper()
	execute(t, u, emptySessions)
	execute(t, u, `UPDATE exp.session_bytes SET bytes = 0`)
}

func TestPostgresSessions(t *testing.T) {
	u := realPostgres(t).database(t)
	openPostgres(t, u) // which makes the tables
	t.Run("checkpoints", func(t *testing.T) {
		graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer {
			emptied(t, u)
			return openSessions(t, u, time.Hour)
		})
	})
	t.Run("outbox", func(t *testing.T) {
		leadtest.RunOutbox(t, func(t *testing.T) (one, two leadtest.Store) {
			emptied(t, u)
			return openSessions(t, u, time.Hour), openSessions(t, u, time.Hour)
		})
	})
	t.Run("register", func(t *testing.T) {
		registertest.Run(t, func(t *testing.T) (one, two registertest.Store) {
			emptied(t, u)
			return openSessions(t, u, time.Hour), openSessions(t, u, 0)
		})
	})
	t.Run("limits", func(t *testing.T) {
		limittest.RunStore(t, func(t *testing.T) (one, two limit.Store) {
			emptied(t, u)
			return openSessions(t, u, time.Hour), openSessions(t, u, time.Hour)
		})
	})
	t.Run("locks", func(t *testing.T) {
		storetest.RunLocks(t, func(t *testing.T) storetest.Locker {
			emptied(t, u)
			return openSessions(t, u, time.Hour)
		})
	})
	t.Run("bytes", func(t *testing.T) {
		emptied(t, u)
		checkPostgresBytes(t, u, openSessions(t, u, 0))
	})
	t.Run("room", func(t *testing.T) {
		emptied(t, u)
		s := openSessions(t, u, 0)
		for i := range 40 {
			mustSaveAs(t, s, fmt.Sprint("old ", i), sizedRecord(1, 1000))
			time.Sleep(2 * time.Millisecond) // the time of use is in milliseconds
		}
		checkRoom(t, s)
	})
	t.Run("expiry", func(t *testing.T) {
		emptied(t, u)
		checkExpiry(t, u)
	})
	t.Run("names", func(t *testing.T) {
		emptied(t, u)
		s := openSessions(t, u, 0)
		for _, thread := range []string{"b.example:v-7", "a.example:v-7", "a.example:v-8", "é.example:v?7"} {
			mustSaveAs(t, s, thread, turnRecord(1))
		}
		for end, want := range map[string][]string{":v-7": {"a.example:v-7", "b.example:v-7"}, ":v?7": {"é.example:v?7"}, "%": nil} {
			got, err := s.ThreadsEnding(t.Context(), end)
			if d := cmp.Diff(want, got); d != "" && len(want)+len(got) > 0 || err != nil {
				t.Errorf("%s: error %v, threads (-want +got):\n%s", end, err, d)
			}
		}
	})
}

func mustSaveAs(t *testing.T, c graph.Checkpointer, thread string, r graph.Record) {
	t.Helper()
	if err := c.Save(t.Context(), thread, r); err != nil {
		t.Fatal(err)
	}
}

// number reads one number.
func number(t *testing.T, u *url.URL, query string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The bytes of all sessions are right whatever becomes of them.
func checkPostgresBytes(t *testing.T, u *url.URL, s *store.PostgresSessions) {
	same := func(when string) {
		t.Helper()
		if off := number(t, u, `SELECT (SELECT sum(bytes) FROM exp.session_bytes)
			- (SELECT coalesce(sum(coalesce(octet_length(state), 0) + coalesce(octet_length(appended), 0)), 0) FROM exp.session_records)`); off != 0 {
			t.Errorf("%s: %d bytes off", when, off)
		}
	}
	for turn := range 3 {
		mustSaveAs(t, s, "thread", sizedRecord(turn+1, 1000))
		mustSaveAs(t, s, "other", sizedRecord(turn+1, 10))
	}
	same("saved")
	if held := number(t, u, `SELECT sum(bytes)::bigint FROM exp.session_bytes`); held != 3030 {
		t.Errorf("%d bytes are held, want 3030", held)
	}
	if err := s.Compact(t.Context(), "thread", sizedRecord(3, 500)); err != nil {
		t.Fatal(err)
	}
	same("compacted")
	if err := s.Erase(t.Context(), "thread", "site", "session"); err != nil {
		t.Fatal(err)
	}
	same("erased")
}

// A session that was not written for its time is gone, begins anew, and makes room as others begin.
func checkExpiry(t *testing.T, u *url.URL) {
	long, short := openSessions(t, u, time.Hour), openSessions(t, u, 10*time.Millisecond)
	for i := range 3 {
		mustSaveAs(t, long, fmt.Sprint("old ", i), turnRecord(1))
		if err := long.SaveStep(t.Context(), fmt.Sprint("old ", i), graph.Step{Turn: 2, Node: "n", At: time.Now(), Writes: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(30 * time.Millisecond)
	for _, id := range []string{"", turnRecord(1).ID} {
		if records, _ := short.Load(t.Context(), "old 0", id); len(records) != 0 {
			t.Errorf("%q: an expired session has %d records", id, len(records))
		}
	}
	if records, err := short.List(t.Context(), "old 0"); err != nil || len(records) != 0 {
		t.Errorf("%d records are listed, %v", len(records), err)
	}
	if steps, err := short.Steps(t.Context(), "old 0"); err != nil || len(steps) != 0 {
		t.Errorf("%d steps, %v", len(steps), err)
	}
	mustSaveAs(t, short, "old 0", turnRecord(1)) // anew, and two others go
	if left := number(t, u, `SELECT count(*) FROM exp.session_threads`); left != 1 {
		t.Errorf("%d sessions are left", left)
	}
	if left := number(t, u, `SELECT count(*) FROM exp.session_records`); left != 1 {
		t.Errorf("%d records are left", left)
	}
}

// Of two servers that make room at once, neither takes what the other has.
func TestPostgresRoomAtOnce(t *testing.T) {
	u := realPostgres(t).database(t)
	one, two := openSessions(t, u, 0), openSessions(t, u, 0)
	for i := range 30 {
		mustSaveAs(t, one, fmt.Sprint("old ", i), sizedRecord(1, 1000))
	}
	errs := make(chan error)
	for _, s := range []*store.PostgresSessions{one, two} {
		go func() {
			ok, err := s.MakeRoom(t.Context(), 10_000, 0, time.Now().Add(time.Second))
			if !ok && err == nil {
				err = fmt.Errorf("no room")
			}
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if left := number(t, u, `SELECT count(*) FROM exp.session_threads`); left < 9 || left > 10 {
		t.Errorf("%d sessions are left, want 10, or 9 where both took one at once", left)
	}
}
