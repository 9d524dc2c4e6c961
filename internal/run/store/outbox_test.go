package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead/leadtest"
)

// Two stores on one file are as two processes.
func TestOutbox(t *testing.T) {
	leadtest.RunOutbox(t, func(t *testing.T) (one, two leadtest.Store) {
		path := filepath.Join(t.TempDir(), "store.db")
		first, second := open(t, path), open(t, path)
		t.Cleanup(func() { first.Close(); second.Close() })
		return first.Checkpoints(time.Hour), second.Checkpoints(time.Hour)
	})
}
