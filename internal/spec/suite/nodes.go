package suite

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// NodeName is the name of a flow's node in a test: where the conversation begins, or where an assertion expects the
// flow.
type NodeName struct {
	ID string
	at source.Problem
}

// Problem returns a fault of the name, at its place.
func (n NodeName) Problem(message, hint string) source.Problem {
	n.at.Message, n.at.Hint = message, hint
	return n.at
}

// NodeNames returns the names of nodes in a test that was loaded, in the order of reading. Suite.NamesNodes says
// whether there are any.
func (t *Test) NodeNames() []NodeName {
	var names []NodeName
	if t.Start.Node != "" && t.Start.at.Path != "" {
		names = append(names, NodeName{t.Start.Node, t.Start.at})
	}
	for _, turn := range t.Turns {
		names = append(names, nodeNames(turn.Assertions)...)
	}
	names = append(names, nodeNames(t.EveryTurn)...)
	if t.User != nil {
		names = append(names, nodeNames(t.User.StopWhen)...)
	}
	return append(names, nodeNames(t.Assertions)...)
}

// nodeNames returns the names of nodes in assertions, those within composites included.
func nodeNames(all []Assertion) (names []NodeName) {
	for _, a := range all {
		switch a.Type {
		case "next_node":
			for n := range a.Params.Field("value").Each() {
				if n.Kind != source.Null { // a number is an id, too
					at := positionOf(n)
					at.Path = authorsPath(at.Path, a.Params, a.written)
					names = append(names, NodeName{n.Scalar, at})
				}
			}
		case "composite":
			for _, key := range []string{"assertions", "graders"} {
				if list := a.Params.Field(key); list.Kind == source.List {
					unheard := &source.Reader{File: list.File()} // its problems were reported when the suite was read
					names = append(names, nodeNames(Assertions(list.To(unheard), a.Dir))...)
				}
			}
		}
	}
	return names
}

func positionOf(n source.Node) source.Problem {
	return source.Problem{File: n.File(), Path: n.Path(), Line: n.Line, Column: n.Column}
}

// CheckNodes reads the tests again and returns the problems that faults finds with the names of nodes in each, every
// problem once. It stops at as many problems as loading keeps.
func (s *Suite) CheckNodes(faults func(t *Test, names []NodeName) source.Problems) (source.Problems, error) {
	if !s.NamesNodes {
		return nil, nil
	}
	var problems source.Problems
	for t, err := range s.Tests() {
		if err != nil {
			return nil, source.AsInvalid(err)
		}
		names := t.NodeNames()
		if len(names) == 0 {
			continue
		}
		for _, p := range faults(t, names) {
			if !slices.Contains(problems, p) { // an assertion of the suite is every test's
				problems = append(problems, p)
			}
		}
		if len(problems) >= maxProblems {
			break
		}
	}
	return problems, nil
}
