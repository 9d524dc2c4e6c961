package store_test

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

func TestFleet(t *testing.T) {
	storetest.RunFleet(t, func(t *testing.T) storetest.Fleets {
		path := filepath.Join(t.TempDir(), "rehearse.db")
		again := func() *store.Fleet {
			s := open(t, path)
			t.Cleanup(func() { s.Close() })
			return s.Fleet()
		}
		return storetest.Fleets{Fleet: again(), Again: again}
	})
}

func TestPostgresFleet(t *testing.T) {
	u := realPostgres(t).database(t)
	storetest.RunFleet(t, func(t *testing.T) storetest.Fleets { return postgresFleets(t, u) })
}

// postgresFleets empties a database of fleets.
func postgresFleets(t *testing.T, u *url.URL) storetest.Fleets {
	again := func() *store.Fleet { return openPostgres(t, u).Fleet() }
	f := again()
	execute(t, u, `DO $$ DECLARE tables text; BEGIN
		SELECT string_agg('exp.' || tablename, ', ') INTO tables FROM pg_tables WHERE schemaname = 'exp' AND tablename LIKE 'fleet%';
		EXECUTE 'TRUNCATE ' || tables;
	END $$`)
	return storetest.Fleets{Fleet: f, Again: again}
}
