package graph

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// MaxNodes bounds the nodes of a graph: the checks of Compile take time and memory with the square of their number.
const MaxNodes = 5_000

// Config is what a graph works with. The zero value keeps checkpoints in memory and logs nothing.
type Config struct {
	Checkpoints Checkpointer
	Observer    Observer
	// Durable saves what each node has written as a step of the turn, before the nodes that follow it begin. A turn
	// that was cut short then goes on where it was. The Checkpoints have to be a StepSaver. What nodes write is read
	// back from its JSON, so what JSON leaves out is lost within the turn, too.
	Durable bool
	// Guard makes a node, a branch or a fallback fail with ErrChanged when it changes what its snapshot refers to.
	// Guard copies and compares every snapshot, so it is for tests.
	Guard bool
	// Log gets the stacks of panics, and names the nodes and tasks that do not stop when they are told to.
	Log *slog.Logger
}

// Compile checks the definition and returns the graph. The error lists everything that is wrong. Later changes of the
// builder do not reach the graph.
func (b *Builder[S]) Compile(c Config) (*Graph[S], error) {
	if c.Checkpoints == nil {
		c.Checkpoints = NewMemory(MemoryLimits{})
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	g := &Graph[S]{
		name: b.name, steps: b.steps, warn: b.warn, store: c.Checkpoints, durable: c.Durable, observer: c.Observer,
		log: c.Log, byName: map[string]int{End: end},
	}
	g.saver, _ = c.Checkpoints.(StepSaver)
	g.peeker, _ = c.Checkpoints.(Peeker)
	if c.Durable && g.saver == nil {
		b.problem("Config.Durable: %w", errNoSteps)
	}
	var err error
	if g.schema, err = newSchema(b.columns); err != nil {
		b.problems = append(b.problems, err)
	}
	g.schema.guarded = c.Guard
	g.numberNodes(b.nodes)
	problems := slices.Concat(b.problems, g.connect(b.edges))
	if b.steps < 1 {
		problems = append(problems, fmt.Errorf("a turn of %d steps can do nothing: give Steps at least 1", b.steps))
	}
	if n := len(b.nodes) - 1; n > MaxNodes {
		problems = append(problems, fmt.Errorf("%d nodes are too many: at most %d", n, MaxNodes))
	}
	if len(problems) == 0 {
		problems = g.check()
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("graph %q: %w", b.name, errors.Join(problems...))
	}
	return g, nil
}

// numberNodes numbers the nodes by their names, Start first: numbers stand for names wherever order counts.
func (g *Graph[S]) numberNodes(nodes map[string]*Node[S]) {
	names := slices.Sorted(maps.Keys(nodes))
	slices.SortStableFunc(names, func(a, b string) int { return order(a == Start, b == Start) })
	for i, name := range names {
		n := *nodes[name]
		n.index = i
		g.byName[name] = i
		g.nodes = append(g.nodes, &n)
	}
}

// order puts what is first before what is not.
func order(first, other bool) int {
	switch {
	case first == other:
		return 0
	case first:
		return -1
	}
	return 1
}

// connect resolves the names in edges.
func (g *Graph[S]) connect(edges []edge[S]) []error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, e := range edges {
		from, known := g.byName[e.from]
		if !known || from == end {
			problem("an edge leaves %q, which is no node (%s)", e.from, g.known())
			continue
		}
		n := g.nodes[from]
		switch {
		case e.branch && n.choices != nil:
			problem("node %q has two branches: make them one, with Fan if it leads to several nodes", e.from)
		case e.branch && e.choose == nil:
			problem("the branch after node %q has no function", e.from)
		case len(e.to) == 0:
			problem("an edge leaves node %q and leads nowhere: name nodes, or End", e.from)
		}
		for _, name := range e.to {
			to, known := g.byName[name]
			switch {
			case !known || name == Start:
				problem("an edge leads from node %q to %q, which is no node (%s)", e.from, name, g.known())
			case slices.Contains(n.always, to) || slices.Contains(n.choices, to):
				problem("two edges lead from node %q to %q: leave one out", e.from, name)
			case e.branch:
				n.choose, n.choices = e.choose, append(n.choices, to)
			default:
				n.always = append(n.always, to)
			}
		}
	}
	return problems
}

func (g *Graph[S]) known() string {
	names := []string{End}
	for _, n := range g.nodes {
		names = append(names, n.name)
	}
	return knownNames(names)
}

