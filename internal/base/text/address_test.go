package text_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"http://u:p@host:1/x?key=K#f": "http://host:1/x", "https://host": "https://host",
		"postgres://u:p@ss@db/x": "postgres://db/x", "redis://:pw@h": "redis://h", "http://h?key=K": "http://h",
		"http://h/a@b": "http://h/a@b", "a word": "a word", "sqlite:x@y.db": "sqlite:x@y.db",
	} {
		if got := text.Address(in); got != want {
			t.Errorf("Address(%q) = %q, want %q", in, got, want)
		}
	}
}
