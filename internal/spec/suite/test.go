package suite

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
)

// testKeys are the keys of a test. Nodes are read with the loader's variables and files.
type testKeys struct {
	ID             string        `key:"id" doc:"unique in the suite"`
	Mode           string        `key:"mode" enum:"conversation"`
	Criteria       string        `key:"criteria" doc:"of all turns; judged if the test has no assertion"`
	Input          source.Node   `key:"input" schema:"messages"`
	InputFiles     source.Node   `key:"input_files" schema:"texts" doc:"files before the text of the first message"`
	ConversationID any           `key:"conversation_id" doc:"copied to the metadata; has no effect"`
	State          Start         `key:"state" schema:"state" doc:"the agent's state in which the conversation begins"`
	History        history       `key:"history" schema:"history" doc:"recorded messages, from which the state is rebuilt"`
	Expected       source.Node   `key:"expected_output" schema:"reference"`
	Assertions     source.Node   `key:"assertions" schema:"assertions" doc:"of the whole conversation"`
	Turns          source.Node   `key:"turns" schema:"turns"`
	User           source.Node   `key:"user" schema:"user" doc:"a simulated user, who goes on after the turns"`
	Users          source.Node   `key:"users" schema:"users" doc:"simulated users, each of which makes a test"`
	EveryTurn      source.Node   `key:"every_turn" schema:"assertions" doc:"added to the assertions of each turn"`
	Aggregation    Aggregation   `key:"aggregation" enum:"mean,min,max"`
	OnTurnFailure  string        `key:"on_turn_failure" enum:"continue,stop"`
	WindowSize     int           `key:"window_size" minimum:"1" doc:"turns that graders of a turn see"`
	DependsOn      []string      `key:"depends_on"`
	Required       bool          `key:"required" doc:"its regression fails the run by itself"`
	Cluster        string        `key:"cluster" notblank:"true" doc:"name of tests that count as one observation"`
	Quarantine     source.Node   `key:"quarantine" schema:"quarantine"`
	Vars           source.Node   `key:"vars" schema:"object"`
	Tags           []string      `key:"tags"`
	Stubs          Stubs         `key:"stubs"`
	Metadata       mapping       `key:"metadata"`
	Execution      testExecution `key:"execution"`
	// OnDependencyFailure is skip, run or empty: skip after an error.
	OnDependencyFailure OnDependencyFailure `key:"on_dependency_failure" enum:"skip,run"`
}

// testKeysPool has keys to be used again: those of a test take more memory than the test.
var testKeysPool = sync.Pool{New: func() any { return new(testKeys) }}

