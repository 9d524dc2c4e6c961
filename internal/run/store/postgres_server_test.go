package store_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// emptied returns a function that opens a database without any rows, again and again.
func emptied(t testing.TB) func(t *testing.T) *store.Postgres {
	t.Helper()
	u := newDatabase(t)
	return func(t *testing.T) *store.Postgres {
		t.Helper()
		empty(t, u)
		return openPostgres(t, u)
	}
}

// empty deletes all rows of a database. Tables without rows are left out, as truncating one costs several files.
func empty(t testing.TB, u *url.URL) {
	t.Helper()
	execute(t, u, `DO $$ DECLARE name text; names text; filled bool; BEGIN
		FOR name IN SELECT format('exp.%I', tablename) FROM pg_tables
			WHERE schemaname = 'exp' AND tablename <> 'rehearse_migrations' LOOP
			EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO filled;
			IF filled THEN
				names := concat_ws(', ', names, name);
			END IF;
		END LOOP;
		IF names <> '' THEN
			EXECUTE 'TRUNCATE ' || names || ' CASCADE';
		END IF;
	END $$`)
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
