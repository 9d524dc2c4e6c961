package redact

import (
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// anyMask matches what stands in a record in place of a secret.
var anyMask = text.Regexp(`\[redacted [^\]]+\]`)

// FirstMask returns the first mask in s, the name of its secret included; empty where s has none.
func FirstMask(s string) string { return anyMask().FindString(s) }

// Reveal returns s with the values of secrets in place of their masks. A mask without a known value stays. It is for
// what was recorded and goes no further than to a grader. In a text with an object of JSON, such as a verdict, values
// are written as JSON does.
func (r *Redactor) Reveal(s string) string {
	if strings.Contains(s, "{") {
		return string(r.RevealJSON([]byte(s)))
	}
	return r.reveal(s, func(value string) string { return value })
}

// RevealJSON is Reveal for JSON, which stays JSON.
func (r *Redactor) RevealJSON(data []byte) []byte {
	revealed := r.reveal(string(data), func(value string) string {
		quoted, err := json.Marshal(value)
		if err != nil {
			return value
		}
		return string(quoted[1 : len(quoted)-1])
	})
	if revealed == string(data) {
		return data
	}
	return []byte(revealed)
}

func (r *Redactor) reveal(s string, write func(value string) string) string {
	if r == nil || !strings.Contains(s, "[redacted ") {
		return s
	}
	r.mu.Lock()
	secrets := r.learned.secrets()
	r.mu.Unlock()
	var pairs []string
	for _, one := range secrets {
		if one.encoded {
			continue
		}
		pairs = append(pairs, "[redacted "+one.name+"]", write(one.value))
	}
	return strings.NewReplacer(pairs...).Replace(s)
}
