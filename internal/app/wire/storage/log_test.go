package storage_test

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/importer"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

// product is a database of an application whose log has other names, uuid ids and times without a zone, and a role
// that can only read.
const product = `
CREATE SCHEMA shop;
CREATE TABLE shop.chat (no uuid PRIMARY KEY DEFAULT gen_random_uuid(), what text, ctx json, body json, at timestamp)
	PARTITION BY RANGE (no);
CREATE TABLE shop.all_chat PARTITION OF shop.chat DEFAULT;
INSERT INTO shop.chat (what, ctx, body, at) VALUES
	('message_sent', '{"session_id": 7, "flow_id": "f"}', '{"sender": "user", "message_text": "early"}',
		'2025-03-01 23:59:59'),
	('message_sent', '{"session_id": 7}', '{"sender": "bot", "message_text": "late"}', '2025-03-02 00:00:01'),
	('flow_completed', '{"session_id": 7}', NULL, '2025-03-02 00:00:02'),
	('message_sent', '{"session_id": "other days"}', '{"sender": "user", "message_text": "x"}', '2025-04-01 00:00:00'),
	('message_sent', '{"flow_id": "f"}', '{"sender": "user"}', '2025-03-02 00:00:00'),
	('message_sent', '{"session_id": "no time"}', '{"sender": "user"}', NULL),
	('message_sent', '{"session_id": "never"}', '{"sender": "user"}', 'infinity');
CREATE ROLE reader LOGIN PASSWORD 'hidden' CONNECTION LIMIT 5;
ALTER ROLE reader SET default_transaction_read_only = on;
ALTER ROLE reader SET timezone = 'Asia/Tokyo';
GRANT USAGE ON SCHEMA shop TO reader;
GRANT SELECT ON shop.chat TO reader;`

const mapped = `SELECT no AS event_id, what AS event_type, ctx AS context, body AS payload, at AS timestamp
	FROM shop.chat`

// productDatabase makes the database, and returns the addresses of its owner and of the role that can only read.
func productDatabase(t *testing.T) (owner, reader *url.URL) {
	t.Helper()
	owner = servertest.NewPostgres(t).URL()
	execute(t, owner, product)
	reader = &url.URL{}
	*reader = *owner
	reader.User = url.UserPassword("reader", "hidden")
	return owner, reader
}

func execute(t *testing.T, u *url.URL, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), u.String())
	if err == nil {
		_, err = conn.Exec(t.Context(), sql)
		defer conn.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// described lists the messages of a log and its faults.
func described(t *testing.T, log *storage.Log) string {
	t.Helper()
	var all []string
	for e, err := range log.Each(t.Context(), replay.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(e.SessionID, " ", e.FlowID, " ", e.Type, " ", e.Time.UTC().Format(time.DateTime)))
	}
	faults, err := log.Unusable(t.Context(), replay.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		all = append(all, fmt.Sprint(f.Kind, " ", f.Count))
	}
	return strings.Join(all, "\n")
}

func TestLogOfAnApplication(t *testing.T) {
	owner, reader := productDatabase(t)
	march := store.LogQuery{
		From: time.Date(2025, 3, 2, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC),
	}
	const session = "7 f message_sent 2025-03-01 23:59:59\n7  message_sent 2025-03-02 00:00:01\n" +
		"7  flow_completed 2025-03-02 00:00:02"
	opened := func(q store.LogQuery, sql string) (*storage.Log, error) {
		q.SQL = sql
		dir := t.TempDir()
		log, err := storage.OpenLog(t.Context(), reader.String(), q, importer.Options{}, "sqlite:results.db", dir)
		t.Cleanup(func() {
			_ = log.Close()
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
		return log, err
	}
	for name, sql := range map[string]string{
		"a query": mapped, "with a semicolon": mapped + ";\n", "with a comment": mapped + " -- all",
		"without ids": strings.Replace(mapped, "no AS event_id, ", "", 1),
	} {
		log, err := opened(march, sql)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := described(t, log); got != session+"\nno_session_or_time 3" {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	log, err := opened(march, strings.NewReplacer("ctx AS", "ctx::text AS", "body AS", "body::text AS").Replace(mapped))
	if err != nil {
		t.Fatal(err)
	}
	if got := described(t, log); !strings.HasPrefix(got, session) { // the database cannot choose the sessions
		t.Errorf("objects in texts:\n%s", got)
	}
	if log, err = opened(store.LogQuery{}, `SELECT ctx ->> 'session_id' AS session_id, at AS timestamp,
		body ->> 'sender' AS sender, body ->> 'message_text' AS text FROM shop.chat WHERE what = 'message_sent'
		AND at < '2025-03-03' AND ctx ->> 'session_id' <> ''`); err != nil {
		t.Fatal(err)
	}
	if want := "7  message_sent 2025-03-01 23:59:59\n7  message_sent 2025-03-02 00:00:01"; described(t, log) != want {
		t.Errorf("a message a row:\n%s", described(t, log))
	}
	for sql, want := range map[string]string{
		"":                         "name the rows of the log with --query FILE",
		"SELECT no FROM shop.chat": "no row of --log is an event or a message (no_time 7)",
		"SELECT 1; SELECT 2":       "write one query",
		"SELECT set_config('transaction_read_only', 'off', false)": "must be set before any query",
		"SELECT * FROM pg_authid":                                  "grant select",
		") SELECT":                                                 "write one query",
		"SELECT 1) AS a; COMMIT; SELECT (2":                        "write one query",
	} {
		_, err := opened(store.LogQuery{}, sql)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v, want %q", sql, err, want)
		}
	}
	execute(t, owner, `CREATE SCHEMA exp; CREATE VIEW exp.events AS `+mapped+`;
		GRANT USAGE ON SCHEMA exp TO reader; GRANT SELECT ON exp.events TO reader`)
	if log, err = opened(march, ""); err != nil {
		t.Fatal(err)
	}
	if got := described(t, log); got != session+"\nno_session_or_time 3" {
		t.Errorf("a view:\n%s", got)
	}
}

// TestLogIsNotTheStore checks that results never go to the database of the log, by whatever name.
func TestLogIsNotTheStore(t *testing.T) {
	owner, reader := productDatabase(t)
	byName := *owner
	byName.Host = "localhost:" + owner.Port()
	for _, results := range []*url.URL{owner, reader, &byName} {
		_, err := storage.OpenLog(t.Context(), reader.String(), store.LogQuery{SQL: mapped}, importer.Options{},
			results.String(), t.TempDir())
		if err == nil || !strings.Contains(err.Error(), "--store is the database of --log") {
			t.Errorf("%v", err)
		}
	}
	execute(t, owner, `CREATE DATABASE results`)
	elsewhere := *owner
	elsewhere.Path = "/results"
	log, err := storage.OpenLog(t.Context(), reader.String(), store.LogQuery{SQL: mapped}, importer.Options{},
		elsewhere.String(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
