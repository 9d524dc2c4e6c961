package suite

import (
	"encoding/json"
	"maps"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Stub is an answer in place of what a flow calls: a result, or an error.
type Stub struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Stubs are answers by the name of an API or a tool of a flow: one for each call, the last for all others too.
type Stubs map[string][]Stub

// Over returns the stubs with those that lie further away below them: the nearest of a name holds.
func (s Stubs) Over(further Stubs) Stubs {
	if len(further) == 0 {
		return s
	}
	all := maps.Clone(further)
	maps.Copy(all, s)
	return all
}

// Stubbed reports whether the test or one of its turns has stubs.
func (t *Test) Stubbed() bool {
	for _, turn := range t.Turns {
		if len(turn.Stubs) > 0 {
			return true
		}
	}
	return len(t.Stubs) > 0
}

const hintStub = "write {result: …}, {error: …}, or a list with one for each call"

// readStubs reads {NAME: {result} | {error} | [one for each call]}.
func readStubs(n source.Node) Stubs {
	stubs := Stubs{}
	for name, item := range n.Entries() {
		if item.Kind != source.List {
			stubs[name] = []Stub{readStub(item)}
			continue
		}
		for _, one := range item.List() {
			stubs[name] = append(stubs[name], readStub(one))
		}
		if len(stubs[name]) == 0 {
			item.Report(hintStub, "the stub %q has no answers", name)
		}
	}
	return stubs
}

func readStub(n source.Node) (s Stub) {
	if n.Kind != source.Map {
		n.Report(hintStub, "expected a stub, got %s", n.Kind)
		return s
	}
	n.Read(map[string]func(source.Node){
		"result": func(source.Node) {}, // null is one, too
		"error":  func(n source.Node) { s.Error = n.Text() },
	})
	value, given := n.Get("result")
	switch {
	case given && n.Has("error"):
		n.Report(hintStub, "a stub has a result or an error, and this has both")
	case given:
		s.Result = marshal(n, value.Any())
	case blank(s.Error):
		n.Report(hintStub, "the stub has no result and no error")
	}
	return s
}
