// Package pagestest reads pages as tests want them: elements found by their attributes.
package pagestest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Node is an element with what is in it; Text is set for a piece of text instead.
type Node struct {
	Name     string
	Attr     map[string]string
	Text     string
	Children []*Node
}

// empty are the elements that have no end.
var empty = []string{"meta", "link", "input", "br", "hr", "img", "wbr"}

// Parse reads a page. It is stricter than browsers: every element ends where it should.
func Parse(page string) (*Node, error) {
	// Values of attributes may have characters that XML knows not; texts may not.
	page = regexp.MustCompile(`<[a-zA-Z/][^>]*>`).ReplaceAllStringFunc(page, func(tag string) string {
		return strings.Map(func(r rune) rune {
			if r < ' ' && r != '\n' && r != '\t' {
				return '\ufffd'
			}
			return r
		}, tag)
	})
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, empty, xml.HTMLEntity
	root := &Node{}
	open := []*Node{root}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			if len(open) > 1 {
				return nil, fmt.Errorf("<%s> is not closed", open[len(open)-1].Name)
			}
			return root, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w near %d", err, decoder.InputOffset())
		}
		in := open[len(open)-1]
		switch e := token.(type) {
		case xml.StartElement:
			n := &Node{Name: e.Name.Local, Attr: map[string]string{}}
			for _, a := range e.Attr {
				if _, twice := n.Attr[a.Name.Local]; twice {
					return nil, fmt.Errorf("<%s> has %s twice", n.Name, a.Name.Local)
				}
				n.Attr[a.Name.Local] = a.Value
			}
			in.Children = append(in.Children, n)
			open = append(open, n)
		case xml.EndElement:
			if in.Name != e.Name.Local {
				return nil, fmt.Errorf("</%s> ends <%s>", e.Name.Local, in.Name)
			}
			open = open[:len(open)-1]
		case xml.CharData:
			in.Children = append(in.Children, &Node{Text: string(e)})
		}
	}
}

// All returns the elements that have attributes, in the order of the page: NAME, or NAME=VALUE. The name of an element
// may stand alone before them as <NAME>.
func (n *Node) All(wanted ...string) (found []*Node) {
	for _, c := range n.Children {
		if c.Name != "" && c.fits(wanted) {
			found = append(found, c)
		}
		found = append(found, c.All(wanted...)...)
	}
	return found
}

func (n *Node) fits(wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool {
		if strings.HasPrefix(w, "<") {
			return "<"+n.Name+">" != w
		}
		name, value, valued := strings.Cut(w, "=")
		got, ok := n.Attr[name]
		return !ok || valued && got != value
	})
}

// One returns the first such element; an empty one where there is none, so that its attributes are empty.
func (n *Node) One(wanted ...string) *Node {
	if all := n.All(wanted...); len(all) > 0 {
		return all[0]
	}
	return &Node{Attr: map[string]string{}}
}

// Words returns the text in an element, with single blanks.
func (n *Node) Words() string {
	var b strings.Builder
	n.collect(&b)
	return strings.Join(strings.Fields(b.String()), " ")
}

func (n *Node) collect(b *strings.Builder) {
	b.WriteString(n.Text)
	for _, c := range n.Children {
		c.collect(b)
		if slices.Contains(cells, c.Name) {
			b.WriteByte(' ')
		}
	}
}

// cells are elements whose texts stand apart.
var cells = []string{"td", "th", "li", "p", "dt", "dd", "div"}
