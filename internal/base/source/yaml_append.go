package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// AppendYAML returns a document with an item added to the list under a key of its mapping. Everything else stays as it is written, comments
// included. A key that is missing is added; an empty document becomes a mapping. The error is a Problems, or says where the list is none.
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
		return nil, fault(file, list.Line, list.Column, fmt.Sprintf("%s is not a list in this file", key), "name another file")
	}
	parsed, err := parser.ParseBytes(trimMark(data), 0)
	if err != nil || len(parsed.Docs) == 0 { // it was parsed a moment ago
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	entry, next := entryOf(parsed.Docs[0].Body, key)
	if entry == nil {
		return nil, fmt.Errorf("%s: %s is not written as a plain entry of the file", file, key)
	}
	end := len(lines(data))
	if next != nil {
		end = next.Key.GetToken().Position.Line - 1
	}
	switch n := entry.Value.(type) {
	case *ast.SequenceNode:
		if n.IsFlowStyle {
			return insertFlow(data, n, item)
		}
		dash := strings.Repeat(" ", n.Start.Position.Column-1)
		return addLines(data, end, indented(asItem(item), dash)), nil
	case *ast.NullNode:
		return addLines(data, entry.Key.GetToken().Position.Line, indented(asItem(item), "  ")), nil
	}
	return nil, fmt.Errorf("%s: %s is not written as a plain list", file, key)
}

// entryOf returns the entry of a mapping, and the one behind it; nil where there is none.
func entryOf(n ast.Node, key string) (entry, next *ast.MappingValueNode) {
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	}
	for i, e := range entries {
		if e.Key.GetToken().Value != key {
			continue
		}
		if i+1 < len(entries) {
			next = entries[i+1]
		}
		return e, next
	}
	return nil, nil
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

// addLines inserts lines behind so many of the text. Blank lines, and comments at the margin, that stand right before that place belong to what
// follows.
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
func insertFlow(data []byte, n *ast.SequenceNode, item Value) ([]byte, error) {
	added, err := json.Marshal(item.Any())
	if err != nil {
		return nil, err
	}
	at := offset(data, n.End.Position)
	before := bytes.TrimRight(data[:at], " \t\r\n")
	if len(n.Values) > 0 && !bytes.HasSuffix(before, []byte(",")) {
		added = append([]byte(", "), added...)
	}
	out := append(bytes.Clone(before), added...)
	return append(out, data[at:]...), nil
}

// offset returns the place of a token in the text, in bytes. Its column counts characters.
func offset(data []byte, at *token.Position) int {
	before := 0
	for i, line := range lines(data) {
		if i+1 < at.Line {
			before += len(line)
			continue
		}
		column := at.Column - 1
		for j := range string(line) {
			if column == 0 {
				return before + j
			}
			column--
		}
		return before + len(line)
	}
	return len(data)
}
