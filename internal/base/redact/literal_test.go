package redact_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Credentials that a configuration writes out are secrets, too; placeholders and what says no secret are none.
func TestLiterals(t *testing.T) {
	doc, err := source.ParseYAML("x", []byte(`
targets:
  a:
    url: "https://h/x?q={{message}}"
    headers: {Authorization: Bearer literal-bearer, X-Api-Key: literal-key, Cookie: "sid=literal-cookie; lang=en", X-Team: literal-team, X-Token: "{{session_id}}"}
    query: {api_key: literal-query, category: literal-category, token: short}
    body: {token: literal-body}`))
	if err != nil {
		t.Fatal(err)
	}
	r := redact.New(nil)
	r.Read(doc)
	const in = "literal-bearer literal-key literal-cookie en literal-team {{message}} {{session_id}} " +
		"literal-query literal-category short literal-body"
	const want = "[redacted HEADER] [redacted HEADER] [redacted HEADER] en literal-team {{message}} {{session_id}} " +
		"[redacted URL_QUERY] literal-category short literal-body"
	if got := r.Text(in); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
