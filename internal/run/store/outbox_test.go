package store_test

import (
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead/leadtest"
)

// Two stores on one file are as two processes.
func TestOutbox(t *testing.T) {
	t.Parallel()
	leadtest.RunOutbox(t, func(t *testing.T) (one, two leadtest.Store) {
		path := newFile(t)
		first, second := open(t, path), open(t, path)
		t.Cleanup(func() { first.Close(); second.Close() })
		return first.Checkpoints(time.Hour), second.Checkpoints(time.Hour)
	})
}
