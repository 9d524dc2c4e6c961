package redact_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
)

func TestReveal(t *testing.T) {
	r := redact.New([]string{`A_TOKEN=12"345678`})
	for in, want := range map[string]string{
		"is [redacted A_TOKEN], [redacted OTHER]": `is 12"345678, [redacted OTHER]`,
		`{"x":"[redacted A_TOKEN]"}`:              `{"x":"12\"345678"}`, "x": "x",
	} {
		if got := r.Reveal(in); got != want {
			t.Errorf("Reveal(%s) = %s, want %s", in, got, want)
		}
	}
	var none *redact.Redactor
	if got := none.Reveal("[redacted X]"); got != "[redacted X]" {
		t.Error(got)
	}
}
