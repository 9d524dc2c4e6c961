package suite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func load(t *testing.T, files map[string]string) (*suite.Suite, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"CITY": "Oslo"}[name]
		return v, ok
	}
	return suite.Load(filepath.Join(dir, "suite.yaml"), suite.Options{Getenv: env})
}

func mustLoad(t *testing.T, files map[string]string) []*suite.Test {
	t.Helper()
	s, err := load(t, files)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	var tests []*suite.Test
	for test, err := range s.Tests() {
		if err != nil {
			t.Fatalf("Tests: %v", err)
		}
		tests = append(tests, test)
	}
	if len(tests) != s.Count {
		t.Errorf("Count = %d, but %d tests came", s.Count, len(tests))
	}
	return tests
}

func TestConversation(t *testing.T) {
	tests := mustLoad(t, map[string]string{"suite.yaml": `
name: trips
vars: {season: spring, budget: {usd: 3000}}
input: [{role: system, content: "You plan trips in {{ season }}."}]
assertions: [{type: contains, value: "{{ budget.usd }}"}]
execution: {threshold: 0.7, timeout: 30}
tests:
  - id: japan
    mode: conversation
    criteria: Helps with {{ place }}
    vars: {place: Japan, season: autumn}
    aggregation: min
    on_turn_failure: stop
    window_size: 2
    input: [{role: assistant, input: Welcome}]
    turns:
      - input: I want to see {{ place }} from ${{ CITY }}.
        expected_output: [{role: assistant, content: Kyoto}]
        assertions:
          - Names a region of {{ place }}
          - type: not-contains
            value: beach
            weight: 2
            required: true
          - Mentions the season
      - input: [{type: text, value: And the budget?}]
    execution: {trials: {count: 3, strategy: pass_all}, retries: 0}
`})
	got := tests[0]
	if got.Input[0].Content.Text != "You plan trips in autumn." || got.Input[1].Content.Text != "Welcome" {
		t.Errorf("Input = %v", got.Input)
	}
	if got.Turns[0].Input.Text != "I want to see Japan from Oslo." || got.Criteria != "Helps with Japan" {
		t.Errorf("placeholders are not filled: %q, %q", got.Turns[0].Input.Text, got.Criteria)
	}
	if diff := cmp.Diff([]chat.Block{{Type: "text", Value: "And the budget?"}}, got.Turns[1].Input.Blocks); diff != "" {
		t.Errorf("blocks mismatch (-want +got):\n%s", diff)
	}
	if got.Turns[0].Expected != "Kyoto" {
		t.Errorf("Expected = %q", got.Turns[0].Expected)
	}
	a := got.Turns[0].Assertions
	if len(a) != 2 || a[0].Type != "rubrics" || a[1].Type != "contains" || !a[1].Negate || a[1].Weight != 2 ||
		a[1].Required == nil {
		t.Fatalf("assertions = %+v", a)
	}
	criteria, _ := a[0].Params.Get("criteria")
	if diff := cmp.Diff([]any{"Names a region of Japan", "Mentions the season"}, criteria.Any()); diff != "" {
		t.Errorf("criteria mismatch (-want +got):\n%s", diff)
	}
	if got.Aggregation != suite.Min || !got.StopOnFailure || got.WindowSize != 2 || *got.Execution.Threshold != 0.7 ||
		got.Execution.Trials != (suite.Trials{Count: 3, Strategy: suite.PassAll}) || *got.Execution.Retries != 0 ||
		got.Execution.Timeout.Seconds() != 30 {
		t.Errorf("settings = %+v", got)
	}
	value, _ := got.Assertions[0].Params.Get("value")
	if value.Any() != 3000 {
		t.Errorf("a whole placeholder keeps its type; got %v", value)
	}
}

