package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Limits of one document. They bound what a hostile file can cost: aliases count as often as they are used. The nodes
// of submissions are bounded by their Allowance instead.
const (
	MaxBytes = 64 << 20
	maxNodes = 4_000_000
	maxDepth = 200
)

// ParseYAML parses one YAML (or JSON) document. An empty document is Null.
// The error is a Problems with one entry.
func ParseYAML(file string, data []byte) (Value, error) { return Files{}.ParseYAML(file, data) }

// ParseYAML is ParseYAML for a document of these files.
func (f Files) ParseYAML(file string, data []byte) (Value, error) {
	docs, err := f.ParseYAMLStream(file, data)
	return oneDocument(file, docs, err)
}

func oneDocument(file string, docs []Value, err error) (Value, error) {
	switch {
	case err != nil:
		return Value{}, err
	case len(docs) == 0:
		return Value{}, nil
	case len(docs) > 1:
		at := docs[1]
		return Value{}, fault(file, at.Line, at.Column, "a second document starts here",
			"keep one YAML document per file; remove the `---` line")
	}
	return docs[0], nil
}

// ParseYAMLStream parses every document of a YAML stream; empty documents are left out.
// The error is a Problems with one entry.
func (f Files) ParseYAMLStream(file string, data []byte) ([]Value, error) {
	if err := checkYAML(file, data); err != nil {
		return nil, err
	}
	docs, _, err := f.parse(file, data)
	return docs, err
}

// parse parses a stream that checkYAML has accepted, and counts its nodes against the allowance of the files.
func (f Files) parse(file string, data []byte) ([]Value, *converter, error) {
	c := f.converter(file)
	docs, err := c.parse(trimMark(data))
	if errors.Is(err, errTooMany) {
		return nil, c, f.tooMany(file)
	}
	return docs, c, cmp.Or(f.take(file, c.nodes), err)
}

// converter returns one for a document of these files.
func (f Files) converter(file string) *converter {
	return &converter{file: file, anchors: map[*yaml.Node]Value{}, most: f.most(file), submitted: f.allowance != nil}
}

// checkYAML returns what makes a text unfit for the parser: its size or its encoding.
func checkYAML(file string, data []byte) error {
	if len(data) > MaxBytes {
		return fault(file, 0, 0, fmt.Sprintf("the file is larger than %d MB", MaxBytes>>20),
			"split it, or keep the tests in a .jsonl file")
	}
	if line, column, broken := notUTF8(data); broken {
		return fault(file, line, column, "the file is not UTF-8 text", "save it as UTF-8")
	}
	return nil
}

func fault(file string, line, column int, message, hint string) error {
	return Problems{{File: file, Line: line, Column: column, Message: message, Hint: hint}}
}

// trimMark removes the byte order mark.
func trimMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// notUTF8 finds the first byte that is no UTF-8 text.
func notUTF8(data []byte) (line, column int, broken bool) {
	if utf8.Valid(data) {
		return 0, 0, false
	}
	line, column = 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			return line, column, true
		case r == '\n':
			line, column = line+1, 0
		}
		column++
		data = data[size:]
	}
	return line, column, true
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
