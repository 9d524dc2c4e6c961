// Package redact removes secrets from everything that is written or printed.
//
// A Redactor learns what is secret while configuration, suites and the command line are read. It finds a secret as it
// is, in base64, in hex, and with characters escaped as in addresses, JSON and HTML.
package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// Redactor replaces secrets by a mask with the name of the variable that holds them. A nil Redactor changes nothing. It
// is safe for concurrent use; what it learns holds from then on for everything that has it.
type Redactor struct {
	mu      sync.Mutex
	learned learned
	// plain are texts that stay as they are where a text is nothing else.
	plain []func(text string) bool
	found atomic.Pointer[finder]
}

// New returns a Redactor for an environment in the form of os.Environ. It knows the program's own keys, variables whose
// names look like those of secrets, and passwords in addresses. A text for which one of the functions is true stays as
// it is, such as a word that the program's records are made of.
func New(environ []string, plain ...func(text string) bool) *Redactor {
	r := &Redactor{learned: newLearned(environ), plain: plain}
	r.found.Store(newFinder(r.learned.secrets(), plain))
	return r
}

// learn changes what is known, and makes it hold.
func (r *Redactor) learn(change func(*learned) (changed bool)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if change(&r.learned) {
		r.found.Store(newFinder(r.learned.secrets(), r.plain))
	}
}

// Text returns s without secrets. A text that is plain as a whole (see New) stays as it is.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	f := r.found.Load()
	if len(find(f, s)) == 0 && !isContainer(s) || f.stays(s) {
		return s
	}
	return string(maskText(f, []byte(s)))
}

// Bytes returns data without secrets; it returns data itself when there is nothing to replace. In JSON, also inside of
// its strings, only strings change: it stays JSON, with its keys in their order.
func (r *Redactor) Bytes(data []byte) []byte {
	if r == nil {
		return data
	}
	f := r.found.Load()
	if f.empty() {
		return data
	}
	return maskText(f, data)
}

// maskText masks a text, or the strings of a JSON document.
func maskText(f *finder, data []byte) []byte {
	if masked, ok := maskJSON(f, data); ok {
		return masked
	}
	if spans := find(f, data); len(spans) > 0 {
		return mask(f, data, spans)
	}
	return data
}

// isContainer reports whether a text begins like an object or a list of JSON.
func isContainer(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[')
}

// maskJSON masks the strings of a JSON document, or of several behind each other. It is not ok when data is something
// else.
func maskJSON(f *finder, data []byte) (masked []byte, ok bool) {
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return nil, false
	}
	kept := 0          // data up to here is in masked
	var decoded []byte // used again for each string
	for at := 0; ; {
		open := bytes.IndexByte(data[at:], '"')
		if open < 0 {
			break
		}
		open += at
		end, escaped := stringEnd(data, open)
		if end < 0 {
			return nil, false
		}
		text := data[open+1 : end-1]
		if escaped {
			decoded = decode(decoded[:0], text)
			text = decoded
		}
		if changed, found := maskString(f, text); found {
			masked = append(append(masked, data[kept:open]...), changed...)
			kept = end
		}
		at = end
	}
	if kept == 0 {
		// What is no JSON may hold a secret outside of quotes. Looking for secrets is cheaper than reading JSON.
		return data, len(find(f, data)) == 0 || isJSON(data)
	}
	masked = append(masked, data[kept:]...)
	return masked, isJSON(data)
}

// isJSON reports whether data is JSON: one document, or several objects and lists.
func isJSON(data []byte) bool {
	if json.Valid(data) {
		return true
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var one json.RawMessage
		switch err := decoder.Decode(&one); {
		case err == io.EOF:
			return true
		case err != nil, one[0] != '{' && one[0] != '[':
			return false
		}
	}
}

// stringEnd returns the end of the string that begins with the quote at open, and whether it has escapes; -1 without an
// end.
func stringEnd(data []byte, open int) (end int, escaped bool) {
	for at := open + 1; at < len(data); at++ {
		switch data[at] {
		case '"':
			return at + 1, escaped
		case '\\':
			escaped = true
			at++ // what is escaped
		}
	}
	return -1, escaped
}

// decode appends what the inside of a JSON string means. An escape that is none stays.
func decode(to, text []byte) []byte {
	for at := 0; at < len(text); {
		next := bytes.IndexByte(text[at:], '\\')
		if next < 0 {
			return append(to, text[at:]...)
		}
		to = append(to, text[at:at+next]...)
		at += next
		if escape := bytes.IndexByte([]byte(escapes), text[at+1]); escape >= 0 {
			to = append(to, meant[escape])
			at += 2
			continue
		}
		meaning, length, _ := unescapeJSON(string(text[at:min(len(text), at+longestEscape)]))
		if length == 0 {
			meaning, length = string(text[at]), 1
		}
		to = append(to, meaning...)
		at += length
	}
	return to
}

// maskString masks a text and writes it as a JSON string. found is false when there is nothing to mask.
func maskString(f *finder, text []byte) (quoted []byte, found bool) {
	masked := maskText(f, text) // it may be JSON itself
	if len(masked) == len(text) && bytes.Equal(masked, text) || f.stays(string(text)) {
		return nil, false
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(string(masked)) != nil {
		return nil, false
	}
	return bytes.TrimRight(out.Bytes(), "\n"), true
}
