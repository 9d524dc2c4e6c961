package source

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// Reader collects the problems of one document while its nodes are read.
// It must not be used from several goroutines at once.
type Reader struct {
	// File is the name that problems carry.
	File string
	// Problems holds what was found so far, in the order of reading.
	Problems Problems
	// parent, when set, gets the problems instead.
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

// Node is a Value that is being read: it knows its path and where to report.
// Its typed methods return the zero value and report a problem when the value is of another kind.
type Node struct {
	Value
	reader *Reader
	path   *step
}

// step is one step of a path: a key or, without one, the number of an element below a parent. A step without a parent is a whole path.
// Steps hold no values, so that a node keeps nothing alive but what stands below it.
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

// With returns the node with another value at the same path.
func (n Node) With(v Value) Node {
	n.Value = v
	return n
}

// To returns the node reporting to another reader, as do the nodes below it.
func (n Node) To(r *Reader) Node {
	n.reader = r
	return n
}

// Onto returns the node reporting to the reader of another one, with its own file name kept in what it reports.
func (n Node) Onto(other Node) Node {
	if other.reader == nil || n.reader == nil || n.reader.File == other.reader.File {
		n.reader = other.reader
		return n
	}
	n.reader = &Reader{File: n.reader.File, parent: other.reader}
	return n
}

// Add files problems that were found by someone else.
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

// Read calls, for each entry of a mapping, the function registered under its name.
// An entry without one is reported as unknown; so is a node that is not a mapping. Entries that are null count as absent.
func (n Node) Read(fields map[string]func(Node)) {
	if n.Kind != Map {
		n.Report("write `key: value` pairs", "expected a mapping, got %s", n.Kind)
		return
	}
	for _, f := range n.Fields {
		read, known := fields[f.Name]
		if !known {
			n.child(f.Name, Value{Line: f.Line, Column: f.Column}, f.Line, f.Column).
				Report(Suggest(f.Name, sortedKeys(fields)), "unknown key %q", f.Name)
			continue
		}
		if f.Value.Kind != Null {
			read(n.child(f.Name, f.Value, f.Line, f.Column))
		}
	}
}

// Entries yields the entries of a mapping whose keys are the author's own. Anything else is reported and yields nothing.
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

// List yields the elements of a list. Anything else is reported and yields nothing.
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

// Text returns a scalar as text; numbers and booleans count as what was written.
func (n Node) Text() string {
	switch n.Kind {
	case String, Number, Bool:
		return n.Scalar
	}
	n.Report("write text, in quotes if it has special characters", "expected text, got %s", n.Kind)
	return ""
}

// Texts returns a list of texts; a single text is a list of one.
func (n Node) Texts() []string {
	if n.Kind == String || n.Kind == Number || n.Kind == Bool {
		return []string{n.Scalar}
	}
	var out []string
	for _, item := range n.List() {
		out = append(out, item.Text())
	}
	return out
}

// Bool returns true or false.
func (n Node) Bool() bool {
	if n.Kind == Bool || n.Kind == String && (n.Scalar == "true" || n.Scalar == "false") {
		return n.Scalar == "true"
	}
	n.Report("write true or false", "expected true or false, got %s", n.describe())
	return false
}

// Int returns a whole number of at least low.
func (n Node) Int(low int) int {
	f, ok := n.Float()
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		n.Report("write a whole number", "expected a whole number, got %s", n.describe())
		return low
	}
	if int(f) < low {
		n.Report(fmt.Sprintf("use %d or more", low), "%s is too small", n.Scalar)
		return low
	}
	return int(f)
}

// Number returns a number between low and high, both included; use math.Inf for an open end.
func (n Node) Number(low, high float64) float64 {
	f, ok := n.Float()
	if !ok {
		n.Report("write a number", "expected a number, got %s", n.describe())
		return 0
	}
	if f < low || f > high {
		hint := fmt.Sprintf("use a number from %g to %g", low, high)
		if math.IsInf(high, 1) {
			hint = fmt.Sprintf("use %g or more", low)
		}
		n.Report(hint, "%s is out of range", n.Scalar)
		return low
	}
	return f
}

// Duration returns a positive time span: a number of seconds, or text such as 500ms or 2m.
func (n Node) Duration() time.Duration {
	var d time.Duration
	if f, ok := n.Float(); ok && f < math.MaxInt64/float64(time.Second) {
		d = time.Duration(f * float64(time.Second))
	} else if parsed, err := time.ParseDuration(n.Scalar); err == nil {
		d = parsed
	}
	if d <= 0 {
		n.Report("write seconds, or a time span such as 500ms, 30s or 2m", "expected a positive time span, got %s", n.describe())
		return 0
	}
	return d
}

// OneOf returns the text if it is among the choices; hyphens and underscores are the same.
func (n Node) OneOf(choices ...string) string {
	text := strings.ReplaceAll(n.Text(), "-", "_")
	for _, c := range choices {
		if text == c {
			return c
		}
	}
	if n.Kind != List && n.Kind != Map {
		n.Report("use one of: "+strings.Join(choices, ", "), "unknown value %q", n.Scalar)
	}
	return ""
}

func (n Node) describe() string {
	if n.Kind == List || n.Kind == Map || n.Kind == Null {
		return n.Kind.String()
	}
	return strconv.Quote(clip(n.Scalar, 60))
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
