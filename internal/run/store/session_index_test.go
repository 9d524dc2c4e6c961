package store_test

import (
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex/sessionindextest"
)

// Two stores on one file are as two processes.
func TestSessionIndex(t *testing.T) {
	t.Parallel()
	sessionindextest.Run(t, func(t *testing.T) (one, two sessionindextest.Store) {
		path := newFile(t)
		first, second := open(t, path), open(t, path)
		t.Cleanup(func() { first.Close(); second.Close() })
		return first.Checkpoints(2 * time.Hour), second.Checkpoints(0)
	})
}
