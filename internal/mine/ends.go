package mine

// addEnds gives a flow the ends that it lacks. From every node a conversation has to come to an end. Of the nodes from which it cannot, the one
// at which most sessions ended gets an option that ends the flow, with what users said there last as its examples; and so on until there is
// none left.
func (f *Flow) addEnds(kept []*state, examples int) {
	for {
		ending := f.ending()
		worst := -1
		for i, n := range f.Nodes {
			if !ending[n.ID] && (worst < 0 || kept[i].stopped > kept[worst].stopped) {
				worst = i
			}
		}
		if worst < 0 {
			return
		}
		n, s := f.Nodes[worst], kept[worst]
		taken := map[string]bool{}
		for _, o := range n.Options {
			taken[o.ID] = true
		}
		end := &Option{ID: free(endID, taken), Label: "End", Count: s.stopped}
		for _, said := range s.last.ranked() {
			if examples != All && len(end.Examples) == examples {
				break
			}
			end.Examples = append(end.Examples, said.shown)
		}
		n.Options = append(n.Options, end)
	}
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
