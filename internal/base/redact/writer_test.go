package redact_test

import (
	"io"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
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

// What cannot be the beginning of a secret is passed on at once.
func TestWriterWaits(t *testing.T) {
	var out strings.Builder
	w := redact.New([]string{"API_KEY=abcdefghijkl"}).Writer(&out)
	for _, c := range []struct{ piece, want string }{
		{"> ", "> "},
		{"a", "> "},
		{"bc", "> "},
		{" no\n", "> abc no\n"},
		{"abcdef", "> abc no\n"},
		{"ghijkl", "> abc no\n"},
		{" is", "> abc no\n[redacted API_KEY] is"},
		{" abc", "> abc no\n[redacted API_KEY] is "},
	} {
		if _, err := io.WriteString(w, c.piece); err != nil || out.String() != c.want {
			t.Errorf("after %q written is %q, want %q (%v)", c.piece, out.String(), c.want, err)
		}
	}
	if err := w.Flush(); err != nil || !strings.HasSuffix(out.String(), "] is abc") {
		t.Errorf("flushed is %q (%v)", out.String(), err)
	}
}
