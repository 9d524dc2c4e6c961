package flow

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Bounds of calls.
const (
	// maxCallDepth is how many calls may be around a node.
	maxCallDepth = 5
	// maxNodes bounds the nodes that calls make.
	maxNodes = 10_000
)

// Others returns the files of the flows that the flow calls, without its own file.
func (f *Flow) Others() []string { return slices.Clone(f.others) }

// find returns the flow that a call in another flow names; nil if there is none.
type find func(caller *Flow, name string) *Flow

// linked returns a flow in which the nodes of the called flows, named CALL/NODE, stand in place of its calls. The flow
// itself is not changed, and one without calls is returned as it is. The called flows must be as they were read, not
// linked.
func (f *Flow) linked(called find) (*Flow, source.Problems) {
	if len(f.calls) == 0 {
		return f, nil
	}
	own := *f
	own.Nodes, own.byID, own.Globals = nil, map[string]*Node{}, nil
	l := &linker{flow: &own, called: called}
	root := l.place(f, nil, nil)
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	l.lead(root)
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	own.Start = root.nodes[f.Start]
	own.finish()
	return &own, nil
}

// link links flows that were read together. others are flows of the same folder, which are asked for when a call is to
// none of the flows themselves.
func link(flows []*Flow, others func() []*Flow) ([]*Flow, error) {
	others = sync.OnceValue(others)
	called := func(caller *Flow, name string) *Flow {
		inFile := func(f *Flow) bool { return f.File == caller.File }
		inFolder := func(f *Flow) bool { return filepath.Dir(f.File) == filepath.Dir(caller.File) }
		anywhere := func(*Flow) bool { return true }
		for _, near := range []func(*Flow) bool{inFile, inFolder, anywhere} {
			if f := newest(flows, name, near); f != nil {
				return f
			}
		}
		return newest(others(), name, anywhere)
	}
	var problems source.Problems
	whole := make([]*Flow, len(flows))
	for i, f := range flows {
		linked, faults := f.linked(called)
		problems = append(problems, faults...)
		whole[i] = linked
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return whole, nil
}

// newest returns the newest flow of a name among some; nil for none.
func newest(flows []*Flow, name string, among func(*Flow) bool) (found *Flow) {
	id, version, exact := strings.Cut(name, "@")
	for _, f := range flows {
		switch {
		case Slug(f.ID) != Slug(id) || !among(f):
		case exact && f.Version != version && strconv.Itoa(major(f.Version)) != version:
		case found == nil || major(found.Version) <= major(f.Version):
			found = f
		}
	}
	return found
}

// flowsInFolder returns what reads the flows of the other files in a file's folder. Files without a flow, or with
// faults, are passed over: a call that is missed then says so.
func flowsInFolder(files source.Files, path string) func() []*Flow {
	return func() (flows []*Flow) {
		folder, read := filepath.Dir(path), 0
		_ = files.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || read >= maxFlowFiles:
				return filepath.SkipAll
			case d.IsDir() && file != folder:
				return filepath.SkipDir
			case !d.IsDir() && flowFile(d.Name()) && filepath.Clean(file) != filepath.Clean(path):
				read++
				if others, err := readFile(files, file); err == nil {
					flows = append(flows, others...)
				}
			}
			return nil
		})
		return flows
	}
}

// linker makes one flow of a flow and of those that it calls.
type linker struct {
	flow     *Flow
	called   find
	calls    int
	problems source.Problems
}

// part is a flow at the place where it is called, or the outermost flow.
type part struct {
	of *Flow
	// caller and call are nil of the outermost part.
	caller *part
	call   *Node
	// nodes are the copies of the flow's nodes, globals those of its global options, calls what stands in place of a
	// call.
	nodes   map[*Node]*Node
	globals []*Option
	calls   map[*Node]*part
}

// prefix is what stands before the ids of the part's nodes.
func (p *part) prefix() string {
	if p.caller == nil {
		return ""
	}
	return p.caller.prefix() + p.call.ID + "/"
}

// offered returns the global options at the nodes of a part: those of the outermost flow first.
func (p *part) offered() []*Option {
	if p.caller == nil {
		return p.globals
	}
	return slices.Concat(p.caller.offered(), p.globals)
}

func (p *part) depth() int {
	if p.caller == nil {
		return 0
	}
	return p.caller.depth() + 1
}

func (l *linker) report(at source.Problem, hint, format string, args ...any) {
	at.Message, at.Hint = fmt.Sprintf(format, args...), hint
	l.problems = append(l.problems, at)
}

