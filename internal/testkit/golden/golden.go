// Package golden compares what tests make with files of their folder testdata. UPDATE_GOLDEN=1 rewrites the files, for
// all packages at once: UPDATE_GOLDEN=1 go test ./..., then read the difference.
package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update reports whether golden files are to be rewritten.
func Update() bool { return os.Getenv("UPDATE_GOLDEN") != "" }

// Compare fails a test whose output is not what the file of this name in testdata holds.
func Compare(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if Update() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s mismatch (-want +got), UPDATE_GOLDEN=1 rewrites it:\n%s", path, d)
	}
}