// test reads one test. Placeholders are filled in first, so that the rest reads plain values.
func (l *loader) test(n source.Node, s *Suite) *Test {
	if l.v1 != nil {
		return l.testV1(n, s)
	}
	t := &Test{Suite: s.Name}
	if n.Kind != source.Map {
		n.Report("a test is a mapping with an id, an input or turns, and assertions", "expected a test, got %s", n.Kind)
		return t
	}
	n = n.With(withoutRefused(n))
	vars := l.testVars(n)
	t.Vars, _ = vars.Any().(map[string]any)
	n = n.With(l.expandTest(n, vars))

	keys := testKeysPool.Get().(*testKeys)
	defer func() {
		*keys = testKeys{}
		testKeysPool.Put(keys)
	}()
	keys.Aggregation = Mean
	source.Decode(n.With(without(n.Value, otherAssertionKeys)), keys)
	t.ID, t.Conversation, t.Criteria, t.Start = keys.ID, keys.Mode != "", keys.Criteria, keys.State
	t.Start.History = json.RawMessage(keys.History)
	t.Aggregation, t.StopOnFailure, t.WindowSize = keys.Aggregation, keys.OnTurnFailure == "stop", keys.WindowSize
	t.DependsOn, t.OnDependencyFailure = keys.DependsOn, keys.OnDependencyFailure
	t.Required, t.Cluster, t.Tags, t.Stubs = keys.Required, keys.Cluster, keys.Tags, keys.Stubs
	t.Metadata, t.Execution = keys.Metadata, keys.Execution.Execution
	if at := n.Field("conversation_id"); at.Kind != source.Null {
		t.Metadata = withMetadata(t.Metadata, "conversation_id", at)
		at.Warn("keep conversations together as turns of one test",
			"conversation_id has no effect: it is kept in the test's metadata")
	}
	if n.Has("quarantine") {
		t.Quarantine = l.quarantine(keys.Quarantine)
	}
	var input []chat.Message
	if n.Has("input") {
		input = l.messages(keys.Input)
	}
	expected := ""
	if n.Has("expected_output") {
		expected = l.reference(keys.Expected)
	}
	if n.Has("turns") {
		for _, item := range keys.Turns.List() {
			t.Turns = append(t.Turns, l.turn(item, vars))
		}
	}
	files := keys.InputFiles
	l.simulated(n, t, vars)
	l.everyTurn(keys.EveryTurn, t, vars)
	checkShape(n, t)
	t.At = positionOfTest(n)
	t.Stubs = t.Stubs.Over(l.stubs)
	t.Tags = append(t.Tags, s.Tags...)
	own := t.Execution.Trials
	t.Execution = t.Execution.Over(s.Execution)
	if t.Execution.Trials != own && own != (Trials{}) { // else its own have been checked, or the suite's
		t.Execution.Trials.check(n.Field("execution").Field("trials"))
	}

	checks := l.readAssertions(allAssertions(n), vars)
	t.Input = input
	if !t.Execution.SkipDefaults {
		checks = append(checks, l.suiteAssertions(n, vars)...)
		t.Input = slices.Concat(l.suiteInput(n, vars), input)
		if files.Kind == source.Null {
			files = l.suiteFiles(n, vars)
		}
	}
	if t.Conversation {
		t.Assertions = checks
	} else {
		l.singleTurn(n, t, expected, checks)
	}
	if len(t.Turns) > 0 {
		l.attach(files, &t.Turns[0].Input)
	}
	if n.Has("history") && slices.ContainsFunc(t.Input, func(m chat.Message) bool { return m.Role != chat.System }) {
		n.Field("history").Report("put earlier messages into the history, and only the user's last one into the input",
			"the test has a history and earlier messages in its input")
	}
	return t
}

// singleTurn makes the last message of the input the only turn, which carries the test's assertions.
func (l *loader) singleTurn(n source.Node, t *Test, expected string, assertions []Assertion) {
	turn := Turn{Expected: expected, Assertions: assertions}
	if n.Field("input").Kind == source.List && len(n.Field("input").Items) == 0 {
		n.Field("input").Report("write what the user says", "the input is empty")
	}
	if last := len(t.Input) - 1; last >= 0 && n.Has("input") {
		if t.Input[last].Role != chat.User && t.Input[last].Role != "" {
			n.Field("input").Report("end the input with a user message, or add turns",
				"the last message of the input is not the user's")
		}
		turn.Input = t.Input[last].Content
		t.Input = t.Input[:last:last]
		if turn.Input.Empty() {
			n.Field("input").Report("write what the user says", "the input is empty")
		}
	}
	t.Turns = []Turn{turn}
}

// quarantineKeys are the keys of a quarantine.
type quarantineKeys struct {
	Owner  string `key:"owner" doc:"who repairs the test"`
	Until  string `key:"until" doc:"the day from which the test counts again, in UTC"`
	Reason string `key:"reason" doc:"why the test may fail"`
}

// quarantine reads the terms of a test's quarantine.
func (l *loader) quarantine(n source.Node) *quarantine.Terms {
	var keys quarantineKeys
	source.Decode(n, &keys)
	t := &quarantine.Terms{Owner: keys.Owner, Until: keys.Until, Reason: keys.Reason}
	if n.Kind == source.Map {
		if err := t.Check(l.options.Now()); err != nil {
			n.Report("write {owner: …, until: 2006-01-02, reason: …}", "%s", err)
		}
	}
	return t
}

// positionOfTest returns where a test and its turns begin. A test without a list of turns has one, where it begins
// itself.
func positionOfTest(n source.Node) Location {
	at := Location{File: n.File(), Line: n.Line}
	if !n.Has("turns") {
		at.Turns = []int{n.Line}
		return at
	}
	for _, turn := range n.Field("turns").List() {
		at.Turns = append(at.Turns, turn.Line)
	}
	return at
}

// turnKeys are the keys of a turn.
type turnKeys struct {
	Input      source.Node `key:"input" schema:"said" doc:"the user's message"`
	Expected   source.Node `key:"expected_output" schema:"reference" doc:"a reference for the judge only"`
	Assertions source.Node `key:"assertions" schema:"assertions"`
	Stubs      Stubs       `key:"stubs"`
}

