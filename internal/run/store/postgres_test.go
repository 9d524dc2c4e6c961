package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

// documented is the table that applications make.
const documented = `CREATE SCHEMA exp; CREATE TABLE exp.events (event_id text, event_type text, unit_type text, unit_id text,
	experiments jsonb, context jsonb, metrics jsonb, payload jsonb, "timestamp" timestamptz);`

// oneEvent is followed by its id.
const oneEvent = `INSERT INTO exp.events (event_type, context, "timestamp", event_id)
	SELECT 'message_sent', '{"session_id": "s", "flow_id": "f"}', now(), `

func TestPostgres(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		test func(*testing.T)
	}{
		{"many open a new database at once", openAtOnce},
		{"a table that is there stays as it is", openAdopts},
		{"a table of other types that serve", openVarchar},
		{"an index that was broken off is made again", openRepairs},
		{"a table that cannot be used is explained", openRefuses},
		{"what is wrong with the connection is explained", openExplains},
		{"rights", openRights},
		{"opening ends with its context", openCancelled},
	} {
		t.Run(tc.name, tc.test)
	}
}

// openMany opens a database many times at once.
func openMany(t *testing.T, u *url.URL) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			p, err := store.OpenPostgres(t.Context(), u.String())
			if err != nil {
				t.Errorf("OpenPostgres: %v", err)
				return
			}
			p.Close()
		})
	}
	wg.Wait()
	indexes := ask(t, u,
		`SELECT string_agg(indexrelid::regclass || ' ' || indisvalid, ', ' ORDER BY indexrelid::regclass::text)
		FROM pg_index WHERE indrelid = 'exp.events'::regclass AND NOT indisunique`)
	if want := "exp.events_in_flow true, exp.events_in_session true"; indexes != want {
		t.Errorf("indexes %s, want %s", indexes, want)
	}
	if n := ask(t, u, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); n != "0" {
		t.Errorf("%s locks are held", n)
	}
}

func openAtOnce(t *testing.T) {
	u := servertest.Database(t)
	openMany(t, u)
	openMany(t, u)
	if n := ask(t, u, `SELECT count(*) FROM exp.rehearse_migrations WHERE version_id > 0`); n !=
		fmt.Sprint(store.Newest("postgres")) {
		t.Errorf("%s migrations were made, want %d", n, store.Newest("postgres"))
	}
}

func openAdopts(t *testing.T) {
	u := servertest.Database(t)
	execute(t, u, documented+oneEvent+`'e' || i FROM generate_series(1, 20000) i`)
	file := ask(t, u, `SELECT pg_relation_filenode('exp.events')`)
	openMany(t, u)
	if now := ask(t, u, `SELECT pg_relation_filenode('exp.events')`); now != file {
		t.Error("the table was rewritten")
	}
	if columns := ask(t, u,
		`SELECT count(*) FROM pg_attribute WHERE attrelid = 'exp.events'::regclass AND attnum > 0`); columns != "10" {
		t.Errorf("%s columns, want 10: the application's and the arrival", columns)
	}
	events := openPostgres(t, u).Events()
	execute(t, u, oneEvent+`'later'`) // the application goes on
	if added, _, err := events.Put(t.Context(), messages(0, 40)); added != 40 || err != nil {
		t.Errorf("Put: %d, %v", added, err)
	}
	again := replay.Event{ID: "e7", SessionID: "s", Time: time.Now()}
	if added, _, err := events.Put(t.Context(), one(again)); added != 0 || err != nil {
		t.Errorf("Put of what the application wrote: %d, %v", added, err)
	}
	if n := count(t, events, replay.Filter{}); n != 20_041 {
		t.Errorf("%d events, want 20041", n)
	}
	if n := count(t, events, replay.Filter{FlowID: "f"}); n != 20_001 {
		t.Errorf("%d events of the flow, want 20001", n)
	}
}

func one(e replay.Event) func(func(replay.Event, error) bool) {
	return func(yield func(replay.Event, error) bool) { yield(e, nil) }
}

