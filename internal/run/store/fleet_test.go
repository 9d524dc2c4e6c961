package store_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

func TestFleet(t *testing.T) {
	t.Parallel()
	storetest.RunFleet(t, func(t *testing.T) storetest.Fleets {
		path := newFile(t)
		again := func() *store.Fleet {
			s := open(t, path)
			t.Cleanup(func() { s.Close() })
			return s.Fleet()
		}
		return storetest.Fleets{Fleet: again(), Again: again}
	})
}

func TestPostgresFleet(t *testing.T) {
	t.Parallel()
	u := newDatabase(t)
	storetest.RunFleet(t, func(t *testing.T) storetest.Fleets {
		again := func() *store.Fleet { return openPostgres(t, u).Fleet() }
		empty(t, u)
		return storetest.Fleets{Fleet: again(), Again: again}
	})
}
