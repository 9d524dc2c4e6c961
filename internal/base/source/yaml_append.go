package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// AppendYAML returns a document with an item added to the list under a key of its mapping. Everything else stays as it
// is written, comments included. A key that is missing is added; an empty document becomes a mapping. The error is a
// Problems, or says where the list is none.
func AppendYAML(file string, data []byte, key string, item Value) ([]byte, error) {
	root, err := ParseYAML(file, data)
	if err != nil {
		return nil, err
	}
	list, found := root.Get(key)
	switch {
	case root.Kind != Map && root.Kind != Null:
		return nil, fault(file, root.Line, root.Column, "the file is not a mapping", "name another file")
	case !found:
		return addLines(data, len(lines(data)), asList(key, item)), nil
	case list.Kind != List && list.Kind != Null:
		return nil, fault(file, list.Line, list.Column, fmt.Sprintf("%s is not a list in this file", key),
			"name another file")
	}
	if bytes.ContainsRune(bytes.ReplaceAll(data, []byte("\r\n"), nil), '\r') {
		return nil, fault(file, 0, 0, "a carriage return without a line feed ends a line",
			"save the file with LF line ends")
	}
	text, _ := hideBreaks(trimMark(data)) // lines are those of lines
	var document yaml.Node
	if err := yaml.Load(text, &document); err != nil { // it was parsed a moment ago
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	entries := bodyOf(&document).Content
	for i := 0; i < len(entries); i += 2 {
		if entries[i].Value != key {
			continue
		}
		end := len(lines(data))
		if i+2 < len(entries) {
			end = entries[i+2].Line - 1
		}
		switch n := entries[i+1]; {
		case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle != 0:
			return insertFlow(data, n, item)
		case n.Kind == yaml.SequenceNode:
			return addLines(data, end, indented(asItem(item), strings.Repeat(" ", n.Column-1))), nil
		case n.Kind == yaml.ScalarNode && n.Value == "":
			return addLines(data, entries[i].Line, indented(asItem(item), "  ")), nil
		}
	}
	return nil, fmt.Errorf("%s: %s is not written as a plain list of the file", file, key)
}

// asList returns an entry with a list of one item, in lines.
func asList(key string, item Value) []byte {
	return Value{Kind: Map, Fields: []Field{{Name: key, Value: Value{Kind: List, Items: []Value{item}}}}}.YAML()
}

// asItem returns a list of one item, in lines.
func asItem(item Value) []byte { return Value{Kind: List, Items: []Value{item}}.YAML() }

func indented(text []byte, by string) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			b.WriteString(by)
		}
		b.Write(line)
	}
	return b.Bytes()
}

// lines cuts a text behind its line ends.
func lines(data []byte) [][]byte {
	var all [][]byte
	for line := range bytes.Lines(data) {
		all = append(all, line)
	}
	return all
}

// addLines inserts lines behind so many of the text. Blank lines, and comments at the margin, that stand right before
// that place belong to what follows.
func addLines(data []byte, at int, added []byte) []byte {
	all := lines(data)
	belongs := func(line []byte) bool {
		return len(bytes.TrimSpace(line)) == 0 || at < len(all) && line[0] == '#'
	}
	before := at
	for before > 0 && belongs(all[before-1]) {
		before--
	}
	out := bytes.Join(all[:before], nil)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	out = append(out, added...)
	return append(out, bytes.Join(all[before:], nil)...)
}

// insertFlow inserts an item before the end of a list that is written in brackets. JSON is what may stand there.
func insertFlow(data []byte, n *yaml.Node, item Value) ([]byte, error) {
	added, err := json.Marshal(item.Any())
	if err != nil {
		return nil, err
	}
	at := endOfFlow(data, offset(data, n.Line, n.Column))
	before := bytes.TrimRight(data[:at], " \t\r\n")
	if len(n.Content) > 0 && !bytes.HasSuffix(before, []byte(",")) {
		added = append([]byte(", "), added...)
	}
	out := append(bytes.Clone(before), added...)
	return append(out, data[at:]...), nil
}

// endOfFlow returns the place of the bracket that closes the first one at or behind a place. Brackets in quotes and
// comments do not count. Quotes begin a text only behind a bracket, a comma or a colon.
func endOfFlow(data []byte, at int) int {
	depth, last, blank := 0, byte(','), false
	for ; at < len(data); at++ {
		switch b := data[at]; {
		case b == ' ' || b == '\t' || b == '\r' || b == '\n':
			blank = true
			continue
		case b == '#' && blank:
			at += bytes.IndexByte(append(data[at:len(data):len(data)], '\n'), '\n') - 1
			continue
		case (b == '"' || b == '\'') && strings.IndexByte("[{,:", last) >= 0:
			for at++; at < len(data) && data[at] != b; at++ {
				if b == '"' && data[at] == '\\' {
					at++
				}
			}
		case b == '[' || b == '{':
			depth++
		case b == ']' || b == '}':
			if depth--; depth == 0 {
				return at
			}
		}
		last, blank = data[min(at, len(data)-1)], false
	}
	return len(data)
}

// offset returns a place of the text in bytes. Its column counts characters.
func offset(data []byte, line, column int) int {
	before := 0
	for i, text := range lines(data) {
		if i+1 < line {
			before += len(text)
			continue
		}
		for j := range string(text) {
			if column--; column == 0 {
				return before + j
			}
		}
		return before + len(text)
	}
	return len(data)
}
