package access_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// Two processes use one store: what one of them makes and removes counts at the other.
func TestTwoServers(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (one, other *store.Fleet){
		"SQLite": func(t *testing.T) (one, other *store.Fleet) {
			path := filepath.Join(t.TempDir(), "rehearse.db")
			return openFile(t, path), openFile(t, path)
		},
		"PostgreSQL": func(t *testing.T) (one, other *store.Fleet) {
			url := servertest.Database(t).String()
			return openPostgres(t, url), openPostgres(t, url)
		},
	} {
		t.Run(name, func(t *testing.T) {
			one, other := open(t)
			a := access.New(access.Config{Store: other})
			if configured, err := a.Configured(); configured || err != nil {
				t.Fatal(configured, err)
			}
			_, token, err := access.Issue(t.Context(), one, access.Wish{Name: "ci", Scopes: []string{"run", "test"}},
				time.Now())
			if err != nil {
				t.Fatal(err)
			}
			within(t, func() bool {
				g, err := a.Authenticate(token)
				return err == nil && g.Token == "ci" && g.Allows(access.Read) && g.Allows(access.Test) &&
					!g.Allows(access.Admin)
			})
			if all, err := access.List(t.Context(), other); err != nil || len(all) != 1 || all[0].Name != "ci" {
				t.Errorf("%+v %v", all, err)
			}
			if err := access.Revoke(t.Context(), other, "ci"); err != nil {
				t.Fatal(err)
			}
			b := access.New(access.Config{Store: one})
			within(t, func() bool { _, err := b.Authenticate(token); return errors.Is(err, access.ErrUnknown) })
			within(t, func() bool { _, err := a.Authenticate(token); return errors.Is(err, access.ErrUnknown) })
		})
	}
}

// within waits for a minute, which is for a busy machine: TestChangesCount holds the 5 s.
func within(t *testing.T, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("it never counts")
		}
	}
}

func openFile(t *testing.T, path string) *store.Fleet {
	t.Helper()
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Fleet()
}

func openPostgres(t *testing.T, url string) *store.Fleet {
	t.Helper()
	p, err := store.OpenPostgres(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p.Fleet()
}
