package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// errTooMany is the error of a text with more nodes than it may have.
var errTooMany = errors.New("too many nodes")

// converter turns what the YAML library parsed into Values.
type converter struct {
	file string
	// anchors has the values of nodes with an anchor.
	anchors map[*yaml.Node]Value
	// most is how many nodes the text may have, and nodes how many it has. submitted is true of a text of a submission,
	// in which merges and aliases may add any share of the nodes.
	most, nodes int
	submitted   bool
	// lines behind cutLine stand so many lines further down in the file than in the text that is parsed.
	cutLine, moved int
	// restore undoes hideBreaks in a scalar.
	restore func(string) string
	// err is the first fault.
	err error
}

// hideBreaks replaces U+0085, U+2028 and U+2029 by characters that the text does not have. The parser takes them for
// the end of a line, as YAML 1.1 does; in YAML 1.2 and JSON they are characters of a text like others.
func hideBreaks(data []byte) (text []byte, restore func(string) string) {
	if !bytes.ContainsAny(data, "\u0085\u2028\u2029") {
		return data, func(s string) string { return s }
	}
	var hide, show []string
	free := rune(0xFDD0) // the first of 32 characters that Unicode leaves to programs
	for _, b := range []string{"\u0085", "\u2028", "\u2029"} {
		for bytes.ContainsRune(data, free) {
			free++
		}
		hide, show = append(hide, b, string(free)), append(show, string(free), b)
		free++
	}
	return []byte(strings.NewReplacer(hide...).Replace(string(data))), strings.NewReplacer(show...).Replace
}

// marksPerNode bounds the memory of the parser's tree: a text with more marks for each node that it may have is not
// parsed.
const marksPerNode = 4

// marks returns a number that no text has fewer nodes than: each node begins behind a sign or the end of a line, and a
// comma may end two.
func marks(data []byte) (n int) {
	for _, b := range data {
		switch b {
		case '\n', ':', '[', '{', '-', '?':
			n++
		case ',':
			n += 2
		}
	}
	return n
}

// limits bounds the recursion of the parser, and of what reads its tree.
var limits = yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthFunc(func(depth int, _ *yaml.DepthContext) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	return nil
})))

// parse returns the documents of a text that checkYAML has accepted.
func (c *converter) parse(data []byte) ([]Value, error) {
	if marks(data) > marksPerNode*c.most+1000 {
		return nil, errTooMany
	}
	text, restore := hideBreaks(data)
	c.restore = restore
	loader, err := yaml.NewLoader(bytes.NewReader(text), limits)
	if err != nil {
		return nil, err
	}
	var stream []*yaml.Node
	for {
		var document yaml.Node
		if err = loader.Load(&document); err != nil {
			break
		}
		if body := bodyOf(&document); body != nil {
			stream = append(stream, body)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, c.syntax(data, err)
	}
	if err := c.count(stream); err != nil {
		return nil, err
	}
	var docs []Value
	for _, body := range stream {
		docs = append(docs, c.value(body))
	}
	if c.err != nil {
		return nil, c.err
	}
	return docs, nil
}

// bodyOf returns the value of a document; nil for an empty one.
func bodyOf(document *yaml.Node) *yaml.Node {
	if document.Kind != yaml.DocumentNode || len(document.Content) == 0 {
		return nil
	}
	body := document.Content[0]
	if body.Kind == yaml.ScalarNode && body.Value == "" && body.Style == 0 {
		return nil
	}
	return body
}

// syntax returns the problem of a text that is not YAML.
func (c *converter) syntax(data []byte, err error) error {
	const hint = "check the quotes, brackets and indentation"
	found, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return fault(c.file, 1, 1, "not valid YAML: "+firstLine(err.Error()), hint)
	}
	message := found.Message
	if found.ContextMsg != "" {
		message += " " + found.ContextMsg
	}
	line, column := found.Mark.Line, found.Mark.Column
	// where what has no end begins, or the last sign
	if written := bytes.TrimRight(data, " \t\r\n"); found.Mark.Index >= utf8.RuneCount(written) {
		line, column = found.ContextMark.Line, found.ContextMark.Column
		if end := bytes.Count(written, []byte("\n")) + 1; line == 0 || line > end {
			line, column = end, utf8.RuneCount(written[bytes.LastIndexByte(written, '\n')+1:])
		}
	}
	line, column = c.place(line, column)
	switch {
	case strings.HasPrefix(found.Message, "nested deeper"):
		return fault(c.file, line, column, found.Message, "flatten the document")
	case strings.HasPrefix(found.Message, "unknown anchor"):
		return fault(c.file, line, column, found.Message, "define the anchor earlier in the file, as &name")
	}
	return fault(c.file, line, column, "not valid YAML: "+message, hint+" here")
}

