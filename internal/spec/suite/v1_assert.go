package suite

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// addSome adds an assertion unless its list is empty, which expects nothing.
func (e *expectations) addSome(n source.Node, kind string, params ...param) {
	if n.Kind != source.List || len(n.Items) > 0 {
		e.add(n, kind, params...)
	}
}

// not negates what f adds.
func (e *expectations) not(f func()) {
	before := len(e.all)
	f()
	for i := range e.all[before:] {
		e.all[before+i].Negate = true
	}
}

// param is a parameter of a grader with the place where the author wrote its value.
type param struct {
	name string
	node source.Node
}

// literal is a parameter whose value the author did not write.
func literal(name string, n source.Node, text string) param {
	return param{name, n.With(source.Text(text))}
}

// given returns the parameters whose values the author wrote.
func given(params ...param) []param {
	return slices.DeleteFunc(params, func(p param) bool { return p.node.Kind == source.Null })
}

// add makes the assertion of a key. It is required: if it fails, its turn scores 0.
func (e *expectations) add(n source.Node, kind string, params ...param) {
	v := source.Value{Kind: source.Map, Line: n.Line, Column: n.Column}
	for _, p := range params {
		v.Fields = append(v.Fields, source.Field{
			Name: p.name, Line: p.node.Line, Column: p.node.Column, Value: p.node.Value,
		})
	}
	a := plainAssertion(kind, n.With(v), e.loader.dir)
	a.Name, a.Required, a.written = keyOf(n), new(-1.0), params
	e.all = append(e.all, a)
	if e.loader.options.Kinds == nil {
		return
	}
	problems := e.loader.options.Kinds.Validate(a)
	for i := range problems {
		problems[i].Path = authorsPath(problems[i].Path, n, params)
	}
	n.Add(problems)
}

// keyOf is the key under which the author wrote the node, dots included.
func keyOf(n source.Node) string {
	path := n.Path()
	for _, parent := range []string{".expected.", ".final_assertions."} {
		if at := strings.LastIndex(path, parent); at >= 0 {
			return path[at+len(parent):]
		}
	}
	return path
}

// authorsPath turns the path of a grader's parameter into the path of the author's key.
func authorsPath(path string, n source.Node, params []param) string {
	for _, p := range params {
		if rest, ok := strings.CutPrefix(path, n.Path()+"."+p.name); ok &&
			(rest == "" || rest[0] == '.' || rest[0] == '[') {
			return p.node.Path() + rest
		}
	}
	return path
}
