package grader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

// flowing is what the built-in flow shows after a turn.
const flowing = `{"previous_node_id":"a","current_node_id":"b","next_node_id":"b","transition":{"kind":"advanced","option_id":"x"},
	"next_node_descriptor":{"id":"b","type":"conversation","prompt":"Ask for the name.","options":[{"id":"opt_1","label":"Yes"},{"id":"opt_2","label":"No"}]},
	"flow_completed":false,
	"memory":{"turn_index":2,"facts":[{"key":"city","value":"Oslo","source_turn":1},{"key":"pet","value":"dog","deleted":true}],"summary":{}},
	"memory_delta":{"facts_added":[{"key":"city","value":"Oslo","source_turn":1}],"facts_updated":[{"key":"name","value":"Ann"}],"facts_deleted":[],"chunks_added":[]},
	"warnings":[]}`

// completed is what it shows at its end.
const completed = `{"current_node_id":null,"next_node_id":null,"next_node_descriptor":null,"flow_completed":true,"memory":{"turn_index":3,"facts":[]},"memory_delta":{}}`

// at is an exchange of one turn with that state.
func at(state string) *runner.Exchange {
	x := reply("fine")
	x.Reply.State = []byte(state)
	return x
}

type stateCase struct {
	yaml, state string
	score       float64
	code        result.Code
	says        string
}

func runStates(t *testing.T, cases []stateCase) {
	t.Helper()
	s := New(Config{})
	for _, tc := range cases {
		t.Run(tc.yaml+"/"+cutRunes(tc.state, 10), func(t *testing.T) {
			g := grade(t, one(t, s, tc.yaml), at(tc.state))
			if g.Score != tc.score || g.Code != tc.code ||
				!strings.Contains(g.Reason+g.Assertions[0].Evidence, tc.says) {
				t.Errorf("%s: %+v, want score %v, code %s and %q", tc.yaml, g, tc.score, tc.code, tc.says)
			}
		})
	}
}

func TestNextNode(t *testing.T) {
	const code = result.NodeMismatch
	runStates(t, []stateCase{
		{"{type: next_node, value: b}", flowing, 1, code, ""},
		{"{type: next_node, value: B}", flowing, 0, code, `wanted: the flow at "B"; got: "b"`},
		{"{type: next_node, value: [a, b]}", flowing, 1, code, ""},
		{
			"{type: next_node, value: [a, null]}", flowing, 0, code,
			`wanted: the flow at "a" or no node, having ended; got: "b"`,
		},
		{"{type: next_node, value: null}", flowing, 0, code, `got: "b"`},
		{"{type: next_node, value: null}", completed, 1, code, ""},
		{"{type: next_node, value: [a, null]}", completed, 1, code, ""},
		{"{type: next_node, value: b}", completed, 0, code, "got: no node, having ended"},
		{"{type: next_node, value: b}", "", 0, code, "got: the agent shows no flow state"},
		{"{type: next_node, value: null}", "", 0, code, "the agent shows no flow state"},
		{"{type: next_node, value: null}", `{"cart": 1}`, 0, code, "the agent shows no flow state"},
		{"{type: next_node, value: b}", `{"next_node_id": 3}`, 0, code, "no text: 3"},
		{"{type: next_node, value: b}", `[1`, 0, code, "the agent's state cannot be read"},
		{"{type: next_node, value: b}", `[1]`, 0, code, "the agent's state cannot be read"},
		{"{type: next_node, value: b}", `null`, 0, code, "no flow state"},
		{"{type: flow_completed}", completed, 1, code, ""},
		{"{type: flow_completed}", flowing, 0, code, "wanted: the flow completed; got: the flow not completed"},
		{"{type: flow_completed, value: false}", flowing, 1, code, ""},
		{"{type: flow_completed, value: false}", completed, 0, code, "wanted: the flow not completed"},
		{"{type: flow_completed, value: false}", "", 0, code, "no flow state"},
		{"{type: flow_completed, value: false}", "{}", 0, code, "no flow state"},
		{"{type: not_flow_completed}", flowing, 0, code, ""}, // turned round by the runner
	})
	x := at("")
	x.Reply.Node = "b"
	if g := grade(t, one(t, New(Config{}), "{type: next_node, value: b}"), x); g.Score != 1 {
		t.Errorf("a node without a state: %s", g.Reason)
	}
	runProblems(t, []problemCase{
		{"type: next_node", 1, 3, `needs "value"`},
		{"type: next_node\nvalue: ''", 2, 10, "the node has no id"},
		{"type: next_node\nvalue: []", 2, 3, "the list is empty"},
		{"type: next_node\nvalue: {a: b}", 2, 3, "expected text, got a mapping"},
		{"type: flow_completed\nvalue: maybe", 2, 10, "expected true or false"},
	})
}

