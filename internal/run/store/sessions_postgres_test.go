package store_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/graphtest"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead/leadtest"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit/limittest"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex/sessionindextest"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

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

func TestPostgresSessions(t *testing.T) {
	t.Parallel()
	u := newDatabase(t)
	t.Run("checkpoints", func(t *testing.T) {
		graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer {
			empty(t, u)
			return openSessions(t, u, time.Hour)
		})
	})
	t.Run("outbox", func(t *testing.T) {
		leadtest.RunOutbox(t, func(t *testing.T) (one, two leadtest.Store) {
			empty(t, u)
			return openSessions(t, u, time.Hour), openSessions(t, u, time.Hour)
		})
	})
	t.Run("session index", func(t *testing.T) {
		sessionindextest.Run(t, func(t *testing.T) (one, two sessionindextest.Store) {
			empty(t, u)
			return openSessions(t, u, time.Hour), openSessions(t, u, 0)
		})
	})
	t.Run("limits", func(t *testing.T) {
		limittest.RunStore(t, func(t *testing.T) (one, two limit.Store) {
			empty(t, u)
			return openSessions(t, u, time.Hour), openSessions(t, u, time.Hour)
		})
	})
	t.Run("locks", func(t *testing.T) {
		storetest.RunLocks(t, func(t *testing.T) storetest.Locker {
			empty(t, u)
			return openSessions(t, u, time.Hour)
		})
	})
	t.Run("expiry", func(t *testing.T) {
		empty(t, u)
		checkExpiry(t, u)
	})
	t.Run("names", func(t *testing.T) {
		empty(t, u)
		s := openSessions(t, u, 0)
		for _, thread := range []string{"b.example:v-7", "a.example:v-7", "a.example:v-8", "é.example:v?7"} {
			mustSaveAs(t, s, thread, turnRecord(1))
		}
		for end, want := range map[string][]string{
			":v-7": {"a.example:v-7", "b.example:v-7"}, ":v?7": {"é.example:v?7"}, "%": nil,
		} {
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

// A session that was not written for its time is gone, begins anew, and makes room as others begin.
func checkExpiry(t *testing.T, u *url.URL) {
	long, short := openSessions(t, u, time.Hour), openSessions(t, u, 10*time.Millisecond)
	for i := range 3 {
		mustSaveAs(t, long, fmt.Sprint("old ", i), turnRecord(1))
		if err := long.SaveStep(t.Context(), fmt.Sprint("old ", i), graph.Step{
			Turn: 2, Node: "n", At: time.Now(), Writes: []byte(`{}`),
		}); err != nil {
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
