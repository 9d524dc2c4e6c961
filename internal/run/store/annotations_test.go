package store_test

import (
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

func TestAnnotations(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "rehearse.db"))
	defer s.Close()
	storetest.RunAnnotations(t, s.Annotations())
}

func TestPostgresAnnotations(t *testing.T) {
	storetest.RunAnnotations(t, openPostgres(t, realPostgres(t).database(t)).Annotations())
}
