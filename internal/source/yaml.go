package source

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of one document. They bound what a hostile file can cost: aliases count as often as they are used.
const (
	MaxBytes = 64 << 20
	maxNodes = 4_000_000
	maxDepth = 200
)

// ParseYAML parses one YAML (or JSON) document. An empty document is Null.
// The error is a Problems with one entry.
func ParseYAML(file string, data []byte) (Value, error) {
	docs, err := ParseYAMLStream(file, data)
	switch {
	case err != nil:
		return Value{}, err
	case len(docs) == 0:
		return Value{}, nil
	case len(docs) > 1:
		at := docs[1]
		return Value{}, Problems{{
			File: file, Line: at.Line, Column: at.Column, Message: "a second document starts here",
			Hint: "keep one YAML document per file; remove the `---` line",
		}}
	}
	return docs[0], nil
}

// ParseYAMLStream parses every document of a YAML stream; empty documents are left out.
// The error is a Problems with one entry.
func ParseYAMLStream(file string, data []byte) (docs []Value, err error) {
	fault := func(line, column int, message, hint string) error {
		return Problems{{File: file, Line: line, Column: column, Message: message, Hint: hint}}
	}
	if len(data) > MaxBytes {
		return nil, fault(0, 0, fmt.Sprintf("the file is larger than %d MB", MaxBytes>>20), "split it, or keep the tests in a .jsonl file")
	}
	if line, column, broken := notUTF8(data); broken {
		return nil, fault(line, column, "the file is not UTF-8 text", "save it as UTF-8")
	}
	if line, deep := nestedTooDeep(data); deep {
		return nil, fault(line, 1, fmt.Sprintf("nested deeper than %d levels", maxDepth), "flatten the document")
	}
	defer func() {
		if r := recover(); r != nil { // the parser is known to panic on some broken input
			docs, err = nil, fault(1, 1, "not valid YAML", "check the quotes, brackets and indentation")
		}
	}()
	stream, err := parser.ParseBytes(bytes.TrimPrefix(data, []byte("\ufeff")), 0)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) && syntax.Token != nil && syntax.Token.Position != nil {
			at := syntax.Token.Position
			return nil, fault(at.Line, at.Column, "not valid YAML: "+syntax.Message, "check the quotes, brackets and indentation here")
		}
		return nil, fault(1, 1, "not valid YAML: "+firstLine(err.Error()), "check the quotes, brackets and indentation")
	}
	c := converter{anchors: map[string]Value{}, sizes: map[string]int{}}
	for _, d := range stream.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType {
			docs = append(docs, c.value(d.Body, 0))
		}
	}
	if c.problem != "" {
		return nil, fault(c.line, c.column, c.problem, c.hint)
	}
	return docs, nil
}

type converter struct {
	anchors      map[string]Value
	sizes        map[string]int
	nodes        int
	problem      string
	hint         string
	line, column int
}

func (c *converter) fail(n ast.Node, hint, format string, args ...any) Value {
	if c.problem == "" {
		c.problem, c.hint = fmt.Sprintf(format, args...), hint
		if t := n.GetToken(); t != nil && t.Position != nil {
			c.line, c.column = t.Position.Line, t.Position.Column
		}
	}
	return Value{}
}

func (c *converter) value(n ast.Node, depth int) Value {
	if c.problem != "" || n == nil {
		return Value{}
	}
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth {
		return c.fail(n, "split the file; aliases count as often as they are used", "the document is too large or too deeply nested")
	}
	v := Value{}
	if t := n.GetToken(); t != nil && t.Position != nil {
		v.Line, v.Column = t.Position.Line, t.Position.Column
	}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		v.Kind, v.Scalar = Bool, strconv.FormatBool(n.Value)
	case *ast.IntegerNode, *ast.FloatNode:
		v.Kind, v.Scalar = Number, n.GetToken().Value
	case *ast.InfinityNode, *ast.NanNode:
		v.Kind, v.Scalar = String, n.GetToken().Value
	case *ast.StringNode:
		v.Kind, v.Scalar = String, n.Value
	case *ast.LiteralNode:
		v.Kind, v.Scalar = String, n.Value.Value
	case *ast.SequenceNode:
		v.Kind, v.Items = List, make([]Value, 0, len(n.Values))
		for _, item := range n.Values {
			if text, at, ok := tightText(item); ok && n.IsFlowStyle {
				v.Items = append(v.Items, Value{Kind: String, Scalar: text, Line: at.Line, Column: at.Column})
				continue
			}
			v.Items = append(v.Items, c.value(item, depth+1))
		}
	case *ast.MappingNode:
		v.Kind = Map
		v.Fields = c.fields(n.Values, depth)
		if len(n.Values) > 0 {
			at := n.Values[0].Key.GetToken().Position
			v.Line, v.Column = at.Line, at.Column
		}
	case *ast.MappingValueNode:
		v.Kind = Map
		v.Fields = c.fields([]*ast.MappingValueNode{n}, depth)
		at := n.Key.GetToken().Position
		v.Line, v.Column = at.Line, at.Column
	case *ast.AnchorNode:
		before := c.nodes
		v = c.value(n.Value, depth+1)
		name := n.Name.GetToken().Value
		c.anchors[name], c.sizes[name] = v, c.nodes-before
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := c.anchors[name]
		if !ok {
			return c.fail(n, "define it earlier with &"+name, "unknown alias *%s", name)
		}
		c.nodes += c.sizes[name]
		target.Line, target.Column = v.Line, v.Column
		return target
	case *ast.TagNode:
		return c.tagged(n, depth)
	default:
		return c.fail(n, "write a plain value", "unsupported YAML %s", n.Type())
	}
	return v
}

