package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex/sessionindextest"
)

// Two stores on one file are as two processes.
func TestSessionIndex(t *testing.T) {
	sessionindextest.Run(t, func(t *testing.T) (one, two sessionindextest.Store) {
		path := filepath.Join(t.TempDir(), "store.db")
		first, second := open(t, path), open(t, path)
		t.Cleanup(func() { first.Close(); second.Close() })
		return first.Checkpoints(2 * time.Hour), second.Checkpoints(0)
	})
}
