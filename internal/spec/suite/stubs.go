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

// DecodeNode reads {NAME: {result} | {error} | [one for each call]}.
func (s *Stubs) DecodeNode(n source.Node) {
	*s = Stubs{}
	for name, item := range n.Entries() {
		for one := range item.Each() {
			var stub Stub
			stub.DecodeNode(one)
			(*s)[name] = append((*s)[name], stub)
		}
		if len((*s)[name]) == 0 {
			item.Report(hintStub, "the stub %q has no answers", name)
		}
	}
}

// DecodeNode reads {result} or {error}.
func (s *Stub) DecodeNode(n source.Node) {
	if n.Kind != source.Map {
		n.Report(hintStub, "expected a stub, got %s", n.Kind)
		return
	}
	keys := struct {
		Result source.Node `key:"result"`
		Error  string      `key:"error"`
	}{}
	source.Decode(n, &keys)
	s.Error = keys.Error
	result, given := n.Get("result") // null is one, too
	switch {
	case given && n.Has("error"):
		n.Report(hintStub, "a stub has a result or an error, and this has both")
	case given:
		s.Result = marshal(n, result.Any())
	case blank(s.Error):
		n.Report(hintStub, "the stub has no result and no error")
	}
}