func TestSingleTurn(t *testing.T) {
	tests := mustLoad(t, map[string]string{"suite.yaml": `
assertions: [Is polite]
tests:
  - id: plain
    input: Hello
    expected_output: {greeting: hi}
    assertions: [{type: icontains, value: hi}]
  - id: messages
    input: [{role: system, content: S}, {role: user, content: U}]
    execution: {skip_defaults: true}
`})
	if got := tests[0]; len(got.Turns) != 1 || got.Turns[0].Input.Text != "Hello" ||
		got.Turns[0].Expected != `{"greeting":"hi"}` || len(got.Turns[0].Assertions) != 2 || len(got.Assertions) != 0 {
		t.Errorf("plain = %+v", got)
	}
	if got := tests[1]; len(got.Input) != 1 || got.Turns[0].Input.Text != "U" || len(got.Turns[0].Assertions) != 0 {
		t.Errorf("messages = %+v", got)
	}
}

// TestSkipDefaults holds that the suite's input and assertions stay away from a test that says so, and only from that.
func TestSkipDefaults(t *testing.T) {
	tests := mustLoad(t, map[string]string{"suite.yaml": `
input: [{role: system, content: S}, {role: user, content: earlier}]
assertions: [Is polite]
tests:
  - {id: with, mode: conversation, input: [{role: system, content: own}], turns: [{input: x}]}
  - {id: without, mode: conversation, input: [{role: system, content: own}], turns: [{input: x}], execution: {skip_defaults: true}}
  - {id: single, input: x, execution: {skip_defaults: true}}
`})
	for i, want := range []struct{ messages, assertions int }{{3, 1}, {1, 0}, {0, 0}} {
		if got := tests[i]; len(got.Input) != want.messages ||
			len(got.Assertions)+len(got.Turns[0].Assertions) != want.assertions {
			t.Errorf("%s: %d messages and %d assertions, want %+v", got.ID, len(got.Input), len(got.Assertions), want)
		}
	}
}

// TestEscapedPlaceholders holds that \{{ writes a plain {{, wherever placeholders are filled in.
func TestEscapedPlaceholders(t *testing.T) {
	tests := mustLoad(t, map[string]string{"suite.yaml": `
vars: {name: Ann, raw: '\{{ name }}'}
input: [{role: system, content: 'Templates look like \{{ name }}.'}]
tests:
  - id: a
    input: 'Hi {{ name }}, what is \{{ name }}, ${{ NOPE:-\}} and \{{?'
    assertions: [{type: contains, value: '\{{ name }}'}, {type: contains, value: '{{ raw }}'}, {type: contains, value: '\{{'}]
`})
	got := []string{tests[0].Input[0].Content.Text, tests[0].Turns[0].Input.Text}
	for _, a := range tests[0].Turns[0].Assertions {
		value, _ := a.Params.Get("value")
		got = append(got, value.Scalar)
	}
	want := []string{
		"Templates look like {{ name }}.", `Hi Ann, what is {{ name }}, \ and {{?`, "{{ name }}", "{{ name }}", "{{",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("texts mismatch (-want +got):\n%s", diff)
	}
}