func (g *Graph[S]) namesOf(nodes []int) []string {
	var names []string
	for _, n := range nodes {
		names = append(names, g.nameOf(n))
	}
	return names
}

// check returns what would keep turns from getting to the end, and fills in Node.before.
func (g *Graph[S]) check() []error {
	var problems []error
	reached, ending := g.from(0, (*Node[S]).exits), g.ending()
	for _, n := range g.nodes {
		switch {
		case n.index == 0 && len(n.exits()) == 0:
			problems = append(problems, fmt.Errorf("no edge leaves %s: add one to the node where turns begin", Start))
		case n.index > 0 && !reached.has(n.index):
			problems = append(problems,
				fmt.Errorf("node %q is never reached: lead an edge to it, or leave it out", n.name))
		case n.retry != nil && n.retry.fault() != nil:
			problems = append(problems, fmt.Errorf("node %q cannot be tried again by %w", n.name, n.retry.fault()))
		case n.parallel < 0:
			problems = append(problems,
				fmt.Errorf("node %q works on no item at a time: give Parallel at least 1", n.name))
		case n.parallel > 0 && !n.each:
			problems = append(problems, fmt.Errorf(
				"node %q has no items to work on side by side: leave Parallel out, or make it with Each", n.name))
		case n.index > 0 && n.limit <= 0:
			problems = append(problems, fmt.Errorf("node %q has a limit of %v: give it time", n.name, n.limit))
		case !ending.has(n.index):
			problems = append(problems, fmt.Errorf("node %q can never lead to %s: lead an edge from it on",
				n.name, End))
		}
	}
	g.findBefore()
	return append(problems, g.checkStreams()...)
}

// exits returns where a node may lead.
func (n *Node[S]) exits() []int {
	return append(slices.Clip(n.always), n.choices...)
}

// edges returns where a node leads every time.
func (n *Node[S]) edges() []int { return n.always }

// from returns the nodes that exits lead to from a node, directly or not. The node itself is among them only when it is
// on a loop.
func (g *Graph[S]) from(start int, exits func(*Node[S]) []int) bits {
	var reached bits
	for todo := []int{start}; len(todo) > 0; {
		n := g.nodes[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		for _, to := range exits(n) {
			if to != end && !reached.has(to) {
				reached.add(to)
				todo = append(todo, to)
			}
		}
	}
	return reached
}

// ending returns the nodes that can lead to End.
func (g *Graph[S]) ending() bits {
	var ending bits
	for more := true; more; {
		more = false
		for _, n := range g.nodes {
			for _, to := range n.exits() {
				if !ending.has(n.index) && (to == end || ending.has(to)) {
					ending.add(n.index)
					more = true
				}
			}
		}
	}
	return ending
}

// findBefore fills in Node.before. A node waits as long as one of those is running or waiting.
func (g *Graph[S]) findBefore() {
	for _, n := range g.nodes {
		reached := g.from(n.index, (*Node[S]).exits)
		for _, other := range g.nodes {
			if other != n && reached.has(other.index) {
				other.before.add(n.index)
			}
		}
	}
}

// checkStreams finds streaming nodes that plain edges lead to side by side. Those that only a branch brings together
// are found in the turn.
func (g *Graph[S]) checkStreams() []error {
	var problems []error
	mixed := map[[2]*Node[S]]bool{}
	for _, n := range g.nodes {
		streams := g.streams(g.from(n.index, (*Node[S]).edges))
		for i, a := range streams {
			for _, b := range streams[i+1:] {
				pair := [2]*Node[S]{a, b}
				if mixed[pair] || a.before.has(b.index) || b.before.has(a.index) {
					continue
				}
				mixed[pair] = true
				problems = append(problems, mixing(a, b))
			}
		}
	}
	return problems
}

// streams returns those nodes of a set that stream, by name.
func (g *Graph[S]) streams(set bits) []*Node[S] {
	var streams []*Node[S]
	for _, n := range g.nodes {
		if n.streams && set.has(n.index) {
			streams = append(streams, n)
		}
	}
	return streams
}

func mixing[S any](a, b *Node[S]) error {
	if a.index > b.index {
		a, b = b, a
	}
	return fmt.Errorf("nodes %q and %q stream side by side, which would mix their tokens: let one lead to the other",
		a.name, b.name)
}

// knownNames lists names for the message of an error about another one, up to 20 of them.
func knownNames(names []string) string {
	const most = 20
	names = slices.Sorted(slices.Values(names))
	if n := len(names) - most; n > 0 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", n))
	}
	return "known: " + strings.Join(names, ", ")
}
