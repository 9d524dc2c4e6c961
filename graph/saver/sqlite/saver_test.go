package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/graphtest"
	"github.com/rehearse-dev/rehearse/graph/saver/sqlite"
)

func open(t *testing.T, path string) *sqlite.Saver {
	t.Helper()
	s, err := sqlite.Open(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSaver(t *testing.T) {
	graphtest.RunCheckpointer(t, func(t *testing.T) graph.Checkpointer {
		return open(t, filepath.Join(t.TempDir(), "a ?%b.db"))
	})
}

func TestLives(t *testing.T) {
	graphtest.RunLives(t, func(t *testing.T) graphtest.Saver { return open(t, filepath.Join(t.TempDir(), "lives.db")) })
}

// What one process has saved another one reads, also after both have ended.
func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	one, two := open(t, path), open(t, path)
	if err := one.Save(t.Context(), "thread", graph.Record{ID: "1", Source: graph.SourceTurn, Turn: 1}); err != nil {
		t.Fatal(err)
	}
	if err := two.SaveStep(t.Context(), "thread", graph.Step{Turn: 2, Node: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*sqlite.Saver{two, open(t, path)} {
		records, err := s.Load(t.Context(), "thread", "")
		steps, failed := s.Steps(t.Context(), "thread")
		if len(records) != 1 || len(steps) != 1 || err != nil || failed != nil {
			t.Errorf("%d records, %d steps, %v, %v", len(records), len(steps), err, failed)
		}
	}
	if err := one.Save(t.Context(), "thread", graph.Record{ID: "2", Parent: "1"}); err == nil ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("saving in a closed file: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, url := range []string{
		"", "threads.db", "sqlite:", "redis://localhost", "sqlite:" + filepath.Join(t.TempDir(), "none", "a.db"),
	} {
		if s, err := sqlite.Open(t.Context(), url); err == nil {
			t.Errorf("%q was opened", url)
			_ = s.Close()
		}
	}
}