func TestOptionsContains(t *testing.T) {
	const code = result.NodeMismatch
	runStates(t, []stateCase{
		{"{type: options_contains, value: [opt_1, {label: No}]}", flowing, 1, code, ""},
		{"{type: options_contains, value: [{id: opt_2, label: No}]}", flowing, 1, code, ""},
		{
			"{type: options_contains, value: [{id: opt_2, label: Yes}]}", flowing, 0, code,
			`no {"id":"opt_2","label":"Yes"} among {"id":"opt_1"`,
		},
		{
			"{type: options_contains, value: [opt_3]}", flowing, 0, code,
			`wanted: options {"id":"opt_3"}; got: no {"id":"opt_3"}`,
		},
		{"{type: options_contains, value: [opt_1]}", completed, 0, code, "no node: the flow has ended"},
		{
			"{type: options_contains, value: [opt_1]}", `{"next_node_descriptor": {"id": "b"}}`, 0, code,
			"among no options",
		},
		{"{type: options_contains, value: [opt_1]}", `{}`, 0, code, "no flow state"},
		{"{type: options_contains, value: [opt_1]}", ``, 0, code, "no flow state"},
	})
	runProblems(t, []problemCase{
		{"type: options_contains", 1, 3, `needs "value"`},
		{"type: options_contains\nvalue: []", 2, 3, "the list is empty"},
		{"type: options_contains\nvalue: opt_1", 2, 10, "expected a list"},
		{"type: options_contains\nvalue: [{}]", 2, 11, "the option says nothing"},
	})
}