func openVarchar(t *testing.T) {
	u := servertest.Database(t)
	execute(t, u, `CREATE SCHEMA exp; CREATE TABLE exp.events (id bigserial PRIMARY KEY, "timestamp" timestamptz(3) NOT NULL DEFAULT now(), event_id varchar(100) NOT NULL UNIQUE,
		event_type varchar(50), unit_type varchar, unit_id varchar, experiments json, context json NOT NULL, metrics json, payload json, extra int)`)
	events := openPostgres(t, u).Events()
	if unique := ask(t, u,
		`SELECT count(*) FROM pg_index WHERE indrelid = 'exp.events'::regclass AND indisunique`); unique != "2" {
		t.Errorf("%s unique indexes, want the table's own two", unique)
	}
	for _, n := range []int{40, 2_000} {
		if _, _, err := events.Put(t.Context(), messages(0, n)); err != nil {
			t.Errorf("Put: %v", err)
		}
	}
	if n := count(t, events, replay.Filter{FlowID: "flow_1"}); n != 100 {
		t.Errorf("%d events of flow_1, want 100", n)
	}
}

func openRepairs(t *testing.T) {
	u := servertest.Database(t)
	execute(t, u, documented+oneEvent+`'e' || i FROM generate_series(1, 100) i;
		CREATE INDEX events_in_session ON exp.events (event_type);
		UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'exp.events_in_session'::regclass`)
	openMany(t, u)
	if n := count(t, openPostgres(t, u).Events(), replay.Filter{}); n != 100 {
		t.Errorf("%d events, want 100", n)
	}
}

func openRefuses(t *testing.T) {
	for _, tc := range []struct{ name, table, want string }{
		{
			"other columns", `CREATE SCHEMA exp; CREATE TABLE exp.events (event_id uuid, event_type text, unit_type text, unit_id text, experiments text[],
			context jsonb, metrics jsonb, payload jsonb, "timestamp" timestamp)`,
			"not with the columns event_id text, experiments jsonb, timestamp timestamp with time zone; " +
				"add or alter them",
		},
		{
			"another table", `CREATE SCHEMA exp; CREATE TABLE exp.events (name text)`,
			"not with the columns event_id text, event_type text, unit_type text",
		},
		{"a view", `CREATE SCHEMA exp; CREATE VIEW exp.events AS SELECT 1`, "is no ordinary table; rename it"},
		{"ids twice", documented + oneEvent + `'e1'; ` + oneEvent + `'e1'`, "remove all but one of the rows"},
		{
			"a newer schema", `CREATE SCHEMA exp; CREATE TABLE exp.rehearse_migrations (version_id bigint); INSERT INTO exp.rehearse_migrations VALUES (99)`,
			fmt.Sprintf("written by a newer rehearse (schema 99, this program knows %d); use the newer program",
				store.Newest("postgres")),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := servertest.Database(t)
			execute(t, u, tc.table)
			wantOpenError(t, u, tc.want)
		})
	}
}

// wantOpenError wants one line that says so, where, and not the password.
func wantOpenError(t *testing.T, u *url.URL, want string) {
	t.Helper()
	p, err := store.OpenPostgres(t.Context(), u.String())
	if err == nil {
		p.Close()
		t.Fatal("no error")
	}
	if !errors.As(err, new(*store.Error)) || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "postgres://") {
		t.Errorf("OpenPostgres: %v, want %s", err, want)
	}
	hides(t, err, u)
}

func hides(t *testing.T, err error, u *url.URL) {
	t.Helper()
	password, _ := u.User.Password()
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, written := range []string{
			password, url.QueryEscape(password), url.PathEscape(password), url.UserPassword("", password).String()[1:],
		} {
			if password != "" && strings.Contains(e.Error(), written) {
				t.Errorf("the error tells the password: %v", e)
			}
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %q", err)
	}
}

