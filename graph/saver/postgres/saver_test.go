package postgres_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/graphtest"
	"github.com/rehearse-dev/rehearse/graph/saver/postgres"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

func open(t *testing.T, url string) *postgres.Saver {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSaver(t *testing.T) {
	u := servertest.Database(t).String()
	graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer {
		s := open(t, u)
		conn, err := pgx.Connect(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(t.Context()) }()
		const all = "TRUNCATE graph_threads, graph_records, graph_steps, graph_claims"
		if _, err := conn.Exec(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestLives(t *testing.T) {
	graphtest.RunLives(t, func(t *testing.T) graphtest.Saver { return open(t, servertest.Database(t).String()) })
}

// Several processes may meet on a new database.
func TestOpenAtOnce(t *testing.T) {
	u := servertest.Database(t).String()
	errs := make(chan error)
	for range 8 {
		go func() {
			s, err := postgres.Open(t.Context(), u)
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	secret := rand.Text()
	for _, url := range []string{
		"", "sqlite:a.db", "postgres://u:" + secret + "@%zz", "postgres://u:" + secret + "@127.0.0.1:1/db",
	} {
		s, err := postgres.Open(t.Context(), url)
		if err == nil {
			t.Errorf("%q was opened", url)
			_ = s.Close()
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("the error has the password: %v", err)
		}
	}
}
