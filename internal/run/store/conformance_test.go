package store_test

import (
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead/leadtest"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex/sessionindextest"
	"github.com/rehearse-dev/rehearse/internal/run/store/storetest"
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

func TestAnnotations(t *testing.T) {
	s := open(t, newFile(t))
	defer s.Close()
	storetest.RunAnnotations(t, s.Annotations())
}

func TestPostgresAnnotations(t *testing.T) {
	t.Parallel()
	storetest.RunAnnotations(t, openPostgres(t, newDatabase(t)).Annotations())
}

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
