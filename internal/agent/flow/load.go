package flow

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// maxFlowBytes bounds a file of flows.
const maxFlowBytes = 16 << 20

// LoadFile reads every flow of a YAML or JSON file, which may hold several documents. What they call is found in the
// same file, or beside it. The error is a source.Problems with every fault of the file, or the reason why the
// file cannot be read.
func LoadFile(files source.Files, path string) ([]*Flow, error) {
	flows, err := readFile(files, path)
	if err != nil {
		return nil, err
	}
	return link(flows, flowsInFolder(files, path))
}

// readFile reads the flows of a file, without what they call.
func readFile(files source.Files, path string) ([]*Flow, error) {
	info, err := files.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("flow: %w", err)
	}
	if info.Size() > maxFlowBytes {
		return nil, source.Problems{{
			File: path, Message: fmt.Sprintf("the file is larger than %d MB", maxFlowBytes>>20),
			Hint: "split it by flow",
		}}
	}
	data, err := files.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("flow: %w", err)
	}
	return readAll(files, path, data)
}

// Load reads every flow of a YAML or JSON document, or of a stream of YAML documents, which may call each other.
// The error is a source.Problems with every fault; warnings are kept in the flows.
func Load(file string, data []byte) ([]*Flow, error) {
	flows, err := readAll(source.Files{}, file, data)
	if err != nil {
		return nil, err
	}
	return link(flows, func() []*Flow { return nil })
}

func readAll(files source.Files, file string, data []byte) ([]*Flow, error) {
	docs, err := files.ParseYAMLStream(file, data)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, source.Problems{{File: file, Line: 1, Message: "there is no flow", Hint: hintShape}}
	}
	var flows []*Flow
	var problems source.Problems
	for i, doc := range docs {
		path := ""
		if len(docs) > 1 {
			path = fmt.Sprintf("document[%d]", i)
		}
		f, faults := read(file, path, doc)
		problems = append(problems, faults...)
		flows = append(flows, f)
	}
	seen := map[string]bool{}
	for _, f := range flows {
		if seen[f.ID] && f.ID != "" {
			problems = append(problems, source.Problem{
				File: file, Message: fmt.Sprintf("two flows are called %q", f.ID),
				Hint: "give each flow a name of its own",
			})
		}
		seen[f.ID] = true
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return flows, nil
}

// LoadInline reads one node flow that stands in a request. It calls no other flow, because there is none beside it.
func LoadInline(data []byte) (*Flow, error) {
	v, err := source.ParseJSON("flow", data, 1)
	if err != nil {
		return nil, err
	}
	f, problems := read("flow", "flow", v)
	for _, n := range f.calls {
		problems = append(problems, inFlow(n.at, "serve the flow, and name it",
			"a flow in a request calls no other: node %q", n.ID))
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	f.inline = true
	return f, nil
}

func inFlow(at source.Problem, hint, format string, args ...any) source.Problem {
	at.Message, at.Hint = fmt.Sprintf(format, args...), hint
	return at
}

const hintShape = "write a node flow (id, start, nodes) or a state machine (flow: name, initial_state, states, " +
	"transitions)"

// read reads one document of either kind.
func read(file, path string, doc source.Value) (*Flow, source.Problems) {
	r := &reader{
		Reader: source.Reader{File: file}, flow: &Flow{File: file, byID: map[string]*Node{}},
		listed: map[*Node]source.Node{},
	}
	n := r.Node(doc, path)
	switch {
	case n.Kind != source.Map:
		n.Report(hintShape, "expected a flow, got %s", n.Kind)
	case n.Has("flow"):
		r.machine(n.Field("flow"))
	case n.Has("states"):
		r.machine(n)
	case n.Has("nodes"):
		r.nodeFlow(n)
	default:
		n.Report(hintShape, "there are neither nodes nor states")
	}
	faults, warnings := r.Problems.InOrder().Split()
	r.flow.Warnings = warnings
	for _, node := range r.flow.Nodes {
		if node.Type == Call {
			r.flow.calls = append(r.flow.calls, node)
		}
	}
	if len(faults) == 0 {
		r.flow.finish()
	}
	return r.flow, faults
}

// reader reads one flow.
type reader struct {
	source.Reader
	flow *Flow
	// listed are the tools that nodes list.
	listed map[*Node]source.Node
}

// ignored are keys that may appear anywhere in a flow. The engine does not use them.
var ignored = []string{"description", "metadata", "title", "tags", "comment"}

// decode reads the known keys and warns of others: a flow may contain more than this engine reads.
func decode[T any](n source.Node, into *T) {
	keys := source.KeyNames[T]()
	v, at := n.Value, map[string]int{}
	v.Fields = nil
	for _, f := range n.Fields {
		key, known := keys[f.Name]
		i, twice := at[key]
		switch {
		case !known:
			if !slices.Contains(ignored, f.Name) {
				hint := source.Suggest(f.Name, slices.Collect(maps.Keys(keys)))
				n.Field(f.Name).Warn(hint, "unknown key %q is ignored", f.Name)
			}
		case f.Value.Kind == source.Null:
		case twice && v.Fields[i].Name != f.Name: // another name of the key: the last counts
			first := v.Fields[i].Name
			n.Field(first).Warn("keep one of the two", "%s is ignored: %s is the same", first, f.Name)
			v.Fields[i] = f
		default:
			at[key] = len(v.Fields)
			v.Fields = append(v.Fields, f)
		}
	}
	source.Decode(n.With(v), into)
}

// standing returns the place of a node in the document, as a problem without a message.
func standing(n source.Node) source.Problem {
	return source.Problem{File: n.File(), Path: n.Path(), Line: n.Line, Column: n.Column}
}

// report reports a problem at a place that was read before.
func (r *reader) report(at source.Problem, hint, format string, args ...any) {
	at.Message, at.Hint = fmt.Sprintf(format, args...), hint
	r.Problems = append(r.Problems, at)
}

// warnOf warns at a place that was read before.
func (r *reader) warnOf(at source.Problem, hint, format string, args ...any) {
	at.Warning = true
	r.report(at, hint, format, args...)
}

// add adds a node under its ID.
func (r *reader) add(at source.Node, n *Node) {
	n.at = standing(at)
	if first, taken := r.flow.byID[n.ID]; taken {
		at.Report("give each node an id of its own", "node %q stands here and in line %d", n.ID, first.at.Line)
		return
	}
	if n.ID != "" {
		r.flow.byID[n.ID] = n
		r.flow.Nodes = append(r.flow.Nodes, n)
	}
}

// extensions are the file extensions of flows.
var extensions = []string{".yaml", ".yml", ".json"}

// flowFile reports whether a file of a folder may hold flows, judging by its name.
func flowFile(name string) bool {
	return slices.Contains(extensions, filepath.Ext(name)) && !strings.HasPrefix(name, ".")
}