func TestFacts(t *testing.T) {
	const code = result.FactDrift
	runStates(t, []stateCase{
		{"{type: facts, add: [{key: city, value: OSLO}]}", flowing, 1, code, ""},
		{"{type: facts, add: [city]}", flowing, 1, code, ""},
		{"{type: facts, add: [{key: City, value: Oslo}]}", flowing, 0, code, `no City = "Oslo"`},
		{
			"{type: facts, add: [{key: city, value: Rome}]}", flowing, 0, code,
			`wanted: facts added: city = "Rome"; got: no city = "Rome": city = "Oslo"`,
		},
		{"{type: facts, add: [{key: city, value: Oslo}, pet]}", flowing, 0, code, "no pet"},
		{"{type: facts, update: [city]}", flowing, 0, code, "wanted: facts updated: city; got: no city"},
		{"{type: facts, add: [x], update: [y]}", flowing, 0, code, "no y"},
		{"{type: facts, add: [city]}", completed, 0, code, "got: no city: no fact added"},
		{"{type: forbidden_facts, value: [price]}", flowing, 1, code, "1 live fact, none of them forbidden"},
		{"{type: forbidden_facts, value: [CITY]}", flowing, 0, code, `wanted: no fact CITY; got: city = "Oslo"`},
		{"{type: forbidden_facts, value: oslo}", flowing, 0, code, `city = "Oslo"`},
		{"{type: forbidden_facts, value: [pet, dog]}", flowing, 1, code, ""},
		{"{type: forbidden_facts, value: [{key: city, value: rome}]}", flowing, 1, code, ""},
		{"{type: forbidden_facts, value: [{key: city, value: oslo}]}", flowing, 0, code, ""},
		{"{type: forbidden_facts, value: [{key: oslo}]}", flowing, 1, code, ""},
		{"{type: forbidden_facts, value: [{value: oslo}]}", flowing, 0, code, `no fact with the value "oslo"`},
		{
			"{type: forbidden_facts, value: [{key: id, value: '9007199254740992'}]}",
			`{"memory": {"facts": [{"key": "id", "value": 9007199254740993}]}}`, 1, code, "",
		},
		{
			"{type: forbidden_facts, value: [{key: id, value: '9007199254740993'}]}",
			`{"memory": {"facts": [{"key": "id", "value": 9007199254740993}]}}`, 0, code, "",
		},
	})
	whole := at(flowing)
	whole.Turn = 0
	for yaml, score := range map[string]float64{
		"{type: facts, add: [{key: city, value: oslo}]}": 1, "{type: facts, update: [city]}": 1,
		"{type: facts, add: [pet]}": 0, "{type: facts, update: [name]}": 0,
	} {
		if g := grade(t, one(t, New(Config{}), yaml), whole); g.Score != score || g.Code != code {
			t.Errorf("%s of the whole conversation: %+v", yaml, g)
		}
	}
	runProblems(t, []problemCase{
		{"type: facts", 1, 3, "facts needs something to look for"},
		{"type: facts\nadd: []", 2, 3, "the list is empty"},
		{"type: facts\nadd: city", 2, 8, "expected a list"},
		{"type: facts\nadd: [{value: x}]", 2, 10, "a fact needs a key"},
		{"type: facts\nadd: [{key: a, val: x}]", 2, 18, `did you mean "value"?`},
		{"type: forbidden_facts", 1, 3, `needs "value"`},
		{"type: forbidden_facts\nvalue: []", 2, 3, "the list is empty"},
		{"type: forbidden_facts\nvalue: ['']", 2, 11, "says nothing"},
	})
}