func TestExternalTests(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"list", map[string]string{
			"suite.yaml": "tests: t.yaml", "t.yaml": "[{id: a, input: x}, {id: b, input: y}]",
		}, []string{"a:x", "b:y"}},
		{
			"mapping", map[string]string{"suite.yaml": "tests: file://t.yml", "t.yml": "tests: [{id: a, input: x}]"},
			[]string{"a:x"},
		},
		{"lines", map[string]string{
			"suite.yaml": "tests: t.jsonl", "t.jsonl": `{"id":"a","input":"x"}` + "\n\n" + `{"id":"b","input":"y"}`,
		}, []string{"a:x", "b:y"}},
		{
			"table with variables",
			map[string]string{
				"suite.yaml": "vars: {p: Hi}\ntests: t.csv",
				"t.csv":      "id,input,who,metadata.k\na,\"{{p}} {{who}}\",Ann,v\n",
			},
			[]string{"a:Hi Ann"},
		},
		{
			"folder in order of name",
			map[string]string{
				"suite.yaml": "tests: more", "more/b.yaml": "{id: b, input: y}",
				"more/a.jsonl": `{"id":"a","input":"x"}`, "more/notes.txt": "no",
			},
			[]string{"a:x", "b:y"},
		},
		{"glob", map[string]string{
			"suite.yaml": "tests: t*.yaml", "t1.yaml": "{id: a, input: x}", "t2.yaml": "{id: b, input: y}",
		}, []string{"a:x", "b:y"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, test := range mustLoad(t, tc.files) {
				got = append(got, test.ID+":"+test.Turns[0].Input.Text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("tests mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestProblems holds one faulty suite a row against the problems that must be reported, as "path line:column message
// hint" parts.
func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name, yaml string
		want       []string
	}{
		{"unknown key", "tests:\n- id: a\n  input: x\n  asserts: [y]\n", []string{
			`tests[0].asserts 4:3 unknown key "asserts" did you mean "assertions"?`,
		}},
		{"unknown key at the top", "test: []\n", []string{
			`test 1:1 unknown key "test" did you mean "tests"?`, `1:1 a suite needs tests`,
		}},
		{
			"turns without mode", "tests:\n- id: a\n  turns: [{input: x}]\n",
			[]string{`tests[0].turns 3:3 turns need mode: conversation`},
		},
		{"mode without turns", "tests:\n- id: a\n  mode: conversation\n", []string{
			`tests[0].mode 3:9 mode: conversation needs turns`,
		}},
		{
			"empty turns", "tests:\n- id: a\n  mode: conversation\n  turns: []\n",
			[]string{`tests[0].turns 4:3 mode: conversation needs turns`},
		},
		{
			"empty turn input", "tests:\n- id: a\n  mode: conversation\n  turns:\n  - input: \"  \"\n",
			[]string{`tests[0].turns[0].input 5:12 the turn has no input`},
		},
		{
			"missing turn input", "tests:\n- id: a\n  mode: conversation\n  turns:\n  - expected_output: x\n",
			[]string{`tests[0].turns[0].input 5:5 the turn has no input`},
		},
		{
			"turns with expected_output",
			"tests:\n- id: a\n  mode: conversation\n  expected_output: y\n  turns: [{input: x}]\n",
			[]string{`tests[0].expected_output 4:20 a conversation has no expected_output`},
		},
		{
			"aggregation without mode", "tests:\n- id: a\n  input: x\n  aggregation: min\n",
			[]string{`tests[0].aggregation 4:16 aggregation needs mode: conversation`},
		},
		{
			"on_turn_failure and window_size without mode",
			"tests:\n- id: a\n  input: x\n  on_turn_failure: stop\n  window_size: 2\n", []string{
				`tests[0].on_turn_failure 4:20 on_turn_failure needs`, `tests[0].window_size 5:16 window_size needs`,
			},
		},
		{
			"window_size of 0", "tests:\n- id: a\n  mode: conversation\n  window_size: 0\n  turns: [{input: x}]\n",
			[]string{`tests[0].window_size 4:16 0 is too small use 1 or more`},
		},
		{
			"unknown mode and aggregation",
			"tests:\n- id: a\n  mode: chat\n  aggregation: median\n  turns: [{input: x}]\n", []string{
				`tests[0].mode 3:9 unknown value "chat"`,
				`tests[0].aggregation 4:16 unknown value "median" use one of: mean, min, max`,
			},
		},
		{
			"duplicate id", "tests:\n- {id: a, input: x}\n- {id: a, input: y}\n",
			[]string{`tests[1].id 3:8 the id "a" is used twice`},
		},
		{"missing id and input", "tests:\n- criteria: x\n", []string{
			`tests[0].id 2:3 a test needs an id`, `tests[0] 2:3 a test needs an input`,
		}},
		{"unknown dependency", "tests:\n- {id: alpha, input: x}\n- {id: b, input: y, depends_on: [alphq]}\n", []string{
			`tests[1].depends_on[0] 3:34 depends on "alphq", which is no test of this suite did you mean alpha?`,
		}},
		{
			"cycle", "tests:\n- {id: a, input: x, depends_on: b}\n- {id: b, input: y, depends_on: a}\n",
			[]string{`tests[0].depends_on 2:33 tests depend on each other in a circle: a → b → a`},
		},
		{
			"self dependency", "tests:\n- {id: a, input: x, depends_on: [a]}\n",
			[]string{`tests[0].depends_on 2:21 tests depend on each other in a circle: a → a`},
		},
		{
			"criterion with a colon", "tests:\n- id: a\n  input: x\n  assertions:\n  - Agent: says hi\n",
			[]string{`tests[0].assertions[0] 5:5 an assertion needs a type`},
		},
		{
			"empty criterion", "tests:\n- id: a\n  input: x\n  assertions: [\"\"]\n",
			[]string{`tests[0].assertions[0] 4:16 the criterion is empty`},
		},
		{
			"unknown variable", "vars: {city: Oslo}\ntests:\n- {id: a, input: \"{{ citi }}\"}\n",
			[]string{`tests[0].input 3:18 unknown variable {{ citi }} did you mean "city"?`},
		},
		{
			"settings of a run in a test", "tests:\n- {id: a, input: x, execution: {workers: 2, budget_usd: 1}}\n",
			[]string{
				`tests[0].execution.workers 2:33 unknown key "workers"`,
				`tests[0].execution.budget_usd 2:45 unknown key "budget_usd"`,
			},
		},
		{
			"skip_defaults in a suite", "execution: {skip_defaults: true}\ntests:\n- {id: a, input: x}\n",
			[]string{`execution.skip_defaults 1:13 unknown key "skip_defaults"`},
		},
		{
			"an interval of one trial",
			"execution: {trials: {count: 1, strategy: confidence_interval}}\ntests:\n- {id: a, input: x}\n",
			[]string{`execution.trials.count 1:29 one trial has no confidence interval use 2 or more`},
		},
		{
			"an interval of one trial, in two places", "execution: {trials: {count: 5, strategy: " +
				"confidence_interval}}\ntests:\n- {id: a, input: x, execution: {trials: 1}}\n",
			[]string{`tests[0].execution.trials 3:41 one trial has no confidence interval`},
		},
		{
			"unset environment", "tests:\n- {id: a, input: \"${{ NOPE }}\"}\n",
			[]string{`tests[0].input 2:18 the environment variable NOPE is not set`},
		},
		{
			"last message is not the user's",
			"tests:\n- id: a\n  input: [{role: user, content: x}, {role: assistant, content: y}]\n",
			[]string{`tests[0].input 3:3 the last message of the input is not the user's`},
		},
		{
			"bad role", "tests:\n- id: a\n  input: [{role: robot, content: x}]\n",
			[]string{`tests[0].input[0].role 3:18 unknown value "robot"`},
		},
		{
			"wrong types", "execution: {threshold: 2, retries: -1, timeout: soon}\ntests:\n- {id: a, input: x}\n",
			[]string{
				`execution.threshold 1:24 2 is out of range`, `execution.retries 1:36 -1 is too small`,
				`execution.timeout 1:49 expected a positive time span`,
			},
		},
		{"not YAML", "tests: [\n", []string{`not valid YAML`}},
		{"duplicate key", "tests:\n- id: a\n  id: b\n  input: x\n", []string{`3:3 the key "id" is written twice`}},
		{"empty file", "", []string{`the file is empty`}},
		{"only a comment", "# nothing\n", []string{`the file is empty`}},
		{"no tests", "name: x\n", []string{`1:1 a suite needs tests`}},
		{"unreadable tests", "tests: nowhere.jsonl\n", []string{`tests 1:8 cannot read the tests`}},
		{
			"unreadable attachment",
			"tests:\n- id: a\n  input: [{role: user, content: [{type: file, value: no.txt}]}]\n",
			[]string{`tests[0].input[0].content[0].value 3:54 cannot read the attached file`},
		},
		{"two documents", "tests:\n- {id: a, input: x}\n---\nb: 1\n", []string{`4:1 a second document starts here`}},
		{"bad state", "tests:\n- id: a\n  input: x\n  state: {node: '', memory: {turn_index: -1, facts: [{key: A b, " +
			"value: x}, {key: a}], fact: []}}\n", []string{
			`tests[0].state.node 4:17 the node has no id`, `tests[0].state.memory.turn_index 4:42 -1 is too small`,
			`tests[0].state.memory.facts[0].key 4:60 "A b" is not the key of a fact use letters`,
			`tests[0].state.memory.facts[1] 4:77 a fact needs a key and a value`,
			`tests[0].state.memory.fact 4:87 unknown key "fact" did you mean "facts"?`,
		}},
		{"all at once", "nam: x\ntests:\n- {id: a}\n- {id: a, input: x, window_size: 1}\n", []string{
			`nam 1:1 unknown key`, `tests[0] 3:4 a test needs an input`, `tests[1].id 4:8 the id "a" is used twice`,
			`tests[1].window_size 4:34 window_size needs`,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, map[string]string{"suite.yaml": tc.yaml})
			problems, ok := suite.Problems(err)
			if !ok {
				t.Fatalf("Load = %v, want problems", err)
			}
			if len(problems) != len(tc.want) {
				t.Errorf("got %d problems, want %d:\n%v", len(problems), len(tc.want), problems)
			}
			for i, want := range tc.want {
				if i < len(problems) {
					p := problems[i]
					got := strings.TrimSpace(p.Path+" "+place(p.Line, p.Column)) + " " + p.Message + " " + p.Hint
					if !strings.Contains(got, want) {
						t.Errorf("problem %d\n got %s\nwant %s", i, got, want)
					}
					if p.Hint == "" || filepath.Base(p.File) != "suite.yaml" {
						t.Errorf("problem without hint or file: %+v", p)
					}
				}
			}
		})
	}
}

// TestWarningsDoNotHideFaults checks that a fault is found after more warnings than a suite keeps, and that warnings
// which matter at every place are not merged.
func TestWarningsDoNotHideFaults(t *testing.T) {
	var b strings.Builder
	b.WriteString("tests:\n")
	for i := range 1200 {
		fmt.Fprintf(&b,
			"- {id: t%d, input: a, assertions: [{type: unsupported, from: x, original: {type: y}, why: z}]}\n", i)
	}
	path := filepath.Join(t.TempDir(), "s.yaml")
	load := func(content string) (*suite.Suite, error) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return suite.Load(path, suite.Options{Kinds: grader.New(grader.Config{})})
	}
	s, err := load(b.String())
	if err != nil || len(s.Warnings) != 1001 || !strings.Contains(s.Warnings[0].Message, "more warnings") {
		t.Fatalf("%v, %d warnings", err, len(s.Warnings))
	}
	_, err = load(b.String() + "- {id: last, input: a, assertions: [{type: nonsense}]}\n")
	if problems, ok := suite.Problems(err); !ok || len(problems) != 1 || problems[0].Line != 1202 {
		t.Errorf("%v", err)
	}
}

func TestProblemsOfExternalFiles(t *testing.T) {
	_, err := load(t, map[string]string{
		"suite.yaml": "tests: t*",
		"t1.jsonl":   `{"id":"a","input":"x"}` + "\n" + `{"id":"b","inputt":"x"}` + "\n{bad\n",
		"t2.csv":     "id,imput\na,x\n",
		"t3.csv":     "id,input\na,x,y\n",
		"t4.yaml":    "tests: [{id: z, input: x}]\nvars: {}\n",
	})
	problems, _ := suite.Problems(err)
	var got []string
	for _, p := range problems {
		got = append(got, filepath.Base(p.File)+":"+place(p.Line, p.Column)+" "+p.Path+" "+p.Message)
	}
	want := []string{
		`t1.jsonl:2:1 tests[1] a test needs an input`,
		`t1.jsonl:2:11 tests[1].inputt unknown key "inputt"`,
		`t1.jsonl:3:2  not valid JSON: invalid character 'b' looking for beginning of object key string`,
		`t2.csv:1:4 imput unknown column "imput"`,
		`t3.csv:2:1  not valid CSV: wrong number of fields`,
		`t4.yaml:2:1 vars "vars" has no effect in a file of tests`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems mismatch (-want +got):\n%s", diff)
	}
}

func place(line, column int) string {
	if line == 0 {
		return ""
	}
	return strconv.Itoa(line) + ":" + strconv.Itoa(column)
}

func TestColumnsThatAreVariables(t *testing.T) {
	tests := mustLoad(t, map[string]string{
		"suite.yaml": "tests: t.csv", "t.csv": "id,input,age,code,model\na,{{age}} {{code}} {{model}},7,x,y\n",
	})
	if got := tests[0].Turns[0].Input.Text; got != "7 x y" {
		t.Errorf("input = %q", got)
	}
}
