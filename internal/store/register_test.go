package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/sitebot/register/registertest"
)

// Two stores on one file are as two processes.
func TestRegister(t *testing.T) {
	registertest.Run(t, func(t *testing.T) (one, two registertest.Store) {
		path := filepath.Join(t.TempDir(), "store.db")
		first, second := open(t, path), open(t, path)
		t.Cleanup(func() { first.Close(); second.Close() })
		return first.Checkpoints(2 * time.Hour), second.Checkpoints(0)
	})
}
