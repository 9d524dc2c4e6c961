package redact_test

import (
	"slices"
	"testing"

	"rehearse/internal/redact"
)

var environ = []string{
	"OPENAI_API_KEY=sk-secret-123456", "LONGER_TOKEN=sk-secret-123456-and-more", "DB_PASSWORD=short", "QUOTED_SECRET=a\"b\\c123456",
	"HOME=/home/someone", "MONKEY=banana-banana",
}

func TestRedactor(t *testing.T) {
	r := redact.New(environ)
	for in, want := range map[string]string{
		"key sk-secret-123456 echoed":  "key [redacted OPENAI_API_KEY] echoed",
		"sk-secret-123456-and-more":    "[redacted LONGER_TOKEN]",
		`{"x":"a\"b\\c123456"}`:        `{"x":"[redacted QUOTED_SECRET]"}`,
		"a short day at /home/someone": "a short day at /home/someone",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	var none *redact.Redactor
	if got := none.Text("x"); got != "x" {
		t.Errorf("the nil Redactor changed x to %q", got)
	}
}

func TestEnviron(t *testing.T) {
	if got := redact.Environ(environ); !slices.Equal(got, []string{"HOME=/home/someone"}) {
		t.Errorf("Environ = %v", got)
	}
}
