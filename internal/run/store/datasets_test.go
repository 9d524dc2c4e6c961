package store_test

import (
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

func TestDatasets(t *testing.T) {
	t.Parallel()
	storetest.RunDatasets(t, func(t *testing.T) *store.Datasets { return fresh(t).Datasets() })
}

func TestPostgresDatasets(t *testing.T) {
	t.Parallel()
	opened := emptied(t)
	storetest.RunDatasets(t, func(t *testing.T) *store.Datasets { return opened(t).Datasets() })
}

func TestDatasetsAfterClose(t *testing.T) {
	path := newFile(t)
	s := open(t, path)
	s.Close()
	_, listed := s.Datasets().List(t.Context())
	_, purged := s.Datasets().Purge(t.Context(), "a", time.Now())
	for want, err := range map[string]error{
		"read datasets from store " + path + ": it is closed": listed,
		"write items to store " + path + ": it is closed":     purged,
		"write a dataset to store " + path + ": it is closed": s.Datasets().Create(t.Context(), "a", "", time.Now()),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
