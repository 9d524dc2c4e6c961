// Package template fills what a conversation is about into the texts, mappings and lists that configuration holds: the
// message into the body of a request, the id of the conversation into its address or a header.
//
// A template is compiled once, which finds every unknown placeholder with its place in the file, and rendered for each
// request. What is filled in is encoded for its place. The placeholders are those of Values, and ${{ NAME }} for the
// environment.
package template

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Template is a compiled text, mapping, list or plain value. It is never changed, and safe for concurrent use.
type Template struct {
	root node
	// names are the placeholders that it holds, sorted: message, session_id, vars.NAME.
	names []string
}

// node is a part of a template: a text, a list, a mapping or, in all other cases, a plain value.
type node struct {
	kind   nodeKind
	value  any
	pieces []piece
	items  []node
	fields []field
}

type nodeKind uint8

const (
	plain nodeKind = iota
	text
	list
	mapping
)

type field struct {
	name string
	node node
}

// Scope says which placeholders a template may hold besides those that all may.
type Scope struct {
	// With are the values of {{with.NAME}}, a mapping. They are filled in when the template is compiled, and may hold
	// other placeholders.
	With source.Value
	// MCP is true where {{mcp_url}} has a value.
	MCP bool
}

// Read compiles a value of a document: each text in it is a template, names of a mapping are not. Problems go to n.
func Read(n source.Node, s Scope) *Template {
	c := compiler{scope: s, names: map[string]bool{}}
	root := c.compile(n)
	return &Template{root, c.sorted()}
}

// ReadText compiles a text of a document. Numbers and booleans are texts, too. Problems go to n.
func ReadText(n source.Node, s Scope) *Template {
	return Read(n.With(source.Value{Kind: source.String, Line: n.Line, Column: n.Column, Scalar: n.Text()}), s)
}

// ReadBody compiles what a message is made of: a text that is JSON counts as JSON, also where a placeholder stands in
// it without quotes. Problems go to n.
func ReadBody(n source.Node, s Scope) *Template {
	if n.Kind == source.String {
		if v, ok := parseJSON(n.Scalar); ok {
			v.Line, v.Column = n.Line, n.Column
			n = n.With(v)
		}
	}
	return Read(n, s)
}

// Of compiles a value as Read does. The value is one of those that source.FromAny takes; the error is a
// source.Problems.
func Of(v any, s Scope) (*Template, error) {
	reader := &source.Reader{}
	t := Read(reader.Node(source.FromAny(v), ""), s)
	return t, reader.Problems.Err()
}

// Uses reports whether a placeholder stands anywhere in the template. It is false of a nil template.
func (t *Template) Uses(names ...string) bool {
	return t != nil && slices.ContainsFunc(names, func(name string) bool { return slices.Contains(t.names, name) })
}

// Names returns the placeholders that the template holds, sorted. It is empty of a nil template.
func (t *Template) Names() []string {
	if t == nil {
		return nil
	}
	return t.names
}

// IsText reports whether the template is a text, and not a mapping, a list or another value.
func (t *Template) IsText() bool { return t.root.kind == text }

// Only reports whether the template is a text that is nothing but this placeholder.
func (t *Template) Only(name string) bool {
	whole, ok := t.root.whole()
	return ok && whole.name == name
}

// whole returns the placeholder that is all of a text.
func (n node) whole() (piece, bool) {
	if n.kind != text || len(n.pieces) != 1 || n.pieces[0].name == "" {
		return piece{}, false
	}
	return n.pieces[0], true
}
