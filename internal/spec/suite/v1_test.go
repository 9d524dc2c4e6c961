package suite_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// sampleV1 is a complete suite of version 1, indented by tabs.
const sampleV1 = `{
	"version": "v1",
	"suite_id": "flow_customer_support_v1",
	"description": "Validate onboarding flow and correction logic",
	"metadata": { "owner": "team-xyz", "priority": "P1" },
	"defaults": {
		"max_turns": 20,
		"llm_judge": { "model": "gpt-5", "criteria": ["helpfulness", "faithfulness", "style"] }
	},
	"tests": [
		{
			"test_id": "start_handoff_path",
			"initial_node_id": "start",
			"seed": 42,
			"turns": [
				{
					"turn_id": "t1",
					"user_input": "Hello",
					"expected": {
						"tool_call": { "name": "process_node", "args.partial": { "current_node_id": "start" } },
						"next_node_id": "conv_1",
						"assistant_contains": ["welcome"],
						"facts_add": [ { "key": "user_greeting", "value": "hello" } ]
					}
				},
				{
					"turn_id": "t2",
					"user_input": "Option 2",
					"expected": {
						"next_node_id": "conv_2",
						"node_descriptor.options_contains": [ { "id": "opt_2" } ]
					}
				}
			],
			"final_assertions": {
				"flow_completed": false,
				"forbidden_facts": ["incorrect_price"],
				"judge_criteria": {
					"assistant_quality_min": 0.7
				}
			}
		}
	]
}
`

// loadV1 loads a file of that name and content, and checks every assertion with the built-in graders.
func loadV1(t testing.TB, name string, content []byte) (*suite.Suite, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return suite.Load(path, suite.Options{
		Kinds: grader.New(grader.Config{}), Getenv: func(string) (string, bool) { return "", false },
	})
}

func testsOf(t testing.TB, s *suite.Suite) []*suite.Test {
	t.Helper()
	var tests []*suite.Test
	for test, err := range s.Tests() {
		if err != nil {
			t.Fatal(err)
		}
		tests = append(tests, test)
	}
	return tests
}

// kindsOf writes assertions as "name=type", a negated one with a minus.
func kindsOf(assertions []suite.Assertion) []string {
	var kinds []string
	for _, a := range assertions {
		kind := a.Type
		if a.Negate {
			kind = "-" + kind
		}
		kinds = append(kinds, a.Name+"="+kind)
	}
	return kinds
}

func TestV1(t *testing.T) {
	s, err := loadV1(t, "sample.json", []byte(sampleV1))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "flow_customer_support_v1" || s.Description == "" || s.Metadata["owner"] != "team-xyz" ||
		s.Judge.Model != "gpt-5" || s.Judge.Provider != "openai" || s.Count != 1 {
		t.Errorf("suite = %+v", s)
	}
	got := testsOf(t, s)[0]
	if got.ID != "start_handoff_path" || !got.Conversation || got.Aggregation != suite.Min || got.StopOnFailure ||
		got.Start.Node != "start" || got.Execution.ShortCircuit == nil || !*got.Execution.ShortCircuit ||
		got.Execution.Retries != nil {
		t.Errorf("test = %+v", got)
	}
	if s := got.Sampling; s == nil || *s.Temperature != 0 || *s.TopP != 1 || *s.Seed != 42 {
		t.Errorf("sampling = %+v", s)
	}
	if len(got.Turns) != 2 || got.Turns[1].ID != "t2" || got.Turns[1].Input.Text != "Option 2" {
		t.Fatalf("turns = %+v", got.Turns)
	}
	want := []string{"tool_call=tool_call", "next_node_id=next_node", "assistant_contains=icontains", "facts_add=facts"}
	if diff := cmp.Diff(want, kindsOf(got.Turns[0].Assertions)); diff != "" {
		t.Errorf("turn 1 (-want +got):\n%s", diff)
	}
	want = []string{"next_node_id=next_node", "node_descriptor.options_contains=options_contains"}
	if diff := cmp.Diff(want, kindsOf(got.Turns[1].Assertions)); diff != "" {
		t.Errorf("turn 2 (-want +got):\n%s", diff)
	}
	want = []string{"flow_completed=flow_completed", "forbidden_facts=forbidden_facts", "judge_criteria=judge_criteria"}
	if diff := cmp.Diff(want, kindsOf(got.Assertions)); diff != "" {
		t.Errorf("whole (-want +got):\n%s", diff)
	}
	for _, a := range got.Turns[0].Assertions {
		if a.Required == nil {
			t.Errorf("%s is not required", a.Name)
		}
	}
}