// place returns where a place of the text stands in the file.
func (c *converter) place(line, column int) (int, int) {
	if line > c.cutLine {
		line += c.moved
	}
	return line, column
}

func (c *converter) fail(n *yaml.Node, hint, format string, args ...any) Value {
	if c.err == nil {
		line, column := c.place(n.Line, n.Column)
		c.err = fault(c.file, line, column, fmt.Sprintf(format, args...), hint)
	}
	return Value{}
}

func (c *converter) value(n *yaml.Node) (v Value) {
	if c.err != nil {
		return Value{}
	}
	v.Line, v.Column = c.place(n.Line, n.Column)
	switch n.Kind {
	case yaml.ScalarNode:
		v.Kind, v.Scalar = c.scalar(n)
		v.Scalar = c.restore(v.Scalar)
	case yaml.SequenceNode:
		v.Kind, v.Items = List, make([]Value, len(n.Content))
		for i, item := range n.Content {
			v.Items[i] = c.value(item)
			// a mapping begins at its brace
			if line, column := c.place(item.Line, item.Column); line < v.Items[i].Line {
				v.Items[i].Line, v.Items[i].Column = line, column
			}
		}
	case yaml.MappingNode:
		v.Kind, v.Fields = Map, c.fields(n)
		if len(n.Content) > 0 {
			v.Line, v.Column = c.place(n.Content[0].Line, n.Content[0].Column)
		}
	case yaml.AliasNode:
		target, ok := c.anchors[n.Alias]
		if !ok {
			return c.fail(n, "define it earlier with &"+n.Value, "unknown alias *%s", n.Value)
		}
		target.Line, target.Column = v.Line, v.Column
		return target
	default:
		return c.fail(n, "write a plain value", "unsupported YAML")
	}
	if n.Anchor != "" {
		c.anchors[n] = v
	}
	return v
}

// scalar returns the kind and the text of a scalar. A tag other than !!str changes no kind.
func (c *converter) scalar(n *yaml.Node) (Kind, string) {
	tag := n.ShortTag()
	if n.Style&yaml.TaggedStyle != 0 {
		switch tag {
		case "!!str":
			return String, n.Value
		case "!!int", "!!float", "!!bool", "!!null":
		default:
			c.fail(n, "remove the tag", "unsupported YAML tag %s", tag)
			return Null, ""
		}
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return String, n.Value
	}
	switch tag {
	case "!!null":
		if word := strings.ToLower(n.Value); word == "" || word == "~" || word == "null" {
			return Null, ""
		}
	case "!!bool":
		if word := strings.ToLower(n.Value); word == "true" || word == "false" {
			return Bool, word
		}
	case "!!int", "!!float":
		if _, ok := (Value{Kind: Number, Scalar: n.Value}).Float(); ok && strings.ContainsAny(n.Value, "0123456789") ||
			wholeNumber().MatchString(n.Value) {
			return Number, n.Value
		}
	}
	return String, n.Value
}

// fields returns the entries of a mapping. Those that it merges stand behind its own.
func (c *converter) fields(n *yaml.Node) []Field {
	fields := make([]Field, 0, len(n.Content)/2)
	seen := make(map[string]bool, len(n.Content)/2)
	var merged []Field
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			merged = append(merged, c.merge(value)...)
			continue
		}
		read := c.value(key)
		if c.err == nil && (read.Kind == List || read.Kind == Map) {
			c.fail(key, "write a text before the colon", "the key is %s", read.Kind)
		}
		name := read.Scalar
		if read.Kind == Null {
			name = c.restore(key.Value)
		}
		if seen[name] {
			c.fail(key, "keep one of the two", "the key %q is written twice", name)
			return nil
		}
		seen[name] = true
		fields = append(fields, Field{Name: name, Line: read.Line, Column: read.Column, Value: c.value(value)})
	}
	for _, f := range merged {
		if !seen[f.Name] {
			seen[f.Name] = true
			fields = append(fields, f)
		}
	}
	return fields
}

func (c *converter) merge(n *yaml.Node) []Field {
	v := c.value(n)
	switch v.Kind {
	case Map:
		return v.Fields
	case List:
		var all []Field
		for _, item := range v.Items {
			if item.Kind != Map {
				c.fail(n, mergeHint, noMerge)
			}
			all = append(all, item.Fields...)
		}
		return all
	}
	c.fail(n, mergeHint, noMerge)
	return nil
}

const noMerge, mergeHint = "only a mapping can be merged", "merge a mapping: `<<: *name`"
