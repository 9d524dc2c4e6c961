package source

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// converter turns what the YAML library parsed into Values.
type converter struct {
	file    string
	anchors map[string]Value
	// most is how many nodes the text may have, and nodes how many it has. submitted is true of a text that comes with a submission, which has to be
	// cheap to parse, too.
	most, nodes int
	submitted   bool
	// lines behind cutLine stand so many lines further down in the file than in the text that is parsed.
	cutLine, moved int
	// err is the first fault.
	err error
}

// parse returns the documents of a text that checkYAML has accepted.
func (c *converter) parse(data []byte) (docs []Value, err error) {
	const hint = "check the quotes, brackets and indentation"
	defer func() {
		if r := recover(); r != nil { // the library is known to panic on some broken input
			docs, err = nil, fault(c.file, 1, 1, "not valid YAML", hint)
		}
	}()
	tokens, err := c.tokens(string(data))
	if err != nil {
		return nil, err
	}
	stream, err := parser.Parse(tokens, 0)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) && syntax.Token != nil && syntax.Token.Position != nil {
			line, column := c.place(syntax.Token)
			return nil, fault(c.file, line, column, "not valid YAML: "+syntax.Message, hint+" here")
		}
		return nil, fault(c.file, 1, 1, "not valid YAML: "+firstLine(err.Error()), hint)
	}
	if err := c.count(stream); err != nil {
		return nil, err
	}
	for _, d := range stream.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType {
			docs = append(docs, c.value(d.Body))
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	return docs, nil
}

// place returns where a token stands in the file; 0, 0 when it does not know.
func (c *converter) place(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 0, 0
	}
	if t.Position.Line > c.cutLine {
		return t.Position.Line + c.moved, t.Position.Column
	}
	return t.Position.Line, t.Position.Column
}

func (c *converter) fail(n ast.Node, hint, format string, args ...any) Value {
	if c.err == nil {
		line, column := c.place(n.GetToken())
		c.err = fault(c.file, line, column, fmt.Sprintf(format, args...), hint)
	}
	return Value{}
}

func (c *converter) value(n ast.Node) Value {
	if c.err != nil || n == nil {
		return Value{}
	}
	v := Value{}
	v.Line, v.Column = c.place(n.GetToken())
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
		if n.Token.Type == token.StringType && wholeNumber.MatchString(n.Value) {
			v.Kind = Number // the parser takes some that no machine word holds for text
		}
	case *ast.LiteralNode:
		v.Kind, v.Scalar = String, n.Value.Value
	case *ast.SequenceNode:
		v.Kind, v.Items = List, make([]Value, 0, len(n.Values))
		for i, item := range n.Values {
			if text, at, ok := tightText(item); ok && n.IsFlowStyle {
				line, column := c.place(at)
				v.Items = append(v.Items, Value{Kind: String, Scalar: text, Line: line, Column: column})
				continue
			}
			v.Items = append(v.Items, c.item(n, i))
		}
	case *ast.MappingNode:
		v.Kind = Map
		v.Fields = c.fields(n.Values)
		if len(n.Values) > 0 {
			v.Line, v.Column = c.place(n.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		v.Kind = Map
		v.Fields = c.fields([]*ast.MappingValueNode{n})
		v.Line, v.Column = c.place(n.Key.GetToken())
	case *ast.AnchorNode:
		v = c.value(n.Value)
		c.anchors[n.Name.GetToken().Value] = v
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := c.anchors[name]
		if !ok {
			return c.fail(n, "define it earlier with &"+name, "unknown alias *%s", name)
		}
		target.Line, target.Column = v.Line, v.Column
		return target
	case *ast.TagNode:
		return c.tagged(n)
	default:
		return c.fail(n, "write a plain value", "unsupported YAML %s", n.Type())
	}
	return v
}

// item returns an element of a list. A mapping whose first key stands below its dash or brace begins there.
func (c *converter) item(list *ast.SequenceNode, i int) Value {
	v := c.value(list.Values[i])
	if v.Kind != Map {
		return v
	}
	start := list.Values[i].GetToken()
	if !list.IsFlowStyle && i < len(list.Entries) {
		start = list.Entries[i].Start
	}
	if line, column := c.place(start); line > 0 && line < v.Line {
		v.Line, v.Column = line, column
	}
	return v
}

// tightText gives back the text of an element such as a:b or 12:30, which the parser takes for a mapping although YAML 1.2 wants
// a blank behind the colon of one.
func tightText(n ast.Node) (text string, at *token.Token, ok bool) {
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
			next = pair.Value.GetToken()
			rest = next.Value
		default:
			return "", nil, false
		}
	}
	quoted := key.Type == token.DoubleQuoteType || key.Type == token.SingleQuoteType
	if quoted || next.Position.Line != colon.Line || next.Position.Column != colon.Column+1 {
		return "", nil, false
	}
	return key.Value + ":" + rest, key, true
}

func (c *converter) tagged(n *ast.TagNode) Value {
	tag := n.GetToken().Value
	v := c.value(n.Value)
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

func (c *converter) fields(entries []*ast.MappingValueNode) []Field {
	fields := make([]Field, 0, len(entries))
	seen := make(map[string]bool, len(entries))
	var merged []Field
	for _, e := range entries {
		line, column := c.place(e.Key.GetToken())
		if e.Key.IsMergeKey() {
			merged = append(merged, c.merge(e.Value)...)
			continue
		}
		key := c.value(e.Key)
		if mk, ok := e.Key.(*ast.MappingKeyNode); ok {
			key = c.value(mk.Value)
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
		fields = append(fields, Field{Name: name, Line: line, Column: column, Value: c.value(e.Value)})
	}
	for _, f := range merged {
		if !seen[f.Name] {
			seen[f.Name] = true
			fields = append(fields, f)
		}
	}
	return fields
}

func (c *converter) merge(n ast.Node) []Field {
	v := c.value(n)
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
