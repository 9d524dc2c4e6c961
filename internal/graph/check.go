package graph

import (
	"fmt"
	"slices"
)

// check returns what would keep turns from getting through, and finds out on the way which nodes lead to which.
func (g *Graph[S]) check() []error {
	var problems []error
	reached, ending := g.from(0, (*Node[S]).exits), g.ending()
	for _, n := range g.nodes {
		switch {
		case n.index == 0 && len(n.exits()) == 0:
			problems = append(problems, fmt.Errorf("no edge leaves %s: add one to the node where turns begin", Start))
		case n.index > 0 && !reached.has(n.index):
			problems = append(problems, fmt.Errorf("node %q is never reached: lead an edge to it, or leave it out", n.name))
		case n.index > 0 && n.limit <= 0:
			problems = append(problems, fmt.Errorf("node %q has a limit of %v: give it time", n.name, n.limit))
		case !ending.has(n.index):
			problems = append(problems, fmt.Errorf("node %q can never lead to %s: lead an edge from it on", n.name, End))
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

// from returns the nodes that some exits lead to from a node, which is among them only if they lead back.
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

// findBefore tells every node which others can lead to it: as long as one of them is at work or waits, it waits too.
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

// checkStreams finds streaming nodes that run side by side in every turn that comes past some node. Those that only a branch brings
// together are found when it happens.
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
	return fmt.Errorf("nodes %q and %q stream side by side, which would mix their tokens: let one lead to the other", a.name, b.name)
}
