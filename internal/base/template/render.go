package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Context is where a rendered text goes, which says how the values in it are encoded. What the author wrote around them
// stays as it is.
type Context uint8

// The places of a text.
const (
	// Plain is a text of its own, such as the argument of a program: nothing is encoded.
	Plain Context = iota
	// Address is any part of a URL, or a form: all but letters, digits and -._~ is percent-encoded.
	Address
	// Header is the value of a header: all but printable ASCII is percent-encoded, also of what the author wrote.
	Header
)

// Text renders a template as a text. A list of messages is written as `role: content` lines, any other list or mapping
// as JSON. ok is false when it is nothing but {{session_id}} and there is none yet. The error is that of a variable
// which the test does not have.
func (t *Template) Text(v *Values, p Context) (rendered string, ok bool, err error) {
	if t.root.absent(v) {
		return "", false, nil
	}
	rendered, err = t.root.text(v, p)
	if p == Header {
		rendered = headerText(rendered)
	}
	return rendered, true, err
}

// JSON renders a template as JSON, with the entries of a mapping in the order of the template. ok is false when it is
// nothing but {{session_id}} and there is none yet.
func (t *Template) JSON(v *Values) (data []byte, ok bool, err error) {
	if t.root.absent(v) {
		return nil, false, nil
	}
	data, err = t.root.appendJSON(nil, v)
	return data, true, err
}

// Form renders a mapping as a form or the query of an address: pairs of names and texts, percent-encoded. A list that
// stands in the template repeats its name. A text is rendered as Text does it.
func (t *Template) Form(v *Values) (string, error) {
	if t.root.kind != mapping {
		text, _, err := t.Text(v, Address)
		return text, err
	}
	var pairs []string
	for _, f := range t.root.fields {
		values := []node{f.node}
		if f.node.kind == list {
			values = f.node.items
		}
		for _, value := range values {
			if value.absent(v) || value.kind == plain && value.value == nil {
				continue
			}
			text, err := value.text(v, Plain)
			if err != nil {
				return "", err
			}
			pairs = append(pairs, Escape(f.name)+"="+Escape(text))
		}
	}
	return strings.Join(pairs, "&"), nil
}

// absent reports whether a node is nothing but the session's id while there is none.
func (n node) absent(v *Values) bool {
	p, ok := n.whole()
	return ok && p.name == "session_id" && v.SessionID == ""
}

func (n node) text(v *Values, p Context) (string, error) {
	if n.kind != text {
		data, err := n.appendJSON(nil, v)
		if n.kind == plain {
			return scalar(n.value), err
		}
		return string(data), err
	}
	var b strings.Builder
	for _, piece := range n.pieces {
		if piece.name == "" {
			b.WriteString(piece.literal)
			continue
		}
		value, err := v.of(piece.name)
		if err != nil {
			return "", err
		}
		if s := scalar(value); p == Address {
			b.WriteString(Escape(s))
		} else {
			b.WriteString(s)
		}
	}
	return b.String(), nil
}

// literal returns a node without placeholders as a text.
func (n node) literal() string {
	s, err := n.text(&Values{}, Plain)
	if err != nil { // it has no placeholder that could fail
		return ""
	}
	return s
}

// scalar writes a value inside a text.
func scalar(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case int:
		return strconv.Itoa(value)
	case []messageText:
		lines := make([]string, 0, len(value))
		for _, m := range value {
			lines = append(lines, string(m.Role)+": "+m.Content)
		}
		return strings.Join(lines, "\n")
	case []messageParts:
		lines := make([]string, 0, len(value))
		for _, m := range value {
			lines = append(lines, string(m.Role)+": "+m.Parts[0].Text)
		}
		return strings.Join(lines, "\n")
	}
	data, err := appendValue(nil, value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

func (n node) appendJSON(b []byte, v *Values) ([]byte, error) {
	var err error
	switch n.kind {
	case mapping:
		b = append(b, '{')
		first := true
		for _, f := range n.fields {
			if f.node.absent(v) {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			if b, err = appendValue(b, f.name); err != nil {
				return nil, err
			}
			if b, err = f.node.appendJSON(append(b, ':'), v); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case list:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = item.appendJSON(b, v); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case text:
		if p, ok := n.whole(); ok {
			value, err := v.of(p.name)
			if err != nil {
				return nil, err
			}
			return appendValue(b, value)
		}
		s, err := n.text(v, Plain)
		if err != nil {
			return nil, err
		}
		return appendValue(b, s)
	}
	return appendValue(b, n.value)
}

// appendValue appends the JSON of a value, with <, > and & as they are.
func appendValue(b []byte, value any) ([]byte, error) {
	buffer := bytes.NewBuffer(b)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return buffer.Bytes()[:buffer.Len()-1], nil // without the line's end
}

// Escape percent-encodes all but the unreserved characters of RFC 3986: letters, digits and -._~.
func Escape(s string) string {
	return escape(s, func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' ||
			c == '_' || c == '~'
	})
}

// headerText percent-encodes what is not printable ASCII.
func headerText(s string) string {
	return escape(s, func(c byte) bool { return c >= ' ' && c <= '~' })
}

func escape(s string, keep func(byte) bool) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; keep(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		}
	}
	return b.String()
}
