package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ParseJSON parses one JSON value that starts on the given line of the file, as a line of a JSON Lines file does.
// Columns count bytes. The error is a Problems with one entry.
func ParseJSON(file string, data []byte, line int) (Value, error) {
	if _, column, broken := notUTF8(data); broken {
		return Value{}, Problems{{
			File: file, Line: line, Column: column, Message: "the line is not UTF-8 text",
			Hint: "save the file as UTF-8",
		}}
	}
	p := jsonParser{dec: json.NewDecoder(bytes.NewReader(data)), data: data, line: line}
	p.dec.UseNumber()
	v, err := p.value(0)
	if err == nil {
		if _, extra := p.dec.Token(); !errors.Is(extra, io.EOF) {
			err = errors.New("something follows the value")
		}
	}
	if err != nil {
		at, column := p.place(p.dec.InputOffset())
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at, column = p.place(max(0, syntax.Offset-1))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends in the middle")
		}
		return Value{}, Problems{{
			File: file, Line: at, Column: column,
			Message: "not valid JSON: " + err.Error(), Hint: "each line must be one complete JSON object",
		}}
	}
	return v, nil
}

// ParseJSON is ParseJSON for a document of these files.
func (f Files) ParseJSON(file string, data []byte, line int) (Value, error) {
	if f.allowance == nil {
		return ParseJSON(file, data, line)
	}
	rows, nodes := rowsOf(file), JSONNodes(data)
	if nodes > f.allowance.most(rows, line) {
		return Value{}, f.allowance.refuse(file, line)
	}
	v, err := ParseJSON(file, data, line)
	if err != nil {
		line = 0 // it counts as read again: the caller may read it in another way
	}
	if err := f.allowance.take(rows, line, nodes); err != nil {
		return Value{}, err
	}
	return v, err
}

// JSONNodes counts the scalars, lists, mappings and keys of JSON text without reading it. It takes no memory.
func JSONNodes(data []byte) (nodes int) {
	inWord := false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; b {
		case '"':
			nodes++
			inWord = false
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			nodes++
			inWord = false
		case '}', ']', ',', ':', ' ', '\t', '\r', '\n':
			inWord = false
		default: // of a number, true, false or null
			if !inWord {
				nodes++
			}
			inWord = true
		}
	}
	return nodes
}

type jsonParser struct {
	dec  *json.Decoder
	data []byte
	line int
	// where the last place was found: the search for the next one goes on from there
	seen       int64
	seenLine   int
	lineStart  int64
	everPlaced bool
}

func (p *jsonParser) place(offset int64) (line, column int) {
	if !p.everPlaced || offset < p.seen {
		p.seen, p.seenLine, p.lineStart, p.everPlaced = 0, p.line, 0, true
	}
	for ; p.seen < offset && p.seen < int64(len(p.data)); p.seen++ {
		if p.data[p.seen] == '\n' {
			p.seenLine++
			p.lineStart = p.seen + 1
		}
	}
	return p.seenLine, int(offset-p.lineStart) + 1
}

func (p *jsonParser) value(depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	start := p.dec.InputOffset()
	for start < int64(len(p.data)) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[start]) >= 0 {
		start++
	}
	token, err := p.dec.Token()
	if err != nil {
		return Value{}, err
	}
	v := Value{}
	v.Line, v.Column = p.place(start)
	switch t := token.(type) {
	case nil:
	case bool:
		v.Kind, v.Scalar = Bool, strconv.FormatBool(t)
	case json.Number:
		v.Kind, v.Scalar = Number, t.String()
	case string:
		v.Kind, v.Scalar = String, t
	case json.Delim:
		if t == '[' {
			v.Kind = List
			v.Items, err = p.items(depth)
		} else {
			v.Kind = Map
			v.Fields, err = p.fields(depth)
		}
	}
	return v, err
}

func (p *jsonParser) items(depth int) ([]Value, error) {
	items := []Value{}
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := p.dec.Token()
	return items, err
}

func (p *jsonParser) fields(depth int) ([]Field, error) {
	fields := []Field{}
	seen := map[string]bool{}
	for p.dec.More() {
		key, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if seen[key.Scalar] {
			return nil, fmt.Errorf("the key %q is written twice", key.Scalar)
		}
		seen[key.Scalar] = true
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		fields = append(fields, Field{Name: key.Scalar, Line: key.Line, Column: key.Column, Value: v})
	}
	_, err := p.dec.Token()
	return fields, err
}
