package suite

import (
	"math"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// testV1 reads one test of a v1 suite. It passes when every turn and the final assertions pass, so the least score counts.
// A failed turn ends it only with stop_on_failure. The target is asked to answer the same way every time.
func (l *loader) testV1(n source.Node, s *Suite) *Test {
	t := &Test{
		Suite: s.Name, Conversation: true, Aggregation: Min, StopOnFailure: l.v1.stop, Execution: s.Execution,
		Sampling: &Sampling{Temperature: new(0.0), TopP: new(1.0)},
	}
	if n.Kind != source.Map {
		n.Report("a test is a mapping with a test_id and turns", "expected a test, got %s", n.Kind)
		return t
	}
	description := ""
	n.Read(map[string]func(source.Node){
		"test_id":          func(n source.Node) { t.ID = n.Text() },
		"description":      func(n source.Node) { description = n.Text() },
		"initial_node_id":  func(n source.Node) { t.Start.Node, t.Start.at = readNodeID(n), placeOf(n) },
		"seed":             func(n source.Node) { t.Sampling.Seed = new(n.Int(math.MinInt)) },
		"memory":           func(n source.Node) { t.Start.Memory = readMemory(n) },
		"seeded_memory":    func(n source.Node) { t.Start.Memory = readMemory(n) },
		"turns":            func(n source.Node) { t.Turns = l.turnsV1(n) },
		"final_assertions": func(source.Node) {}, // read below, when the metadata is known
		"stop_on_failure":  func(n source.Node) { t.StopOnFailure = n.Bool() },
		"required":         func(n source.Node) { t.Required = n.Bool() },
		"cluster":          func(n source.Node) { t.Cluster = readCluster(n) },
		"quarantine":       func(n source.Node) { t.Quarantine = l.quarantine(n) },
		"stubs":            func(n source.Node) { t.Stubs = readStubs(n) },
		"tags":             func(n source.Node) { t.Tags = n.Texts() },
		"metadata":         func(n source.Node) { t.Metadata = mapping(n) },
	})
	t.Stubs = t.Stubs.Over(l.stubs)
	t.At = placeOfTest(n)
	t.addMetadata("description", description)
	if n.Has("final_assertions") {
		l.readFinal(n.Field("final_assertions"), t)
	}
	l.checkV1(n, t)
	return t
}

// addMetadata adds a value to the test's metadata, unless it is empty or the author has used its name.
func (t *Test) addMetadata(key string, value any) {
	if _, taken := t.Metadata[key]; taken || value == "" {
		return
	}
	if t.Metadata == nil {
		t.Metadata = map[string]any{}
	}
	t.Metadata[key] = value
}

// checkV1 reports what is missing and what does not go together.
func (l *loader) checkV1(n source.Node, t *Test) {
	if !n.Has("test_id") || blank(t.ID) {
		n.Field("test_id").Report("add `test_id:` with a name that is unique in the suite", "a test needs a test_id")
	}
	if n.Has("memory") && n.Has("seeded_memory") {
		n.Field("seeded_memory").Report("keep one of the two", "memory and seeded_memory are the same")
	}
	switch turns := n.Field("turns"); {
	case !n.Has("turns"):
		n.Report("add `turns:` with at least one {user_input: …}", "a test needs turns")
	case turns.Kind == source.List && len(turns.Items) == 0:
		turns.Report("add at least one {user_input: …}", "a test needs turns, and the list is empty")
	case l.v1.maxTurns > 0 && len(t.Turns) > l.v1.maxTurns:
		turns.Report("split the test, or raise defaults.max_turns", "%d turns are more than max_turns: %d", len(t.Turns), l.v1.maxTurns)
	}
}

func (l *loader) turnsV1(n source.Node) []Turn {
	var turns []Turn
	for _, item := range n.List() {
		turns = append(turns, l.turnV1(item))
	}
	return turns
}

func (l *loader) turnV1(n source.Node) Turn {
	t := Turn{}
	n.Read(map[string]func(source.Node){
		"turn_id":    func(n source.Node) { t.ID = n.Text() },
		"user_input": func(n source.Node) { t.Input = chat.Content{Text: n.Text()} },
		"expected":   func(n source.Node) { t.Assertions = l.readExpected(n) },
		"stubs":      func(n source.Node) { t.Stubs = readStubs(n) },
	})
	if n.Kind == source.Map && t.Input.Empty() && (!n.Has("user_input") || n.Field("user_input").Kind == source.String) {
		n.Field("user_input").Report("write what the user says in this turn", "the turn has no user_input")
	}
	return t
}
