package store_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
)

func TestAnnotations(t *testing.T) {
	s := open(t, newFile(t))
	defer s.Close()
	storetest.RunAnnotations(t, s.Annotations())
}

func TestPostgresAnnotations(t *testing.T) {
	t.Parallel()
	storetest.RunAnnotations(t, openPostgres(t, newDatabase(t)).Annotations())
}
