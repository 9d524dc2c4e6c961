package redact_test

import (
	"io"
	"strings"
	"testing"

	"rehearse/internal/redact"
)

// A writer passes records on without secrets, and reports their whole length.
func TestWriter(t *testing.T) {
	var out strings.Builder
	w := redact.New([]string{"API_KEY=abcdefghijkl"}).Writer(&out)
	const record = "level=WARN error=\"abcdefghijkl is refused\"\n"
	if n, err := io.WriteString(w, record); n != len(record) || err != nil {
		t.Errorf("writing says %d, %v", n, err)
	}
	if got, want := out.String(), "level=WARN error=\"[redacted API_KEY] is refused\"\n"; got != want {
		t.Errorf("written is %q, want %q", got, want)
	}
}
