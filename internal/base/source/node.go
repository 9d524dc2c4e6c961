package source

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Reader collects the problems of one document while its nodes are read.
// It must not be used from several goroutines at once.
type Reader struct {
	// File is the name that problems carry.
	File string
	// Problems holds the problems found so far, in the order of reading.
	Problems Problems
	// parent, unless nil, gets the problems instead.
	parent *Reader
}

func (r *Reader) add(problems ...Problem) {
	if r.parent != nil {
		r.parent.add(problems...)
		return
	}
	r.Problems = append(r.Problems, problems...)
}

// Node returns root as a node at the given path.
func (r *Reader) Node(root Value, path string) Node {
	return Node{Value: root, reader: r, path: &step{name: path}}
}

// Node is a Value that is being read: it knows its path and the Reader that its problems go to.
// The zero value is Null and drops its problems.
// Its typed methods return the zero value and report a problem when the value is of another kind.
type Node struct {
	Value
	reader *Reader
	path   *step
}

// step is one step of a path: a key or, without one, the number of an element below a parent. A step without a parent
// is a whole path. Steps have no values: a node refers to nothing above it.
type step struct {
	parent  *step
	name    string
	element int
}

func (s *step) String() string {
	switch {
	case s == nil:
		return ""
	case s.parent == nil:
		return s.name
	case s.element >= 0:
		return s.parent.String() + "[" + strconv.Itoa(s.element) + "]"
	}
	return strings.TrimPrefix(s.parent.String()+"."+s.name, ".")
}

// Path returns the place of the node in its document, like tests[0].turns[1].input.
func (n Node) Path() string { return n.path.String() }

// File returns the name of the node's document.
func (n Node) File() string {
	if n.reader == nil {
		return ""
	}
	return n.reader.File
}

// Report files a problem at the node.
func (n Node) Report(hint, format string, args ...any) {
	if n.reader == nil {
		return
	}
	n.reader.add(Problem{
		File: n.reader.File, Path: n.Path(), Line: n.Line, Column: n.Column,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// Warn files a warning at the node: what stands there has no effect.
func (n Node) Warn(hint, format string, args ...any) {
	if n.reader == nil {
		return
	}
	n.reader.add(Problem{
		File: n.reader.File, Path: n.Path(), Line: n.Line, Column: n.Column,
		Message: fmt.Sprintf(format, args...), Hint: hint, Warning: true,
	})
}

// WarnEach files a warning that is reported at every place where it occurs.
func (n Node) WarnEach(hint, format string, args ...any) {
	if n.reader == nil {
		return
	}
	n.Warn(hint, format, args...)
	found := n.reader
	for found.parent != nil {
		found = found.parent
	}
	found.Problems[len(found.Problems)-1].Each = true
}

// With returns the node with another value at the same path.
func (n Node) With(v Value) Node {
	n.Value = v
	return n
}

// To returns the node reporting to another reader. The nodes below it report there too.
func (n Node) To(r *Reader) Node {
	n.reader = r
	return n
}

// Onto returns the node reporting to the reader of another node. Its problems keep the name of its own file.
func (n Node) Onto(other Node) Node {
	if other.reader == nil || n.reader == nil || n.reader.File == other.reader.File {
		n.reader = other.reader
		return n
	}
	n.reader = &Reader{File: n.reader.File, parent: other.reader}
	return n
}

// Add files problems that were found elsewhere.
func (n Node) Add(problems Problems) {
	if n.reader != nil {
		n.reader.add(problems...)
	}
}

// Field returns the entry called name as a node; a missing entry is Null and stands where the mapping stands.
func (n Node) Field(name string) Node {
	for _, f := range n.Fields {
		if f.Name == name {
			return n.child(name, f.Value, f.Line, f.Column)
		}
	}
	return n.child(name, Value{}, n.Line, n.Column)
}

// Has reports whether the mapping has an entry called name that is not null.
func (n Node) Has(name string) bool {
	v, ok := n.Get(name)
	return ok && v.Kind != Null
}

func (n Node) child(name string, v Value, line, column int) Node {
	if v.Line == 0 || v.Kind == Null || v.Kind == Map || v.Kind == List {
		v.Line, v.Column = line, column
	}
	return Node{Value: v, reader: n.reader, path: &step{parent: n.path, name: name, element: -1}}
}

func (n Node) at(i int, item Value) Node {
	return Node{Value: item, reader: n.reader, path: &step{parent: n.path, element: i}}
}

// ReportUnknown reports an entry of the mapping at its key, which is none of the known ones.
func (n Node) ReportUnknown(f Field, known []string) {
	n.child(f.Name, Value{Line: f.Line, Column: f.Column}, f.Line, f.Column).
		Report(Suggest(f.Name, known), "unknown key %q", f.Name)
}

// Entries yields the entries of a mapping whose names the author chooses. Any other kind is reported and yields
// nothing.
func (n Node) Entries() iter.Seq2[string, Node] {
	return func(yield func(string, Node) bool) {
		if n.Kind != Map {
			n.Report("write `name: value` pairs", "expected a mapping, got %s", n.Kind)
			return
		}
		for _, f := range n.Fields {
			if !yield(f.Name, n.child(f.Name, f.Value, f.Line, f.Column)) {
				return
			}
		}
	}
}

// List yields the elements of a list. Any other kind is reported and yields nothing.
func (n Node) List() iter.Seq2[int, Node] {
	return func(yield func(int, Node) bool) {
		if n.Kind != List {
			n.Report("write a list: each element on its own line behind `- `", "expected a list, got %s", n.Kind)
			return
		}
		for i, item := range n.Items {
			if !yield(i, n.at(i, item)) {
				return
			}
		}
	}
}

// Each yields the elements of a list, or the node itself when it is none.
func (n Node) Each() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if n.Kind != List {
			yield(n)
			return
		}
		for _, item := range n.List() {
			if !yield(item) {
				return
			}
		}
	}
}
