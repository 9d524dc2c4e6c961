package mine

import (
	"cmp"
	"slices"
)

// addEnds adds options that end the flow until a conversation can reach an end from every node. Of the nodes from which
// it cannot, the one at which most sessions ended gets the next such option.
func (f *Flow) addEnds(kept []*state, moves map[*state][]step, examples int) {
	for {
		ending, at := f.ending(), -1
		for i, n := range f.Nodes {
			if !ending[n.ID] && (at < 0 || kept[i].stopped > kept[at].stopped) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		f.Nodes[at].addEnd(kept[at], moves[kept[at]], examples)
	}
}

// addEnd adds an option that ends the flow. Its examples are the last messages of users whose sessions ended at the
// node.
func (n *Node) addEnd(s *state, steps []step, most int) {
	taken := map[string]bool{}
	for _, o := range n.Options {
		taken[o.ID] = true
	}
	end := &Option{ID: free(endID, taken), Label: "End", Count: s.stopped}
	last := s.stayed.ranked()
	slices.SortStableFunc(last, func(a, b *phrase) int { return cmp.Compare(b.ended, a.ended) })
	for _, said := range last {
		if said.ended == 0 || most != All && len(end.Examples) == most {
			break
		}
		// it is an example of that option
		elsewhere := func(m step) bool { return m.said.count(said.key) >= said.count }
		if !slices.ContainsFunc(steps, elsewhere) {
			end.Examples = append(end.Examples, said.shown)
		}
	}
	n.Options = append(n.Options, end)
}

// ending returns the ids of the nodes from which a conversation can come to an end.
func (f *Flow) ending() map[string]bool {
	ending, before := map[string]bool{}, map[string][]string{}
	var queue []string
	reach := func(id string) {
		if !ending[id] {
			ending[id] = true
			queue = append(queue, id)
		}
	}
	for _, n := range f.Nodes {
		if n.Stop {
			reach(n.ID)
		}
		for _, o := range n.Options {
			if o.Next == "" {
				reach(n.ID)
			}
			before[o.Next] = append(before[o.Next], n.ID)
		}
	}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		for _, previous := range before[id] {
			reach(previous)
		}
	}
	return ending
}
