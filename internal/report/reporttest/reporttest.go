// Package reporttest has what the tests of all reports need.
package reporttest

import (
	"bytes"
	"io"
	"regexp"
	"testing"
)

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
