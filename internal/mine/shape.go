package mine

import (
	"cmp"
	"slices"
	"strings"
)

// shape makes a flow of what was counted.
//
// A state is kept when it was entered often enough, a transition when it was made often enough between states that are kept. A state at which
// completed sessions end at least every other time is a stop. What cannot be reached from the first states along that is left out.
func shape(t *tally, o Options) *Flow {
	f := &Flow{ID: o.ID, Learned: t.learned, Left: t.left}
	kept := t.kept(o.MinCount)
	first := firstStates(kept, o.MinCount)
	stops := map[string]bool{}
	for _, s := range kept {
		stops[s.name] = 2*s.completed >= s.entered && !slices.Contains(first, s)
	}
	moves := t.movesBetween(kept, stops, o.MinCount)
	kept = reachable(kept, first, moves)

	ids := names(kept)
	taken := map[string]bool{}
	for _, s := range kept {
		taken[ids[s.name]] = true
	}
	f.Start = free(startID, taken)
	for _, s := range first {
		f.First = append(f.First, ids[s.name])
	}
	for _, s := range kept {
		n := &Node{ID: ids[s.name], State: s.name, Prompt: prompt(s), Count: s.entered, Stop: stops[s.name]}
		examples := choose(s, moves[s.name], o.Examples)
		for i, m := range moves[s.name] {
			n.Options = append(n.Options, &Option{ID: ids[m.to], Label: label(m.to), Next: ids[m.to], Count: m.count, Examples: examples[i]})
		}
		f.Nodes = append(f.Nodes, n)
	}
	f.addEnds(kept, moves, o.Examples)
	t.countLeft(f, kept)
	return f
}

// kept returns the states that were entered often enough, the most frequent first. Where none was begun in often enough to be kept,
// the state in which most sessions began is kept besides.
func (t *tally) kept(least int) []*state {
	all := make([]*state, 0, len(t.states))
	for _, s := range t.states {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *state) int { return cmp.Or(b.begun-a.begun, strings.Compare(a.name, b.name)) })
	mostBegun := all[0]
	all = slices.DeleteFunc(all, func(s *state) bool { return s.entered < least && s != mostBegun })
	slices.SortFunc(all, byFrequency)
	return all
}

func byFrequency(a, b *state) int {
	return cmp.Or(b.entered-a.entered, strings.Compare(a.name, b.name))
}

// firstStates returns the states in which sessions begin often enough, the most frequent first, and at least one.
func firstStates(kept []*state, least int) []*state {
	first := slices.Clone(kept)
	slices.SortStableFunc(first, func(a, b *state) int { return b.begun - a.begun })
	n := 1
	for n < len(first) && first[n].begun >= least {
		n++
	}
	return first[:n]
}

// step is a transition that is kept.
type step struct {
	to    string
	count int
	said  *texts
}

// movesBetween returns the transitions that are kept, by the state that they leave, the most frequent first. None leaves a stop.
func (t *tally) movesBetween(kept []*state, stops map[string]bool, least int) map[string][]step {
	there := map[string]bool{}
	for _, s := range kept {
		there[s.name] = true
	}
	moves := map[string][]step{}
	for m, seen := range t.moves {
		if there[m.from] && there[m.to] && !stops[m.from] && seen.count >= least {
			moves[m.from] = append(moves[m.from], step{m.to, seen.count, &seen.said})
		}
	}
	for _, steps := range moves {
		slices.SortFunc(steps, func(a, b step) int { return cmp.Or(b.count-a.count, strings.Compare(a.to, b.to)) })
	}
	return moves
}

// reachable returns the states that the first ones lead to, in the order that they have.
func reachable(kept, first []*state, moves map[string][]step) []*state {
	reached := map[string]bool{}
	var queue []string
	reach := func(name string) {
		if !reached[name] {
			reached[name] = true
			queue = append(queue, name)
		}
	}
	for _, s := range first {
		reach(s.name)
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		for _, m := range moves[name] {
			reach(m.to)
		}
	}
	return slices.DeleteFunc(slices.Clone(kept), func(s *state) bool { return !reached[s.name] })
}

// prompt is what the bot says at a state: most often on entering it or, where that was never logged, most often at all.
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
