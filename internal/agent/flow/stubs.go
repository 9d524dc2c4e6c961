package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
)

// Stub is an answer in place of a call over HTTP, or of a search: a result, or an error.
type Stub struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Stubs are answers by the name of an API, a tool, or search_knowledge_bases: one for each call of a turn, the last for
// all others too.
type Stubs map[string][]Stub

// UnmarshalJSON reads {NAME: {result} | {error} | [one for each call]}.
func (s *Stubs) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		return err
	}
	*s = Stubs{}
	for name, value := range raw {
		if !bytes.HasPrefix(bytes.TrimSpace(value), []byte("[")) {
			value = append(append(json.RawMessage("["), value...), ']')
		}
		var list []Stub
		if err := json.Unmarshal(value, &list); err != nil {
			return err
		}
		(*s)[name] = list
	}
	return nil
}

// After returns the stubs for the next turn, when this one has made those calls. Calls that were answered by the turn's
// own stubs count for nothing.
func (s Stubs) After(calls []ToolTrace, own Stubs) Stubs {
	if len(s) == 0 {
		return s
	}
	made := map[string]int{}
	for _, call := range calls {
		made[call.Name]++
	}
	left := make(Stubs, len(s))
	for name, list := range s {
		if _, ok := own[name]; !ok {
			list = list[min(made[name], max(0, len(list)-1)):]
		}
		left[name] = list
	}
	return left
}

// With returns the stubs with a turn's own, which go before them.
func (s Stubs) With(own Stubs) Stubs {
	if len(own) == 0 {
		return s
	}
	all := Stubs{}
	maps.Copy(all, s)
	maps.Copy(all, own)
	return all
}

// errNoStub says that a call has no stub, and is to be made.
var errNoStub = errors.New("no stub")

// stubbed returns the stub of the next call of a name, or errNoStub. Every call counts, also one that could not be
// made.
func (t *turn) stubbed(name string) (json.RawMessage, error) {
	n := t.called[name]
	if t.called == nil {
		t.called = map[string]int{}
	}
	t.called[name]++
	list := t.in.Stubs[name]
	if len(list) == 0 {
		return nil, errNoStub
	}
	s := list[min(n, len(list)-1)]
	if s.Result == nil {
		return nil, errors.New(s.Error)
	}
	return s.Result, nil
}
