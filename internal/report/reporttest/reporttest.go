// Package reporttest has what the tests of all reports need.
package reporttest

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update rewrites the golden files: go test ./internal/report/... -update, then read the difference.
var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares got with a file in testdata.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s mismatch (-want +got); run with -update if it is meant:\n%s", path, d)
	}
}

// Rendered returns what a renderer writes.
func Rendered(t *testing.T, render func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := render(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Tags returns every tag of a page, as it stands there.
func Tags(page string) []string {
	return regexp.MustCompile(`<[a-zA-Z/!][^>]*>`).FindAllString(page, -1)
}
