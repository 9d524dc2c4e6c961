package store_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

// postgresServer is a PostgreSQL server with databases for tests.
type postgresServer struct{ admin *url.URL }

// realPostgres returns the server that the tests share.
func realPostgres(t testing.TB) postgresServer {
	t.Helper()
	return postgresServer{servertest.Postgres(t)}
}

// durablePostgres starts a server that writes to the disk, for benchmarks.
func durablePostgres(b *testing.B) postgresServer {
	b.Helper()
	return postgresServer{servertest.NewPostgres(b, "-c", "fsync=on").URL()}
}

// emptied makes a database and returns what opens it without any rows, again and again: making one each time takes ten
// times as long.
func (s postgresServer) emptied(t testing.TB) func(t *testing.T) *store.Postgres {
	t.Helper()
	u := s.database(t)
	return func(t *testing.T) *store.Postgres {
		t.Helper()
		p := openPostgres(t, u)
		execute(t, u, `TRUNCATE exp.events, exp.variants, exp.prompt_versions, exp.conversation_replay_results, exp.conversation_replay_sessions,
			exp.datasets, exp.dataset_items`)
		return p
	}
}

// database makes an empty database, which ends with the test.
func (s postgresServer) database(t testing.TB) *url.URL {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	execute(t, s.admin, "CREATE DATABASE "+name)
	t.Cleanup(func() { execute(t, s.admin, "DROP DATABASE "+name+" WITH (FORCE)") })
	u := *s.admin
	u.Path = "/" + name
	return &u
}

// openPostgres opens a database; it is closed with the test.
func openPostgres(t testing.TB, u *url.URL) *store.Postgres {
	t.Helper()
	p, err := store.OpenPostgres(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// execute runs statements as somebody else would.
func execute(t testing.TB, u *url.URL, sql string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// hold runs statements and keeps what they hold until it is released.
func hold(t testing.TB, u *url.URL, sql string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { conn.Close(context.Background()) })
	t.Cleanup(release)
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	return release
}

// ask returns what a question has for an answer, as text.
func ask(t testing.TB, u *url.URL, sql string) string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var answer any
	if err := conn.QueryRow(ctx, sql).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return fmt.Sprint(answer)
}