// tightText gives back the text of an element such as a:b or 12:30, which the parser takes for a mapping although YAML 1.2 wants
// a blank behind the colon of one.
func tightText(n ast.Node) (text string, at *token.Position, ok bool) {
	pair, isPair := n.(*ast.MappingValueNode)
	if m, isMap := n.(*ast.MappingNode); isMap && !m.IsFlowStyle && len(m.Values) == 1 {
		pair, isPair = m.Values[0], true
	}
	if !isPair || pair.Start == nil || pair.Value == nil {
		return "", nil, false
	}
	key, colon := pair.Key.GetToken(), pair.Start.Position
	rest, next, nested := tightText(pair.Value)
	if !nested {
		switch pair.Value.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			rest, next = pair.Value.GetToken().Value, pair.Value.GetToken().Position
		default:
			return "", nil, false
		}
	}
	quoted := key.Type == token.DoubleQuoteType || key.Type == token.SingleQuoteType
	if quoted || next.Line != colon.Line || next.Column != colon.Column+1 {
		return "", nil, false
	}
	return key.Value + ":" + rest, key.Position, true
}

func (c *converter) tagged(n *ast.TagNode, depth int) Value {
	tag := n.GetToken().Value
	v := c.value(n.Value, depth+1)
	switch tag {
	case "!!str":
		if v.Kind == Bool || v.Kind == Number || v.Kind == Null {
			v.Kind, v.Scalar = String, n.Value.GetToken().Value
		}
	case "!!int", "!!float", "!!bool", "!!null", "!!seq", "!!map":
	default:
		return c.fail(n, "remove the tag", "unsupported YAML tag %s", tag)
	}
	return v
}

func (c *converter) fields(entries []*ast.MappingValueNode, depth int) []Field {
	fields := make([]Field, 0, len(entries))
	seen := make(map[string]bool, len(entries))
	var merged []Field
	for _, e := range entries {
		at := e.Key.GetToken().Position
		if e.Key.IsMergeKey() {
			merged = append(merged, c.merge(e.Value, depth)...)
			continue
		}
		key := c.value(e.Key, depth+1)
		if mk, ok := e.Key.(*ast.MappingKeyNode); ok {
			key = c.value(mk.Value, depth+1)
		}
		name := key.Scalar
		if key.Kind == Null {
			name = e.Key.GetToken().Value
		}
		if seen[name] {
			c.fail(e.Key, "keep one of the two", "the key %q is written twice", name)
			return nil
		}
		seen[name] = true
		fields = append(fields, Field{Name: name, Line: at.Line, Column: at.Column, Value: c.value(e.Value, depth+1)})
	}
	for _, f := range merged {
		if !seen[f.Name] {
			seen[f.Name] = true
			fields = append(fields, f)
		}
	}
	return fields
}

func (c *converter) merge(n ast.Node, depth int) []Field {
	v := c.value(n, depth+1)
	switch v.Kind {
	case Map:
		return v.Fields
	case List:
		var all []Field
		for _, item := range v.Items {
			all = append(all, item.Fields...)
		}
		return all
	}
	c.fail(n, "merge a mapping: `<<: *name`", "only a mapping can be merged")
	return nil
}

// nestedTooDeep bounds the recursion of the parser, whose stack could otherwise grow without limit.
// Brackets inside of text count too, which the generous limit allows for.
func nestedTooDeep(data []byte) (line int, deep bool) {
	line = 1
	depth, dashes := 0, 0
	for i, b := range data {
		switch b {
		case '\n':
			line++
			dashes = 0
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '-', '?', ':':
			if i+1 < len(data) && (data[i+1] == ' ' || data[i+1] == '\t') {
				dashes++
			}
		}
		if depth > 20*maxDepth || dashes > 2*maxDepth && strings.Count(string(data[max(0, i-2*maxDepth):i]), "- ") > maxDepth/2 {
			return line, true
		}
	}
	return 0, false
}

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
