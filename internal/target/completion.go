package target

import (
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
	own, others := n.Value, n.Value
	own.Fields, others.Fields = nil, slices.Clone(n.Fields)
	others.Fields = slices.DeleteFunc(others.Fields, func(f source.Field) bool {
		_, known := fields[f.Name]
		if known {
			own.Fields = append(own.Fields, f)
		}
		return known
	})
	if len(own.Fields) == 0 {
		return c, n
	}
	n.With(own).Read(fields)
	return c, n.With(others)
}
