package evaluation_test

import (
	"os"
	"path/filepath"
	"testing"

	"rehearse/internal/evaluation"
)

// TestSnapshotAtRest takes snapshots of suites in several folders. Nothing changes, so all snapshots are equal.
func TestSnapshotAtRest(t *testing.T) {
	var suites []string
	for _, name := range []string{"a", "b", "c", "d"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "suite.yaml")
		if err := os.WriteFile(file, []byte("tests: []\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		suites = append(suites, file)
	}
	first := evaluation.Snapshot(suites)
	for range 50 {
		if again := evaluation.Snapshot(suites); again != first {
			t.Fatalf("nothing changed, but\n%s\nis not\n%s", again, first)
		}
	}
}
