package mine

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// shape makes a flow of the counts.
//
// A state is kept when it was entered often enough, a transition when it was made often enough between kept states. A
// state is a stop when completed sessions end there at least every other time that it is entered, unless sessions begin
// there. States that cannot be reached from the first states are left out.
func shape(t *tally, o Options) *Flow {
	f := &Flow{ID: o.ID, Learned: t.learned, Left: t.left}
	kept := t.kept(o.MinCount)
	first := firstStates(kept, o.MinCount)
	stops := map[*state]bool{}
	for _, s := range kept {
		stops[s] = 2*s.completed >= s.entered && !slices.Contains(first, s)
	}
	moves := t.movesBetween(kept, stops, o.MinCount)
	kept = reachable(first, moves)

	ids, taken := names(kept), map[string]bool{}
	for _, id := range ids {
		taken[id] = true
	}
	f.Start = free(startID, taken)
	for _, s := range first {
		f.First = append(f.First, ids[s])
	}
	for _, s := range kept {
		n := &Node{ID: ids[s], State: s.name, Prompt: prompt(s), Count: s.entered, Stop: stops[s]}
		examples := choose(s, moves[s], o.Examples)
		for i, m := range moves[s] {
			n.Options = append(n.Options, &Option{
				ID: ids[m.to], Label: label(m.to.name), Next: ids[m.to], Count: m.count, Examples: examples[i],
			})
		}
		f.Nodes = append(f.Nodes, n)
	}
	f.addEnds(kept, moves, o.Examples)
	t.countLeft(f, kept)
	return f
}

// kept returns the states that were entered often enough. The state in which most sessions began is always kept and
// comes first.
func (t *tally) kept(least int) []*state {
	all := slices.SortedFunc(maps.Values(t.states), func(a, b *state) int {
		return cmp.Or(b.begun-a.begun, strings.Compare(a.name, b.name))
	})
	mostBegun := all[0]
	return slices.DeleteFunc(all, func(s *state) bool { return s.entered < least && s != mostBegun })
}

// firstStates returns the kept states in which sessions begin often enough, the most frequent first, and at least one.
func firstStates(kept []*state, least int) []*state {
	n := 1
	for n < len(kept) && kept[n].begun >= least {
		n++
	}
	return kept[:n:n]
}

// step is a kept transition.
type step struct {
	to    *state
	count int
	said  *texts
}

// movesBetween returns the kept transitions by the state that they leave, the most frequent first. No transition leaves
// a stop. If none that leaves a state is frequent enough, the most frequent one is kept, or the state would be a dead
// end.
func (t *tally) movesBetween(kept []*state, stops map[*state]bool, least int) map[*state][]step {
	moves := map[*state][]step{}
	for m, seen := range t.moves {
		from, to := t.states[m.from], t.states[m.to]
		if !stops[from] && slices.Contains(kept, from) && slices.Contains(kept, to) {
			moves[from] = append(moves[from], step{to, seen.count, &seen.said})
		}
	}
	for from, steps := range moves {
		slices.SortFunc(steps, func(a, b step) int {
			return cmp.Or(b.count-a.count, strings.Compare(a.to.name, b.to.name))
		})
		n := 1
		for n < len(steps) && steps[n].count >= least {
			n++
		}
		moves[from] = steps[:n]
	}
	return moves
}

// reachable returns the first states and those that they lead to, in the order in which they are first reached.
func reachable(first []*state, moves map[*state][]step) []*state {
	reached := slices.Clone(first)
	for i := 0; i < len(reached); i++ {
		for _, m := range moves[reached[i]] {
			if !slices.Contains(reached, m.to) {
				reached = append(reached, m.to)
			}
		}
	}
	return reached
}

// prompt returns the bot's most frequent message on entering a state or, if none was logged, its most frequent message
// there.
func prompt(s *state) string {
	for _, said := range []texts{s.greeted, s.spoken} {
		if ranked := said.ranked(); len(ranked) > 0 {
			return ranked[0].shown
		}
	}
	return label(s.name)
}

// countLeft counts what is not in the flow.
func (t *tally) countLeft(f *Flow, kept []*state) {
	there := map[string]*Node{}
	for i, s := range kept {
		there[s.name] = f.Nodes[i]
	}
	f.Left.States = len(t.states) - len(kept)
	for m, seen := range t.moves {
		from := there[m.from]
		switch {
		case from != nil && from.Stop:
			f.Left.AfterEnd += seen.count
		case from == nil, there[m.to] == nil, !from.leadsTo(there[m.to].ID):
			f.Left.Transitions++
			f.Left.Moves += seen.count
		}
	}
	for i, s := range kept {
		if f.Nodes[i].Stop {
			f.Left.AfterEnd += s.stays
		}
	}
}

func (n *Node) leadsTo(id string) bool {
	return slices.ContainsFunc(n.Options, func(o *Option) bool { return o.Next == id })
}