const everyKeyV1 = `
version: "v1"
suite_id: every_key
defaults: {max_turns: 2, stop_on_failure: true, retries: 0, timeout: 5, threshold: 0.9, llm_judge: {model: scripted:j.yaml, criteria: [style]}}
tests:
  - test_id: full
    description: every key once
    seed: -7
    tags: [smoke]
    metadata: {tier: 1}
    stop_on_failure: false
    seeded_memory: {facts: [{key: city, value: 7, source_turn: 1}], summary: {chunks: [{id: c, level: 0, from_turn: 1, to_turn: 2, text: x}]}}
    turns:
      - user_input: "{{ not a placeholder }} ${{ NOR_THIS }}"
        expected:
          tool_calls: {match: any_order, calls: [{name: a, args.partial: {n: 1}}, {name: b, args: {}, args_match: exact}, c]}
          tool_sequence: [a, b]
          next_node_id: null
          assistant_not_contains: [x, y]
          assistant_matches: [a+, b+]
          assistant_similar: {text: hi, min: 0.5, method: lexical}
          facts_update: [{key: k, value: v}]
          judge_criteria: {style_min: 0.5}
      - user_input: bye
        expected: {assistant_contains: [], tool_sequence: [], judge_criteria: {}, forbidden: null}
    final_assertions:
      assistant_contains: bye
      tool_call: {name: a, args: {n: 1}}
      reward: 0.5
      expected_actions: [{name: a, kwargs: {}}]
      forbidden_facts: [a, {key: k, value: v}, {value: w}]
`