func openExplains(t *testing.T) {
	const wrong = "wr0ng p@ss"
	for _, tc := range []struct {
		name, want string
		change     func(u *url.URL)
	}{
		{"wrong password", "refused the user or the password [SQLSTATE 28P01]; correct them", func(u *url.URL) {
			u.User = url.UserPassword("rehearse", wrong)
		}},
		{"no such user", "correct them in the URL", func(u *url.URL) { u.User = url.UserPassword("nobody", wrong) }},
		{"nothing there", "nothing listens there; start the server", func(u *url.URL) {
			u.Host = "127.0.0.1:" + servertest.FreePort(t)
		}},
		{"no such host", "there is no host no.invalid; correct the URL", func(u *url.URL) {
			u.Host = "no.invalid:5432"
		}},
		{"no such database", "correct the database in the URL, or create it", func(u *url.URL) { u.Path = "/absent" }},
		{"no TLS", "sslmode=disable", func(u *url.URL) { u.RawQuery = "sslmode=require" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := servertest.Postgres(t)
			tc.change(u)
			wantOpenError(t, u, tc.want)
		})
	}
	for _, tc := range []struct{ address, want string }{
		{"postgres://u:sec/ret@db.example/app", "not one of a PostgreSQL database; write it as postgres://user"},
		{"postgres://u:sec%zzret@db.example/app", "not one of a PostgreSQL database"},
		{"mysql://u:secret@db.example/app", "not one of a PostgreSQL database"},
		{"host=db.example password=secret", "not one of a PostgreSQL database"},
		{"", "not one of a PostgreSQL database"},
		{"postgres://u:secret@db.example/app?sslmode=perhaps", "sslmode"},
		{"postgres://u:secret@db.example/app?pool_max_conns=secret", "pool_max_conns"},
	} {
		_, err := store.OpenPostgres(t.Context(), tc.address)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "sec/ret") {
			t.Errorf("OpenPostgres(%s): %v, want %s", tc.address, err, tc.want)
		}
	}
}

// openRights has users who may do little.
func openRights(t *testing.T) {
	u := servertest.Database(t)
	const password = "not-in-any-name" // names of databases are random letters and digits
	role := "role_" + strings.TrimPrefix(u.Path, "/test_")
	execute(t, u, "CREATE ROLE "+role+" LOGIN PASSWORD '"+password+"'")
	t.Cleanup(func() { execute(t, u, "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	other := *u
	other.User = url.UserPassword(role, password)
	wantOpenError(t, &other, "open the store once as the owner")

	events := openPostgres(t, u).Events()
	if _, _, err := events.Put(t.Context(), messages(0, 100)); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, &other, "grant usage on the schema exp")
	execute(t, u, "GRANT USAGE ON SCHEMA exp TO "+role+"; GRANT SELECT ON ALL TABLES IN SCHEMA exp TO "+role)
	reader := openPostgres(t, &other).Events()
	if n := count(t, reader, replay.Filter{}); n != 100 {
		t.Errorf("%d events, want 100", n)
	}
	for _, n := range []int{1, 1000} {
		if _, _, err := reader.Put(t.Context(), messages(0, n)); err == nil ||
			!strings.Contains(err.Error(), "select and insert") {
			t.Errorf("Put of %d without the right: %v", n, err)
		}
	}
	execute(t, u, "GRANT INSERT ON exp.events TO "+role)
	for _, n := range []int{1, 101, 1000} {
		if _, _, err := reader.Put(t.Context(), messages(0, n)); err != nil {
			t.Errorf("Put of %d with the right: %v", n, err)
		}
	}
}

func openCancelled(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = store.OpenPostgres(ctx, "postgres://u:"+url.QueryEscape(servertest.PostgresPassword)+"@"+
		silent.Addr().String()+"/db?sslmode=disable")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("OpenPostgres of a silent server: %v", err)
	}

	// While another process migrates, as it seems.
	u := servertest.Database(t)
	release := hold(t, u, `SELECT pg_advisory_lock(`+strconv.Itoa(store.MigrationLock)+`)`)
	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := store.OpenPostgres(ctx, u.String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("OpenPostgres during a migration: %v", err)
	}
	release()
	openPostgres(t, u)

	p := openPostgres(t, u)
	p.Close()
	_, _, err = p.Events().Put(t.Context(), messages(0, 1))
	if err == nil || !strings.Contains(err.Error(), "the connection is closed") {
		t.Errorf("Put after Close: %v", err)
	}
}
