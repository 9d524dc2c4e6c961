package target

import (
	"maps"
	"slices"

	"rehearse/internal/config"
	"rehearse/internal/source"
)

// readCompletion reads what every kind has for replays, and returns the mapping without it.
func readCompletion(n source.Node) (c config.Completion, rest source.Node) {
	fields := map[string]func(source.Node){
		"complete_when": func(n source.Node) {
			if n.Kind != source.Map {
				c.When = n.Text()
				return
			}
			n.Read(map[string]func(source.Node){"judge": func(n source.Node) { c.Judge = n.Text() }})
		},
		"state_of": func(n source.Node) { c.StateOf = n.Text() },
		"data_of":  func(n source.Node) { c.DataOf = n.Text() },
	}
	own, rest := lifted(n, slices.Collect(maps.Keys(fields))...)
	if len(own.Fields) > 0 {
		own.Read(fields)
	}
	return c, rest
}

// lifted returns the mapping with the entries of some names, and the one with all others.
func lifted(n source.Node, names ...string) (own, rest source.Node) {
	some, others := n.Value, n.Value
	some.Fields, others.Fields = nil, nil
	for _, f := range n.Fields {
		if slices.Contains(names, f.Name) {
			some.Fields = append(some.Fields, f)
		} else {
			others.Fields = append(others.Fields, f)
		}
	}
	return n.With(some), n.With(others)
}
