package suite

import (
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// testKeysV1 are the keys of a test of a v1 suite.
type testKeysV1 struct {
	ID            string      `key:"test_id"`
	Description   string      `key:"description"`
	Node          source.Node `key:"initial_node_id" schema:"name"`
	Seed          *int        `key:"seed"`
	Memory        *memory     `key:"memory" alias:"seeded_memory"`
	Turns         source.Node `key:"turns" schema:"v1_turns"`
	Final         source.Node `key:"final_assertions" schema:"v1_final"`
	StopOnFailure bool        `key:"stop_on_failure"`
	Required      bool        `key:"required"`
	Cluster       string      `key:"cluster" notblank:"true" doc:"a name"`
	Quarantine    source.Node `key:"quarantine" schema:"quarantine"`
	Stubs         Stubs       `key:"stubs"`
	Tags          []string    `key:"tags"`
	Metadata      mapping     `key:"metadata"`
}

// testV1 reads one test of a v1 suite. It passes when every turn and the final assertions pass, so the least score
// counts. A failed turn ends it only with stop_on_failure. The target is asked to answer the same way every time.
func (l *loader) testV1(n source.Node, s *Suite) *Test {
	t := &Test{
		Suite: s.Name, Conversation: true, Aggregation: Min, Execution: s.Execution,
		Sampling: &Sampling{Temperature: new(0.0), TopP: new(1.0)},
	}
	if n.Kind != source.Map {
		n.Report("a test is a mapping with a test_id and turns", "expected a test, got %s", n.Kind)
		return t
	}
	keys := testKeysV1{StopOnFailure: l.v1.stop}
	source.Decode(n, &keys)
	t.ID, t.StopOnFailure, t.Required, t.Cluster = keys.ID, keys.StopOnFailure, keys.Required, keys.Cluster
	t.Sampling.Seed, t.Stubs, t.Tags, t.Metadata = keys.Seed, keys.Stubs, keys.Tags, keys.Metadata
	if n.Has("initial_node_id") {
		t.Start.Node, t.Start.at = readNodeID(keys.Node), positionOf(keys.Node)
	}
	if keys.Memory != nil {
		t.Start.Memory = marshal(n, keys.Memory)
	}
	if n.Has("quarantine") {
		t.Quarantine = l.quarantine(keys.Quarantine)
	}
	if n.Has("turns") {
		for _, item := range keys.Turns.List() {
			t.Turns = append(t.Turns, l.turnV1(item))
		}
	}
	t.Stubs = t.Stubs.Over(l.stubs)
	t.At = positionOfTest(n)
	t.addMetadata("description", keys.Description)
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
	switch turns := n.Field("turns"); {
	case !n.Has("turns"):
		n.Report("add `turns:` with at least one {user_input: …}", "a test needs turns")
	case turns.Kind == source.List && len(turns.Items) == 0:
		turns.Report("add at least one {user_input: …}", "a test needs turns, and the list is empty")
	case l.v1.maxTurns > 0 && len(t.Turns) > l.v1.maxTurns:
		turns.Report("split the test, or raise defaults.max_turns", "%d turns are more than max_turns: %d",
			len(t.Turns), l.v1.maxTurns)
	}
}

// turnKeysV1 are the keys of a turn of a v1 suite.
type turnKeysV1 struct {
	ID       string      `key:"turn_id"`
	Input    string      `key:"user_input" schema:"name" doc:"the user's message"`
	Expected source.Node `key:"expected" schema:"v1_expected"`
	Stubs    Stubs       `key:"stubs"`
}

func (l *loader) turnV1(n source.Node) Turn {
	var keys turnKeysV1
	source.Decode(n, &keys)
	t := Turn{ID: keys.ID, Input: chat.Content{Text: keys.Input}, Stubs: keys.Stubs}
	if n.Has("expected") {
		t.Assertions = l.readExpected(keys.Expected)
	}
	if n.Kind == source.Map && t.Input.Empty() &&
		(!n.Has("user_input") || n.Field("user_input").Kind == source.String) {
		n.Field("user_input").Report("write what the user says in this turn", "the turn has no user_input")
	}
	return t
}
