// Package storetest is the behaviour that every backend of the store has in common. A backend's test calls Run.
package storetest

import (
	"context"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Backend is what is tested.
type Backend interface {
	PutRun(ctx context.Context, run result.Run, dir string) error
	Run(ctx context.Context, id string) (store.RunEntry, error)
	Runs(ctx context.Context, limit int) ([]store.RunEntry, error)
	Verdict(ctx context.Context, key string) ([]byte, bool, error)
	PutVerdict(ctx context.Context, key string, verdict []byte) error
	Close() error
}

// Open opens the backend at a place, a folder of the test's own that names the data:
// the same place gives the same data again, at the same time or later.
type Open func(t *testing.T, place string) Backend

// Run runs every conformance test on the backend.
func Run(t *testing.T, open Open) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"a run is found by its id", runByID},
		{"putting a run again replaces it", runReplaced},
		{"a run is found by a unique prefix", runByPrefix},
		{"latest is the run that started last", runLatest},
		{"runs come newest first", runsNewestFirst},
		{"odd ids stay apart", runOddIDs},
		{"a verdict is seen at once", verdictAtOnce},
		{"a verdict outlives Close", verdictKept},
		{"the last verdict of a key counts", verdictReplaced},
		{"a verdict's bytes are the caller's", verdictCopied},
		{"keys and verdicts are bytes as they are", verdictBytes},
		{"many write and read at once", manyAtOnce},
		{"two handles share the data", twoHandles},
		{"a cancelled context ends a call", cancelled},
		{"a closed store says so", closedStore},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open) })
	}
}

// opened returns a backend on a fresh place; it is closed with the test.
func opened(t *testing.T, open Open) Backend {
	t.Helper()
	b := open(t, t.TempDir())
	t.Cleanup(func() { closed(t, b) })
	return b
}

func closed(t *testing.T, b Backend) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