// TestFactsBeforeAndAfter checks that facts are compared between the memories before and after a turn, whatever the
// agent reports of the change.
func TestFactsBeforeAndAfter(t *testing.T) {
	memory := func(facts string) string { return `{"memory": {"facts": [` + facts + `]}}` }
	const (
		lima, quito = `{"key": "city", "value": "Lima"}`, `{"key": "city", "value": "Quito"}`
		taken       = `{"key": "city", "value": "Lima", "deleted": true}`
		liar        = `{"memory": {"facts": []}, "memory_delta": {"facts_added": [` + lima + `], "facts_updated": [` +
			lima + `]}}`
		added     = "{type: facts, add: [{key: city, value: lima}]}"
		updated   = "{type: facts, update: [{key: city, value: quito}]}"
		anyUpdate = "{type: facts, update: [city]}"
		forbidden = "{type: forbidden_facts, value: [price]}"
	)
	for name, tc := range map[string]struct {
		yaml          string
		turn          int
		before, after string
		score         float64
		undecided     string
	}{
		"new in the first turn":         {added, 1, "", memory(lima), 1, ""},
		"new in a later turn":           {added, 2, memory(""), memory(lima), 1, ""},
		"a lying delta":                 {added, 2, memory(""), liar, 0, ""},
		"a lying delta of an update":    {anyUpdate, 2, memory(lima), liar, 0, ""},
		"known before":                  {added, 2, memory(lima), memory(lima), 0, ""},
		"seeded":                        {added, 1, "seed " + lima, memory(lima), 0, ""},
		"revived":                       {added, 2, memory(taken), memory(lima), 1, ""},
		"another value":                 {updated, 2, memory(lima), memory(quito), 1, ""},
		"another value than the seeded": {updated, 1, "seed " + lima, memory(quito), 1, ""},
		"the same value":                {anyUpdate, 2, memory(lima), memory(lima), 0, ""},
		"new is no update":              {anyUpdate, 2, memory(""), memory(lima), 0, ""},
		"several of one key":            {anyUpdate, 2, memory(lima + "," + quito), memory(lima + "," + quito), 0, ""},
		"no memory": {
			added, 2, memory(""), `{"memory_delta": {"facts_added": [` + lima + `]}}`, 0, "does not show",
		},
		"no facts":             {added, 2, memory(""), `{"memory": {}}`, 0, "does not show"},
		"no memory before":     {added, 2, "{}", memory(lima), 0, "before the turn"},
		"no state":             {added, 1, "", "", 0, "no flow state"},
		"unreadable":           {added, 1, "", `{"memory": 3}`, 0, "cannot be read"},
		"no memory to forbid":  {forbidden, 2, memory(""), "{}", 0, "does not show"},
		"no facts to forbid":   {forbidden, 2, memory(""), `{"memory": {}}`, 0, "does not show"},
		"no memory in the end": {added, 0, "", "{}", 0, "does not show"},
	} {
		x := at(tc.after)
		x.Turn = tc.turn
		if seed, seeded := strings.CutPrefix(tc.before, "seed "); seeded {
			x.Test.Start.Memory = []byte(`{"facts": [` + seed + `]}`)
		} else if tc.turn > 1 {
			x.Before = []byte(tc.before)
		}
		g, err := one(t, New(Config{}), tc.yaml).Grader.Grade(t.Context(), x)
		if (err != nil) != (tc.undecided != "") || err != nil && !strings.Contains(err.Error(), tc.undecided) ||
			g.Score != tc.score {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
}

// What an agent could not learn says nothing about the agent: the test is an error, not a failure. A fact that is there
// is there.
func TestFactsOfAStageThatDidNotRun(t *testing.T) {
	s := New(Config{})
	state := func(status string) string {
		return `{"memory": {"facts": [{"key": "pet", "value": "cat"}]}, "memory_delta": {"facts_added": [{"key": "pet", "value": "cat"}], "facts_updated": [], "stages": {"facts": "` + status + `"}}}`
	}
	for _, tc := range []struct {
		yaml, status string
		turn         int
		undecided    string
		score        float64
	}{
		{"{type: facts, add: [city]}", "disabled", 1, "is off", 0},
		{"{type: facts, update: [city]}", "error", 1, "failed", 0},
		{"{type: facts, add: [city]}", "error", 0, "failed", 0},
		{"{type: facts, add: [pet]}", "disabled", 1, "", 1},
		{"{type: facts, add: [pet]}", "error", 0, "", 1},
		{"{type: facts, add: [city]}", "ok", 1, "", 0},
		{"{type: facts, add: [city]}", "skipped", 1, "", 0},
	} {
		x := at(state(tc.status))
		x.Turn = tc.turn
		g, err := one(t, s, tc.yaml).Grader.Grade(t.Context(), x)
		if (err != nil) != (tc.undecided != "") || err != nil && !strings.Contains(err.Error(), tc.undecided) ||
			g.Score != tc.score {
			t.Errorf("%s with the stage %s: %+v, %v", tc.yaml, tc.status, g, err)
		}
	}
}

func TestState(t *testing.T) {
	runStates(t, []stateCase{
		{"{type: state, path: $.current_node_id, equals: b}", flowing, 1, result.NodeMismatch, ""},
		{
			"{type: state, path: transition.kind, equals: stayed}", flowing, 0, result.NodeMismatch,
			`wanted: state transition.kind equals "stayed"; got: "advanced"`,
		},
		{"{type: state, path: $.memory.turn_index, min: 2, max: 2.0}", flowing, 1, result.FactDrift, ""},
		{"{type: state, path: '$.memory.facts[0].value', contains: Rome}", flowing, 0, result.FactDrift, `got: "Oslo"`},
		{"{type: state, path: '$.warnings[0]', exists: false}", flowing, 1, result.NodeMismatch, ""},
		{"{type: state, path: $.cart}", flowing, 0, result.NodeMismatch, "nothing at that path"},
		{"{type: state, path: $.cart, exists: false}", "", 0, result.NodeMismatch, "the agent shows no state"},
		{"{type: state, path: $.cart}", "{", 0, result.NodeMismatch, "a state that is not JSON"},
		{"{type: state, path: $.id, matches: '^b+$'}", `{"id": "bb"}`, 1, result.NodeMismatch, ""},
		{
			"{type: state, path: $.id, equals: 9223372036854775809}", `{"id": 9223372036854775810}`, 0,
			result.NodeMismatch, "got: 9223372036854775810",
		},
		{
			"{type: state, path: '$.list[?(@.a == @.b)]'}", `{"list": [{"a": {}, "b": {}}]}`, 0, result.NodeMismatch,
			"nothing at that path",
		},
		{
			"{type: expression, value: 'state.id > 9000000000000000000'}", `{"id": 9223372036854775810}`, 1,
			result.AssistantContent, "",
		},
	})
	runProblems(t, []problemCase{
		{"type: state", 1, 3, `needs "path"`},
		{"type: state\npath: '$.['", 2, 9, "not a JSONPath"},
		{"type: state\npath: a\nequals: 1\ncontains: b", 4, 13, "contains cannot stand beside equals"},
	})
}

func TestMarker(t *testing.T) {
	runCases(t, []gradeCase{
		{"{type: marker, value: 👉}", "👉 What stage?", 1, "👉 in"},
		{"{type: marker, value: 👉}", "What stage? 💌", 0, "wanted: a marker 👉; got: 💌 in"},
		{"{type: marker, value: [👉, 👇]}", "Choose 👇", 1, ""},
		{"{type: marker, value: [👉, 👇]}", "Choose", 0, "wanted: a marker 👉 or 👇; got: no marker in"},
		{"{type: marker, value: 👉}", "👉🏽 you", 1, ""},
	})
	runProblems(t, []problemCase{
		{"type: marker", 1, 3, `needs "value"`},
		{"type: marker\nvalue: '!'", 2, 10, `"!" is no marker`},
		{"type: marker\nvalue: []", 2, 3, "the list is empty"},
	})
}

// A state made to be awkward is graded soon, and what is said about it stays short.
func TestHostileStates(t *testing.T) {
	size := 1 << 20
	if race.Enabled {
		size = 128 << 10
	}
	long := strings.Repeat("x", size)
	states := []string{
		strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		strings.Repeat(`{"next_node_descriptor":`, 5_000), `{"next_node_id":"` + long + `"}`,
		`{"next_node_descriptor":{"options":[` + strings.Repeat(`{"id":"a"},`, size/20) + `{"id":"b"}]}}`,
		`{"memory":{"facts":[` + strings.Repeat(`{"key":"k","value":"v"},`, size/20) + `{"key":"` + long +
			`","value":[1]}]},"memory_delta":{"facts_added":[{"key":"` + long + `"}]}}`,
	}
	s := New(Config{})
	for _, yaml := range []string{
		"{type: next_node, value: b}", "{type: flow_completed}", "{type: options_contains, value: [zz]}",
		"{type: facts, add: [zz]}", "{type: forbidden_facts, value: [v, k]}", "{type: state, path: $..key, equals: 1}",
	} {
		check := one(t, s, yaml)
		for _, state := range states {
			g, err := check.Grader.Grade(t.Context(), at(state))
			if reason := fmt.Sprint(g.Reason, err); len(reason) > 3_000 {
				t.Errorf("%s of %s: %d bytes of reason", yaml, cutRunes(state, 40), len(reason))
			}
		}
	}
}