func TestV1EveryKey(t *testing.T) {
	s, err := loadV1(t, "every.yaml", []byte(strings.Replace(everyKeyV1, ", forbidden: null", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	got := testsOf(t, s)[0]
	want := []string{
		"tool_calls=tool_calls", "tool_sequence=tool_calls", "assistant_not_contains=-icontains_any",
		"assistant_matches=regex", "assistant_matches=regex", "assistant_similar=similar", "facts_update=facts",
		"judge_criteria=judge_criteria", "next_node_id=next_node",
	}
	if diff := cmp.Diff(want, kindsOf(got.Turns[0].Assertions)); diff != "" {
		t.Errorf("turn 1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"tool_sequence=tool_calls"}, kindsOf(got.Turns[1].Assertions)); diff != "" {
		t.Errorf("turn 2 (-want +got):\n%s", diff)
	}
	want = []string{"assistant_contains=icontains", "tool_call=tool_call", "forbidden_facts=forbidden_facts"}
	if diff := cmp.Diff(want, kindsOf(got.Assertions)); diff != "" {
		t.Errorf("whole (-want +got):\n%s", diff)
	}
	recorded := map[string]any{
		"reward": 0.5, "expected_actions": []any{map[string]any{"name": "a", "kwargs": map[string]any{}}},
	}
	if diff := cmp.Diff(map[string]any{"tier": 1, "description": "every key once", "recorded": recorded},
		got.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	const remembered = `{"turn_index":0,"facts":[{"key":"city","value":"7","source_turn":1}],"summary":{"level":0,"last_summarized_turn":0,` +
		`"chunks":[{"id":"c","level":0,"from_turn":1,"to_turn":2,"text":"x"}]}}`
	if string(got.Start.Memory) != remembered {
		t.Errorf("memory = %s", got.Start.Memory)
	}
	if e := got.Execution; got.StopOnFailure || *e.Retries != 0 || e.Timeout.Seconds() != 5 || *e.Threshold != 0.9 ||
		*got.Sampling.Seed != -7 {
		t.Errorf("settings = %+v", got)
	}
	if got.Turns[0].Input.Text != "{{ not a placeholder }} ${{ NOR_THIS }}" || s.Judge.Model != "scripted:j.yaml" ||
		got.Tags[0] != "smoke" {
		t.Errorf("test = %+v, judge %q", got, s.Judge.Model)
	}
}

// The same suite reads the same from every kind of file.
func TestV1Formats(t *testing.T) {
	v, err := source.ParseJSON("x", []byte(sampleV1), 1)
	if err != nil {
		t.Fatal(err)
	}
	yaml := []byte("# a comment\n" + strings.ReplaceAll(sampleV1, "\t", "  "))
	for name, content := range map[string][]byte{
		"a.json": []byte("\ufeff" + sampleV1), "b.yaml": yaml, "c.yml": yaml, "d.json.gz": packed(t, []byte(sampleV1)),
		"e.yaml.gz": packed(t, yaml), "f.json": yaml, "suite.json": []byte(sampleV1),
	} {
		s, err := loadV1(t, name, content)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tests, _ := v.Get("tests")
		if s.Count != len(tests.Items) || testsOf(t, s)[0].Turns[0].Assertions[0].Name != "tool_call" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if _, err := loadV1(t, "broken.json", []byte(`{"version": "v1",, "tests": []}`)); err == nil ||
		!strings.Contains(err.Error(), "broken.json:1:18: not valid JSON") {
		t.Errorf("broken JSON: %v", err)
	}
	if _, err := loadV1(t, "big.json.gz", packed(t, bytes.Repeat([]byte(" "), source.MaxBytes+1))); err == nil ||
		!strings.Contains(err.Error(), "larger than 64 MB") {
		t.Errorf("a file that unpacks to more than is read: %v", err)
	}
	if _, err := loadV1(t, "many.json", []byte("["+strings.Repeat("1,", 4_100_000)+"1]")); err == nil ||
		!strings.Contains(err.Error(), "more than 4000000 values") {
		t.Errorf("a file of too many values: %v", err)
	}
}

func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestV1Recordings loads recorded sessions of STAR and tau-bench, and holds them against the schema.
func TestV1Recordings(t *testing.T) {
	schema := compiled(t)
	for file, count := range map[string]int{"star_doctor_followup.json.gz": 20, "tau_airline.json.gz": 35} {
		path := filepath.Join("testdata", "v1", file)
		s, err := suite.Load(path, suite.Options{Kinds: grader.New(grader.Config{})})
		if err != nil || s.Count != count {
			t.Errorf("%s: %v, %+v", file, err, s)
		}
		packed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := text.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance(t, text.String())); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestV1Problems holds one faulty test a row against the problems that must be reported, each on line 4 from column 3
// on.
func TestV1Problems(t *testing.T) {
	const head, turn = "version: v1\ndefaults: {max_turns: 2}\ntests:\n- ",
		"{test_id: a, turns: [{user_input: x, expected: "
	expected := func(e string) string { return head + turn + "{" + e + "}}]}\n" }
	final := func(e string) string {
		return head + "{test_id: a, turns: [{user_input: x}], final_assertions: {" + e + "}}\n"
	}
	for _, tc := range []struct {
		name, yaml string
		want       []string
	}{
		{"unknown version", "version: v2\ntests: [{test_id: a}]\n", []string{
			`version 1:10 unknown version "v2" write version: "v1"`,
		}},
		{"number as version", "version: 1\ntests: [{test_id: a}]\n", []string{`version 1:10 unknown version "1"`}},
		{"no version", "suite_id: s\ntests: []\n", []string{`suite_id 1:11 a suite with a suite_id needs a version`}},
		{"no tests", "version: v1\n", []string{`1:1 a suite needs tests`}},
		{"empty tests", "version: v1\ntests: []\n", []string{`tests 2:1 the list of tests is empty`}},
		{"path as tests", "version: v1\ntests: x.json\n", []string{`tests 2:8 expected tests, got text`}},
		{"unknown keys at the top", "version: v1\nsuite_di: s\ndefaults: {llm_judge: {modell: x}}\ntests: [{test_id: " +
			"a, turns: [{user_input: x}]}]\n", []string{
			`suite_di 2:1 unknown key "suite_di" did you mean "suite_id"?`,
			`defaults.llm_judge.modell 3:24 unknown key "modell" did you mean "model"?`,
		}},
		{"empty names", "version: v1\nsuite_id: ''\ndefaults: {llm_judge: {model: ''}}\ntests: [{test_id: a, turns: " +
			"[{user_input: x}]}]\n", []string{
			`suite_id 2:11 the text is empty`, `defaults.llm_judge.model 3:31 the text is empty`,
		}},
		{"bad defaults", "version: v1\ndefaults: {max_turns: 0, retries: -1, timeout: 0, threshold: 3}\n" +
			"tests: [{test_id: a, turns: [{user_input: x}]}]\n", []string{
			`defaults.max_turns 2:23 0 is too small`, `defaults.retries 2:35 -1 is too small`,
			`defaults.timeout 2:48 expected a positive time span`, `defaults.threshold 2:62 3 is out of range`,
		}},
		{"a test in words", head + "hello\n", []string{`tests[0] 4:3 expected a test, got text`}},
		{"nothing of a test", head + "{}\n", []string{
			`tests[0].test_id 4:3 a test needs a test_id`, `tests[0] 4:3 a test needs turns`,
		}},
		{
			"duplicate test_id",
			head + "{test_id: a, turns: [{user_input: x}]}\n- {test_id: a, turns: [{user_input: x}]}\n",
			[]string{`tests[1].test_id 5:13 the id "a" is used twice`},
		},
		{"no turns", head + "{test_id: a, turns: []}\n", []string{
			`tests[0].turns 4:16 a test needs turns, and the list is empty`,
		}},
		{
			"too many turns", head + "{test_id: a, turns: [{user_input: x}, {user_input: x}, {user_input: x}]}\n",
			[]string{`tests[0].turns 4:16 3 turns are more than max_turns: 2`},
		},
		{"empty user_input", head + "{test_id: a, turns: [{user_input: ' '}, {turn_id: t2}]}\n", []string{
			`tests[0].turns[0].user_input 4:37 the turn has no user_input`,
			`tests[0].turns[1].user_input 4:44 the turn has no user_input`,
		}},
		{
			"user_input that is no text", head + "{test_id: a, turns: [{user_input: [x]}]}\n",
			[]string{`tests[0].turns[0].user_input 4:25 expected text, got a list`},
		},
		{
			"unknown key of a test and a turn", head + "{test_id: a, sead: 1, turns: [{user_input: x, expcted: {}}]}\n",
			[]string{
				`tests[0].sead 4:16 unknown key "sead" did you mean "seed"?`,
				`tests[0].turns[0].expcted 4:49 unknown key "expcted" did you mean "expected"?`,
			},
		},
		{
			"both memories", head + "{test_id: a, memory: {}, seeded_memory: {}, turns: [{user_input: x}]}\n",
			[]string{`tests[0].seeded_memory 4:28 memory and seeded_memory are the same`},
		},
		{"bad memory", head + "{test_id: a, memory: {turn_index: -1, facts: [{key: a}], summary: {chunks: [{id: " +
			"c}]}}, turns: [{user_input: x}]}\n", []string{
			`tests[0].memory.turn_index 4:37 -1 is too small`,
			`tests[0].memory.facts[0] 4:50 a fact needs a key and a value`,
			`tests[0].memory.summary.chunks[0] 4:80 a chunk of the summary needs level`, `needs from_turn`,
			`needs to_turn`, `needs text`,
		}},
		{"unknown expectation", expected("next_node_idd: a"), []string{
			`tests[0].turns[0].expected.next_node_idd 4:51 unknown key "next_node_idd" did you mean "next_node_id"?`,
		}},
		{"undotted key", expected("options_contains: [a]"), []string{
			`tests[0].turns[0].expected.options_contains 4:51 unknown key "options_contains"`,
		}},
		{"bad regex", expected(`assistant_matches: [a, "("]`), []string{
			`tests[0].turns[0].expected.assistant_matches[1] 4:74 not a valid pattern: missing closing )`,
		}},
		{"one bad regex", expected(`assistant_matches: "(?=x)"`), []string{
			`tests[0].turns[0].expected.assistant_matches 4:70 not a valid pattern`,
		}},
		{"bad min", expected("assistant_similar: {text: x, min: 1.5}"), []string{
			`tests[0].turns[0].expected.assistant_similar.min 4:85 1.5 is out of range`,
		}},
		{"similar to nothing", expected("assistant_similar: {min: 0.5}"), []string{
			`tests[0].turns[0].expected.assistant_similar 4:51 assistant_similar needs a text`,
		}},
		{
			"unknown method", expected("assistant_similar: {text: x, method: magic}"),
			[]string{`expected.assistant_similar.method 4:88 unknown value "magic"`},
		},
		{"empty text", expected("assistant_contains: [a, '']"), []string{
			`tests[0].turns[0].expected.assistant_contains[1] 4:75 the text is empty`,
		}},
		{
			"tool call without a name", expected("tool_call: {args.partial: {}}"),
			[]string{`tests[0].turns[0].expected.tool_call 4:51 tool_call needs "name"`},
		},
		{
			"unknown key of a tool call", expected("tool_call: {name: a, arg: {}}"),
			[]string{`tests[0].turns[0].expected.tool_call.arg 4:72 unknown key "arg" did you mean "args"?`},
		},
		{
			"args that are no mapping", expected("tool_call: {name: a, args.partial: 3}"),
			[]string{`tests[0].turns[0].expected.tool_call.args.partial 4:86 expected args, got a number`},
		},
		{
			"both args", expected("tool_call: {name: a, args.partial: {}, args: {}}"),
			[]string{`tests[0].turns[0].expected.tool_call.args 4:90 args.partial and args are the same`},
		},
		{"bad calls", expected("tool_calls: {match: loose, calls: [{nam: a}, {name: b, args.partial: 1}]}"), []string{
			`expected.tool_calls.match 4:71 unknown value "loose"`,
			`expected.tool_calls.calls[0].nam 4:87 unknown key "nam" did you mean "name"?`,
			`expected.tool_calls.calls[0] 4:87 a call needs a name`,
			`expected.tool_calls.calls[1].args.partial 4:120 expected args, got a number`,
		}},
		{
			"no calls", expected("tool_calls: {match: superset, calls: []}"),
			[]string{`expected.tool_calls.calls 4:81 no call is wanted`},
		},
		{"sequence in words", expected("tool_sequence: a"), []string{
			`expected.tool_sequence 4:66 expected a list, got text`,
		}},
		{"node that is no text", expected("next_node_id: [a]"), []string{
			`expected.next_node_id 4:51 expected a node, got a list`,
		}},
		{"empty node", expected("next_node_id: ''"), []string{`expected.next_node_id 4:65 the node has no id`}},
		{"fact without a key", expected("facts_add: [{value: x}, {key: a, valeu: b}]"), []string{
			`expected.facts_add[0] 4:64 a fact needs a key`,
			`expected.facts_add[1].valeu 4:84 unknown key "valeu" did you mean "value"?`,
		}},
		{
			"empty option", expected("node_descriptor.options_contains: [{}]"),
			[]string{`expected.node_descriptor.options_contains[0] 4:86 the option says nothing`},
		},
		{"bad criteria", expected("judge_criteria: {style_min: 7}"), []string{
			`expected.judge_criteria.style_min 4:79 7 is out of range`,
		}},
		{"criteria in words", expected("judge_criteria: polite"), []string{
			`expected.judge_criteria 4:67 expected criteria with their least scores, got text`,
		}},
		{"unknown final key", final("flow_complete: true"), []string{
			`tests[0].final_assertions.flow_complete 4:61 unknown key "flow_complete" did you mean "flow_completed"?`,
		}},
		{"bad final values", final("flow_completed: perhaps, forbidden_facts: [{}, {kee: a}]"), []string{
			`final_assertions.flow_completed 4:77 expected true or false`,
			`final_assertions.forbidden_facts[0] 4:104 the forbidden fact says nothing`,
			`forbidden_facts[1].kee 4:109 unknown key "kee" did you mean "key"?`,
			`forbidden_facts[1] 4:109 the forbidden fact says nothing`,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := loadV1(t, "suite.yaml", []byte(tc.yaml))
			problems, ok := suite.Problems(err)
			if !ok || len(problems) != len(tc.want) {
				t.Errorf("got %d problems, want %d:\n%v", len(problems), len(tc.want), err)
			}
			for _, want := range tc.want {
				if !reported(problems, want) {
					t.Errorf("no problem says %s, but\n%v", want, problems)
				}
			}
		})
	}
}

// reported looks for a problem with that "path line:column message hint" that has a hint and names the file.
func reported(problems source.Problems, want string) bool {
	for _, p := range problems {
		got := strings.TrimSpace(p.Path+" "+place(p.Line, p.Column)) + " " + p.Message + " " + p.Hint
		if strings.Contains(got, want) && p.Hint != "" && filepath.Base(p.File) == "suite.yaml" {
			return true
		}
	}
	return false
}

// What the schema says of v1 suites is what the loader does.
func TestV1Schema(t *testing.T) {
	s := compiled(t)
	for _, good := range []string{sampleV1, strings.Replace(everyKeyV1, ", forbidden: null", "", 1)} {
		if err := s.Validate(instance(t, strings.ReplaceAll(good, "\t", "  "))); err != nil {
			t.Errorf("the schema refuses a good suite: %v", err)
		}
	}
	const turns = "tests: [{test_id: a, turns: [{user_input: x"
	for _, yaml := range []string{
		"version: v2\ntests: [{test_id: a, turns: [{user_input: x}]}]", "version: v1", "version: v1\ntests: []",
		"version: v1\ntests: [{turns: [{user_input: x}]}]", "version: v1\ntests: [{test_id: a, turns: []}]",
		"version: v1\ntests: [{test_id: a, turns: [{user_input: ' '}]}]",
		"version: v1\n" + turns + ", expected: {next_node: a}}]}]",
		"version: v1\n" + turns + ", expected: {tool_call: {}}}]}]",
		"version: v1\n" + turns + ", expected: {judge_criteria: {a: 2}}}]}]",
		"version: v1\n" + turns + "}], memory: {turn_index: -1}}]",
		"version: v1\n" + turns + "}], final_assertions: {flow_completed: x}}]",
		"version: v1\n" + turns + ", expected: {assistant_similar: {text: a, min: 2}}}]}]",
		"version: v1\n" + turns + ", expected: {tool_call: {name: a, args: {}, args.partial: {}}}}]}]",
	} {
		if s.Validate(instance(t, yaml)) == nil {
			t.Errorf("the schema accepts %s", yaml)
		}
		if _, err := loadV1(t, "suite.yaml", []byte(yaml)); err == nil {
			t.Errorf("the loader accepts %s", yaml)
		}
	}
}

// FuzzV1 holds that no file makes the reader of v1 suites panic, that it has a sentence for whatever it refuses,
// and that whatever it accepts can be run.
func FuzzV1(f *testing.F) {
	f.Add([]byte(sampleV1))
	f.Add([]byte(everyKeyV1))
	f.Add([]byte(`{"version":"v1","tests":[{"test_id":1,"turns":[{"user_input":2,"expected":{"next_node_id":null,"args.partial":0}}],"final_assertions":[]}]}`))
	kinds := grader.New(grader.Config{})
	path := filepath.Join(f.TempDir(), "suite.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := suite.Load(path, suite.Options{
			Kinds: kinds, Getenv: func(string) (string, bool) { return "", false },
		})
		if err != nil {
			if problems, ok := suite.Problems(err); !ok || len(problems) == 0 {
				t.Fatalf("Load = %v, want problems", err)
			}
			return
		}
		for _, test := range testsOf(t, s) {
			if test.ID == "" || len(test.Turns) == 0 {
				t.Fatalf("accepted a test without id or turns: %+v", test)
			}
			for _, turn := range test.Turns {
				for _, a := range turn.Assertions {
					if _, err := kinds.Check(a); err != nil {
						t.Fatalf("accepted an assertion that cannot be made: %v", err)
					}
				}
			}
		}
	})
}