func (l *loader) turn(n source.Node, vars source.Value) Turn {
	var keys turnKeys
	source.Decode(n, &keys)
	t := Turn{Stubs: keys.Stubs, Assertions: l.readAssertions(keys.Assertions, vars)}
	if n.Has("input") {
		t.Input = l.content(keys.Input)
	}
	if n.Has("expected_output") {
		t.Expected = l.reference(keys.Expected)
	}
	if n.Kind == source.Map && t.Input.Empty() {
		n.Field("input").Report("write the user's message", "the turn has no input")
	}
	return t
}

// readAssertions reads a list of assertions and, while the suite is being validated, checks their types.
func (l *loader) readAssertions(n source.Node, vars source.Value) []Assertion {
	if n.Kind == source.Null {
		return nil
	}
	all := Assertions(n, l.dir)
	for i := range all {
		all[i].Vars = vars
	}
	if l.options.Kinds == nil {
		return all
	}
	for _, a := range all {
		if a.Type != "" {
			n.Add(l.options.Kinds.Validate(a))
		}
	}
	return all
}

// testVars returns the suite's variables with the test's own on top, environment variables filled in.
func (l *loader) testVars(n source.Node) source.Value {
	own := n.Field("vars")
	if !n.Has("vars") {
		return l.vars
	}
	if own.Kind != source.Map {
		own.Report("write `name: value` pairs", "expected variables, got %s", own.Kind)
		return l.vars
	}
	return overlay(l.vars, scope{getenv: l.options.Getenv, prompts: true}.expand(own))
}

// expandTest fills the placeholders of a test. Its id, tags and metadata may hold environment variables only.
func (l *loader) expandTest(n source.Node, vars source.Value) source.Value {
	v := n.Value
	if !hasPlaceholder(&v) {
		return v
	}
	v.Fields = slices.Clone(v.Fields)
	for i, f := range v.Fields {
		s := scope{getenv: l.options.Getenv, kinds: l.options.Kinds}
		switch f.Name {
		case "vars":
			continue
		case "input", "input_files", "history", "state", "expected_output", "criteria", "user", "users":
			s.vars = vars
		case "turns":
			v.Fields[i].Value = l.expandTurns(n.Field(f.Name), vars)
			continue
		case "assertions", "every_turn", "assert", "evaluators", Rubrics:
			s.vars, s.prompts = vars, true
		}
		v.Fields[i].Value = s.expand(n.Field(f.Name))
	}
	return v
}

func (l *loader) expandTurns(n source.Node, vars source.Value) source.Value {
	v := n.Value
	if v.Kind != source.List || !hasPlaceholder(&v) {
		return v
	}
	v.Items = slices.Clone(v.Items)
	for i, turn := range n.List() {
		if turn.Kind != source.Map {
			continue
		}
		fields := slices.Clone(turn.Fields)
		for j, f := range fields {
			s := scope{getenv: l.options.Getenv, vars: vars, prompts: f.Name == "assertions", kinds: l.options.Kinds}
			fields[j].Value = s.expand(turn.Field(f.Name))
		}
		v.Items[i].Fields = fields
	}
	return v
}

// suiteInput, suiteFiles and suiteAssertions are read for each test, since their placeholders are filled from its
// variables. They report to the suite's own file.
func (l *loader) suiteInput(test source.Node, vars source.Value) []chat.Message {
	if l.input.Kind == source.Null {
		return nil
	}
	n := l.input.Onto(test)
	return l.messages(n.With(scope{getenv: l.options.Getenv, vars: vars}.expand(n)))
}

func (l *loader) suiteFiles(test source.Node, vars source.Value) source.Node {
	n := l.inputFiles.Onto(test)
	return n.With(scope{getenv: l.options.Getenv, vars: vars}.expand(n))
}

func (l *loader) suiteAssertions(test source.Node, vars source.Value) []Assertion {
	if l.assertions.Kind == source.Null {
		return nil
	}
	n := l.assertions.Onto(test)
	return l.readAssertions(
		n.With(scope{getenv: l.options.Getenv, vars: vars, prompts: true, kinds: l.options.Kinds}.expand(n)), vars)
}
