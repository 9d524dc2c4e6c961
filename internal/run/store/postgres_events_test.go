package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

func TestPostgresEvents(t *testing.T) {
	opened := emptied(t)
	storetest.RunEvents(t, func(t *testing.T) replay.Events { return opened(t).Events() })
	storetest.RunEventsAdd(t, func(t *testing.T) *store.Events { return opened(t).Events() })
	t.Run("pages need no sort", func(t *testing.T) { pagesNeedNoSort(t, newDatabase(t)) })
	t.Run("rows that an application wrote", func(t *testing.T) { foreignRows(t, newDatabase(t)) })
	t.Run("the server ends a connection", func(t *testing.T) { connectionEnded(t, newDatabase(t)) })
	t.Run("a locked table", func(t *testing.T) { tableLocked(t, newDatabase(t)) })
	t.Run("no tables are left behind", func(t *testing.T) { nothingLeft(t, newDatabase(t)) })
}

func pagesNeedNoSort(t *testing.T, u *url.URL) {
	events := openPostgres(t, u).Events()
	if _, _, err := events.Put(t.Context(), messages(0, 5_000)); err != nil {
		t.Fatal(err)
	}
	for _, analyze := range []string{"", "ANALYZE exp.events;"} {
		for _, f := range pageFilters {
			query, args := events.PageOf(f)
			plan := explained(t, u, analyze+"SET enable_sort = off", query, args)
			index := "events_in_session"
			if f.FlowID != "" {
				index = "events_in_flow"
			}
			if !strings.Contains(plan, "Index Scan using "+index) || strings.Contains(plan, "Sort") {
				t.Errorf("%+v (%s):\n%s", f, analyze, plan)
			}
		}
	}
}

func explained(t *testing.T, u *url.URL, before, query string, args []any) string {
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "EXPLAIN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}

// foreignRows are rows that Put would not have written.
func foreignRows(t *testing.T, u *url.URL) {
	events := openPostgres(t, u).Events()
	execute(t, u, `ALTER TABLE exp.events ALTER event_type DROP NOT NULL, ALTER "timestamp" DROP NOT NULL`)
	execute(t, u, `INSERT INTO exp.events (event_id, event_type, context, metrics, payload, "timestamp") VALUES
		('1', 'message_sent', '{"session_id": "s", "flow_id": "f"}', 'null', '[null]', '2025-03-01 12:00:00.123456+03'),
		('2', NULL, '{"session_id": 42, "flow_id": true}', NULL, NULL, '2025-03-01 12:00:00+00'),
		('3', 'x', NULL, NULL, NULL, now()),
		('4', 'x', 'null', NULL, NULL, now()),
		('5', 'x', '["session_id"]', NULL, NULL, now()),
		('6', 'x', '{"session_id": ""}', NULL, NULL, now()),
		('7', 'x', '{"session_id": null}', NULL, NULL, now()),
		('8', 'x', '{"session_id": "s"}', NULL, NULL, NULL),
		('9', 'x', '{"session_id": "s"}', NULL, NULL, 'infinity'),
		('10', 'x', '{"session_id": "s"}', NULL, NULL, '-infinity')`)
	var got []string
	for e, err := range events.Each(t.Context(), replay.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %q %s/%s %v %s %s %q", e.ID, e.Type, e.SessionID, e.FlowID, e.Time, e.Metrics,
			e.Payload, e.UnitID))
	}
	want := []string{
		`2 "" 42/true 2025-03-01 12:00:00 +0000 UTC   ""`,
		`1 "message_sent" s/f 2025-03-01 09:00:00.123456 +0000 UTC  [null] ""`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := count(t, events, replay.Filter{FlowID: "true"}); n != 1 {
		t.Errorf("%d events of flow true", n)
	}
	if n := count(t, events, replay.Filter{To: time.Date(2025, 3, 1, 9, 0, 1, 0, time.UTC)}); n != 1 {
		t.Errorf("%d events before", n)
	}
	// What cannot be yielded is counted: no session, or no time.
	if faults, err := events.Unusable(t.Context(), replay.Filter{}); err != nil || len(faults) != 1 ||
		faults[0].Count != 8 || strings.Join(faults[0].Examples, " ") != "10 3 4 5 6" {
		t.Errorf("unusable: %v, %v", faults, err)
	}
	if faults, err := events.Unusable(t.Context(), replay.Filter{
		FlowID: "f", Types: []string{"x"}, To: time.Date(2025, 3, 2, 0, 0, 0, 0, time.UTC),
	}); err != nil || len(faults) != 0 {
		t.Errorf("unusable of flow f: %v, %v", faults, err)
	}
}

