package curl

import (
	"errors"
	"net/url"
	"strings"
)

func (l *parsed) plainData(text string) error {
	if strings.HasPrefix(text, "@") {
		return errors.New("-d @FILE of curl reads a file: write the data itself")
	}
	return l.add(text, "&")
}

func (l *parsed) jsonData(text string) error {
	if strings.HasPrefix(text, "@") {
		return errors.New("--json @FILE of curl reads a file: write the data itself")
	}
	l.json = true
	return l.add(text, "")
}

// encoded keeps content, =content or NAME=CONTENT with the content percent-encoded.
func (l *parsed) encoded(text string) error {
	name, content, named := strings.Cut(text, "=")
	if !named {
		name, content = "", text
	}
	if strings.Contains(name, "@") || !named && strings.Contains(text, "@") {
		return errors.New("--data-urlencode with @FILE of curl reads a file: write the data itself")
	}
	content = escaped(content)
	if name != "" {
		content = name + "=" + content
	}
	return l.add(content, "&")
}

func (l *parsed) add(text, separator string) error {
	if l.hasData {
		text = separator + text
	}
	l.data, l.hasData = append(l.data, text), true
	return nil
}

// fields reads a=b&c=d. What is badly encoded stays as it is.
func fields(text string) []Pair {
	var pairs []Pair
	for part := range strings.SplitSeq(text, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		pairs = append(pairs, Pair{unescaped(name), unescaped(value)})
	}
	return pairs
}

func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// escaped percent-encodes a text. A placeholder stays: its value is encoded when it is known.
func escaped(text string) string {
	var b strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "{{")
		inside, after, closed := strings.Cut(rest, "}}")
		if !found || !closed {
			before, inside, after = text, "", ""
		}
		b.WriteString(url.QueryEscape(before))
		if inside != "" {
			b.WriteString("{{" + inside + "}}")
		}
		text = after
	}
	return b.String()
}
