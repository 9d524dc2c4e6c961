// Package redact removes secrets from everything that is written or printed.
package redact

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// secretName matches the names of environment variables whose values are secrets.
var secretName = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)S?$`)

// shortest is the least length of a value that is hidden; shorter values would match ordinary words.
const shortest = 8

// Redactor replaces secrets by the name of the variable that holds them. A nil Redactor changes nothing. It is safe for concurrent use.
type Redactor struct{ pairs []pair }

type pair struct{ secret, mark []byte }

// New returns a Redactor for the secrets of an environment in the form of os.Environ.
func New(environ []string) *Redactor {
	r := &Redactor{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !secretName.MatchString(name) || len(value) < shortest {
			continue
		}
		mark := []byte("[redacted " + name + "]")
		r.pairs = append(r.pairs, pair{[]byte(value), mark})
		if escaped, err := json.Marshal(value); err == nil && string(escaped) != `"`+value+`"` {
			r.pairs = append(r.pairs, pair{escaped[1 : len(escaped)-1], mark})
		}
	}
	slices.SortFunc(r.pairs, func(a, b pair) int { return len(b.secret) - len(a.secret) }) // longer secrets first: one may contain another
	return r
}

// Bytes returns data without secrets; it returns data itself when there is nothing to replace.
func (r *Redactor) Bytes(data []byte) []byte {
	if r == nil {
		return data
	}
	for _, p := range r.pairs {
		if bytes.Contains(data, p.secret) {
			data = bytes.ReplaceAll(data, p.secret, p.mark)
		}
	}
	return data
}

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	for _, p := range r.pairs {
		s = strings.ReplaceAll(s, string(p.secret), string(p.mark))
	}
	return s
}

// Environ returns the entries of an environment that hold no secret.
func Environ(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return secretName.MatchString(name)
	})
}