// place copies the nodes of a flow, and those of the flows that it calls, in the order of the files.
func (l *linker) place(f *Flow, caller *part, call *Node) *part {
	p := &part{of: f, caller: caller, call: call, nodes: map[*Node]*Node{}, calls: map[*Node]*part{}}
	for _, o := range f.Globals {
		global := *o
		global.Global = p.prefix() + o.Global
		p.globals = append(p.globals, &global)
	}
	l.flow.Globals = append(l.flow.Globals, p.globals...)
	if f.File != l.flow.File && !slices.Contains(l.flow.others, f.File) {
		l.flow.others = append(l.flow.others, f.File)
	}
	for _, n := range f.Nodes {
		switch {
		case len(l.problems) > 0:
			return p
		case n.Type == Call:
			l.enter(p, n)
			continue
		case caller != nil && (n.Type == Start || n.Type == Stop): // a called flow begins and ends where it is called
			continue
		case len(l.flow.Nodes) >= maxNodes:
			at := n.at
			for q := p; q.caller != nil; q = q.caller {
				at = q.call.at
			}
			l.report(at, "call fewer flows", "with the flows that it calls the flow %q has more than %d nodes",
				l.flow.ID, maxNodes)
			return p
		}
		node := *n
		node.ID, node.within = p.prefix()+n.ID, p.prompts()
		if node.Type == Conversation && !node.alone {
			node.Globals = p.offered()
			l.distinct(p, &node)
		}
		p.nodes[n] = &node
		l.flow.Nodes, l.flow.byID[node.ID] = append(l.flow.Nodes, &node), &node
	}
	return p
}

// prompts are the system prompts of the called flows around the nodes of a part.
func (p *part) prompts() []string {
	if p.caller == nil {
		return nil
	}
	return append(slices.Clip(p.caller.prompts()), p.of.SystemPrompt)
}

// distinct reports a global option of a calling flow that has the id of another option at a node.
func (l *linker) distinct(p *part, n *Node) {
	seen := map[string]bool{}
	for _, o := range n.offered() {
		if seen[o.ID] {
			l.report(p.call.at, "give one of them another id",
				"call node %q: node %q offers two options %q, one of them from around the call", p.call.ID, n.ID, o.ID)
		}
		seen[o.ID] = true
	}
}

// enter places the flow that a node calls.
func (l *linker) enter(p *part, n *Node) {
	of := l.called(p.of, n.calls)
	switch around := p.around(of); {
	case of == nil:
		l.report(n.at, "name a flow of the same folder or file", "call node %q calls the flow %q, which there is not",
			n.ID, n.calls)
	case of.Machine:
		l.report(n.at, "call a node flow", "call node %q calls %q, which is a state machine", n.ID, n.calls)
	case of.Start == nil || len(of.Start.Options) == 0:
		l.report(n.at, "correct the called flow", "call node %q calls %q, which has no start", n.ID, n.calls)
	case around != "":
		l.report(n.at, "lead on to a node instead", "call node %q: the flows call each other in a circle: %s",
			n.ID, around)
	case p.depth() == maxCallDepth:
		l.report(n.at, "call flows less deeply", "call node %q: calls are more than %d deep", n.ID, maxCallDepth)
	case l.calls == maxNodes:
		l.report(n.at, "call fewer flows", "with the flows that it calls the flow %q has more than %d calls",
			l.flow.ID, maxNodes)
	default:
		l.calls++
		p.calls[n] = l.place(of, p, n)
	}
}

// around returns the circle that a call would make; empty for none.
func (p *part) around(of *Flow) string {
	if of == nil {
		return ""
	}
	path := []string{of.ID}
	for q := p; q != nil; q = q.caller {
		path = append(path, q.of.ID)
		if q.of == of {
			slices.Reverse(path)
			return strings.Join(path, " → ")
		}
	}
	return ""
}

// lead makes the options of the copied nodes lead to copied nodes.
func (l *linker) lead(p *part) {
	for n, node := range p.nodes {
		node.Options = make([]*Option, len(n.Options))
		for i, o := range n.Options {
			option := *o
			l.point(p, &option)
			node.Options[i] = &option
		}
		if m := n.NoMatch; m != nil {
			own, option := *m, *m.option
			l.point(p, &option)
			own.option, own.Next, own.target = &option, option.Next, option.target
			node.NoMatch = &own
		}
	}
	for _, o := range p.globals {
		l.point(p, o)
	}
	for _, inner := range p.calls {
		l.lead(inner)
	}
}

// point makes an option of a part lead where its target stands now.
func (l *linker) point(p *part, o *Option) {
	o.Next = l.arrive(p, o.Next, o.at, map[*part]bool{})
	if o.target = ""; o.Next != nil {
		o.target = o.Next.ID
	}
}

// arrive returns the node at which a way to n comes out, through calls and their ends; nil where the outermost flow
// ends.
func (l *linker) arrive(p *part, n *Node, at source.Problem, entered map[*part]bool) *Node {
	for {
		switch {
		case n != nil && n.Type == Call:
			if p = p.calls[n]; entered[p] {
				l.report(at, "put a conversation node between the calls",
					"from here calls lead in a circle without a node: %s", strings.TrimSuffix(p.prefix(), "/"))
				return nil
			}
			entered[p] = true
			n = p.of.Start.Options[0].Next
		case p.caller != nil && (n == nil || n.Type == Stop):
			p, n = p.caller, p.call.Options[0].Next // both of the part that is left
		case n == nil:
			return nil
		default:
			return p.nodes[n]
		}
	}
}