// holdEvents holds the table until it is released, so that whoever writes waits.
func holdEvents(t *testing.T, u *url.URL) (release func()) {
	return hold(t, u, "BEGIN; LOCK TABLE exp.events IN EXCLUSIVE MODE")
}

// awaitWaiter waits until somebody waits for the table.
func awaitWaiter(t *testing.T, u *url.URL) {
	t.Helper()
	for range 2_000 {
		if ask(t, u, `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'exp.events'::regclass`) != "0" {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("nobody waits for the table")
}

// endConnections ends those of the program, as an administrator may.
func endConnections(t *testing.T, u *url.URL) {
	ask(t, u, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'rehearse'`)
}

func connectionEnded(t *testing.T, u *url.URL) {
	events := openPostgres(t, u).Events()
	const n = 12_000
	if _, _, err := events.Put(t.Context(), messages(0, 5_000)); err != nil {
		t.Fatal(err)
	}
	release := holdEvents(t, u)
	failed := make(chan error)
	go func() {
		_, _, err := events.Put(t.Context(), messages(0, n))
		failed <- err
	}()
	awaitWaiter(t, u)
	endConnections(t, u)
	err := <-failed
	if err == nil || !strings.Contains(err.Error(), "ended from the server's side") ||
		!strings.Contains(err.Error(), "try again") {
		t.Errorf("Put: %v", err)
	}
	if !errors.As(err, new(*store.Error)) || !strings.Contains(err.Error(), u.Path) {
		t.Errorf("Put: %v, want an Error with the database", err)
	}
	hides(t, err, u)
	release()
	added, _, err := events.Put(t.Context(), messages(0, n))
	if kept := count(t, events, replay.Filter{}); err != nil || kept != n || added != n-5_000 {
		t.Errorf("Put again: %d, %v, then %d events; want %d", added, err, kept, n)
	}
	// Connections that were ended while nobody used them are no error.
	endConnections(t, u)
	time.Sleep(1100 * time.Millisecond) // pgx asks a connection that was idle for a second whether it lives
	if kept := count(t, events, replay.Filter{FlowID: "flow_3"}); kept == 0 {
		t.Error("no events")
	}
}

// tableLocked has Put give up while the server makes it wait.
func tableLocked(t *testing.T, u *url.URL) {
	p := openPostgres(t, u)
	for _, n := range []int{1, 2_000} { // one statement, and a copy
		release := holdEvents(t, u)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, _, err := p.Events().Put(ctx, messages(0, n))
			failed <- err
		}()
		awaitWaiter(t, u)
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) { // while the table is held
			t.Errorf("Put of %d gave up: %v", n, err)
		}
		release()
	}
	if n := count(t, p.Events(), replay.Filter{}); n != 0 {
		t.Errorf("%d events are there", n)
	}
}

// nothingLeft looks for temporary tables after many calls of every size.
func nothingLeft(t *testing.T, u *url.URL) {
	events := openPostgres(t, u).Events()
	for i := range 10 {
		for _, n := range []int{1, 499, 500, 501} {
			if _, _, err := events.Put(t.Context(), messages(i*50, n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := ask(t, u, `SELECT count(*) FROM pg_class WHERE relname LIKE 'rehearse_incoming%'`); n != "0" {
		t.Errorf("%s temporary tables are left", n)
	}
	if open := ask(t, u,
		`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'`); open !=
		"0" {
		t.Errorf("%s transactions are open", open)
	}
}
