package suite

import (
	"encoding/json"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
)

// test reads one test. Placeholders are filled in first, so that the rest reads plain values.
func (l *loader) test(n source.Node, s *Suite) *Test {
	if l.v1 != nil {
		return l.testV1(n, s)
	}
	t := &Test{Suite: s.Name, Aggregation: Mean}
	if n.Kind != source.Map {
		n.Report("a test is a mapping with an id, an input or turns, and assertions", "expected a test, got %s", n.Kind)
		return t
	}
	n = n.With(withoutRefused(n))
	vars := l.testVars(n)
	t.Vars, _ = vars.Any().(map[string]any)
	n = n.With(l.expandTest(n, vars))

	var files source.Node
	var input []chat.Message
	var expected string
	var start Start
	var history json.RawMessage
	var every source.Node
	n.With(without(n.Value, otherAssertionKeys)).Read(map[string]func(source.Node){
		"id":              func(n source.Node) { t.ID = n.Text() },
		"mode":            func(n source.Node) { t.Conversation = n.OneOf("conversation") != "" },
		"criteria":        func(n source.Node) { t.Criteria = n.Text() },
		"input":           func(n source.Node) { input = l.messages(n) },
		"state":           func(n source.Node) { start = readStart(n) },
		"history":         func(n source.Node) { history = readHistory(n) },
		"expected_output": func(n source.Node) { expected = l.reference(n) },
		"input_files":     func(n source.Node) { files = n },
		"assertions":      func(source.Node) {}, // below, with their other names
		"conversation_id": func(n source.Node) {
			t.Metadata = kept(t.Metadata, "conversation_id", n)
			n.Warn("keep conversations together as turns of one test", "conversation_id has no effect: it is kept in the test's metadata")
		},
		"turns":      func(n source.Node) { t.Turns = l.turns(n, vars) },
		"user":       func(source.Node) {}, // below, once the turns are known
		"users":      func(source.Node) {},
		"every_turn": func(n source.Node) { every = n },
		"aggregation": func(n source.Node) {
			t.Aggregation = Aggregation(n.OneOf(string(Mean), string(Min), string(Max)))
		},
		"on_turn_failure":       func(n source.Node) { t.StopOnFailure = n.OneOf("continue", "stop") == "stop" },
		"window_size":           func(n source.Node) { t.WindowSize = n.Int(1) },
		"depends_on":            func(n source.Node) { t.DependsOn = n.Texts() },
		"on_dependency_failure": func(n source.Node) { t.OnDependencyFailure = OnDependencyFailure(n.OneOf("skip", "run")) },
		"required":              func(n source.Node) { t.Required = n.Bool() },
		"cluster":               func(n source.Node) { t.Cluster = readCluster(n) },
		"quarantine":            func(n source.Node) { t.Quarantine = l.quarantine(n) },
		"vars":                  func(source.Node) {},
		"tags":                  func(n source.Node) { t.Tags = n.Texts() },
		"stubs":                 func(n source.Node) { t.Stubs = readStubs(n) },
		"metadata":              func(n source.Node) { t.Metadata = merged(t.Metadata, mapping(n)) },
		"execution":             func(n source.Node) { t.Execution = testExecution(n) },
	})
	l.simulated(n, t, vars)
	l.everyTurn(every, t, vars)
	checkShape(n, t)
	t.At = placeOfTest(n)
	t.Start = start
	t.Start.History = history
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
		n.Field("history").Report("put earlier messages into the history, and only the user's last one into the input", "the test has a history and earlier messages in its input")
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
			n.Field("input").Report("end the input with a user message, or add turns", "the last message of the input is not the user's")
		}
		turn.Input = t.Input[last].Content
		t.Input = t.Input[:last:last]
		if turn.Input.Empty() {
			n.Field("input").Report("write what the user says", "the input is empty")
		}
	}
	t.Turns = []Turn{turn}
}

// readCluster reads the name of a cluster.
func readCluster(n source.Node) string {
	name := n.Text()
	if n.Kind == source.String && blank(name) {
		n.Report("write a name, or remove the key", "the name of the cluster is empty")
	}
	return name
}

// quarantine reads the terms of a test's quarantine.
func (l *loader) quarantine(n source.Node) *quarantine.Terms {
	t := &quarantine.Terms{}
	n.Read(map[string]func(source.Node){
		"owner":  func(n source.Node) { t.Owner = n.Text() },
		"until":  func(n source.Node) { t.Until = n.Text() },
		"reason": func(n source.Node) { t.Reason = n.Text() },
	})
	if n.Kind == source.Map {
		if err := t.Check(l.options.Now()); err != nil {
			n.Report("write {owner: …, until: 2006-01-02, reason: …}", "%s", err)
		}
	}
	return t
}

// placeOfTest returns where a test and its turns begin. A test without a list of turns has one, where it begins itself.
func placeOfTest(n source.Node) Location {
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

func (l *loader) turns(n source.Node, vars source.Value) []Turn {
	var turns []Turn
	for _, item := range n.List() {
		turns = append(turns, l.turn(item, vars))
	}
	return turns
}

func (l *loader) turn(n source.Node, vars source.Value) Turn {
	t := Turn{}
	n.Read(map[string]func(source.Node){
		"input":           func(n source.Node) { t.Input = l.content(n) },
		"expected_output": func(n source.Node) { t.Expected = l.reference(n) },
		"assertions":      func(n source.Node) { t.Assertions = l.readAssertions(n, vars) },
		"stubs":           func(n source.Node) { t.Stubs = readStubs(n) },
	})
	if n.Kind == source.Map && t.Input.Empty() {
		n.Field("input").Report("write what the user says in this turn", "the turn has no input")
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

// suiteInput, suiteFiles and suiteAssertions are read for each test, since their placeholders are filled from its variables.
// They report to the suite's own file.
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
	return l.readAssertions(n.With(scope{getenv: l.options.Getenv, vars: vars, prompts: true, kinds: l.options.Kinds}.expand(n)), vars)
}
