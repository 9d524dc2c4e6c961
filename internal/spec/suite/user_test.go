package suite_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func TestUser(t *testing.T) {
	tests := mustLoad(t, map[string]string{"suite.yaml": `
vars: {what: refund}
tests:
  - id: full
    vars: {nr: "98765", who: customer}
    turns: [{input: Hi, assertions: [{type: contains, value: a}]}]
    user:
      persona: An impatient {{ who }}
      goal: Get a {{ what }}
      facts: {order_number: "{{ nr }}", colour: 7}
      opening: I want my {{ what }}!
      style: short
      stop: ["No {{ what }} for good", {type: icontains, value: "{{ what }} is on its way"}]
      max_turns: 10
      model: openai:gpt-5-mini
      seed: 7
      temperature: 0.7
    every_turn: [{type: not_contains, value: "{{ who }}"}]
    assertions: [The refund was promised]
  - {id: least, user: {persona: somebody, facts: [one, two], stop: bye}}
`})
	full, least := tests[0], tests[1]
	u := *full.User
	if !full.Conversation || len(full.EveryTurn) != 1 || len(full.Turns[0].Assertions) != 2 ||
		len(full.Assertions) != 1 || full.MostTurns() != 10 {
		t.Errorf("full = %+v", full)
	}
	if len(u.StopWhen) != 1 || u.StopWhen[0].Params.Field("value").Scalar != "refund is on its way" ||
		full.EveryTurn[0].Params.Field("value").Scalar != "customer" {
		t.Errorf("assertions = %+v, %+v", u.StopWhen, full.EveryTurn)
	}
	u.StopWhen = nil
	want := suite.User{
		Persona: "An impatient customer", Goal: "Get a refund",
		Facts:   []suite.Fact{{Name: "order_number", Value: "98765"}, {Name: "colour", Value: "7"}},
		Opening: "I want my refund!", Style: "short", Stop: []string{"No refund for good"}, MaxTurns: 10,
		Model: "openai:gpt-5-mini", Seed: new(7), Temperature: new(0.7),
	}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Errorf("user (-want +got):\n%s", diff)
	}
	want = suite.User{
		Persona: "somebody", Facts: []suite.Fact{{Value: "one"}, {Value: "two"}}, Stop: []string{"bye"},
		MaxTurns: suite.DefaultUserTurns,
	}
	if diff := cmp.Diff(want, *least.User); diff != "" || !least.Conversation || len(least.Turns) != 0 {
		t.Errorf("user (-want +got):\n%s", diff)
	}
}

func TestUsers(t *testing.T) {
	tests := mustLoad(t, map[string]string{"suite.yaml": `
vars: {x: "1"}
tests:
  - id: list
    tags: [a]
    users: [{goal: "g {{ x }}"}, {name: angry, persona: p, model: "openai:m"}, {goal: h}]
    every_turn: [{type: contains, value: y}]
  - id: all
    depends_on: [list/angry]
    users:
      personas: [one, {name: old, text: "two {{ x }}"}]
      goals: [{text: buy}, {name: sell, text: sell it}]
      opening: Hello
      seed: 3
  - id: goals
    users: {goals: [a, b], persona: same}
  - id: personas
    users: {personas: [a]}
`})
	var got []string
	for _, test := range tests {
		got = append(got, fmt.Sprintf("%s %q %q %d", test.ID, test.User.Persona, test.User.Goal, len(test.EveryTurn)))
	}
	want := []string{
		`list/u1 "" "g 1" 1`, `list/angry "p" "" 1`, `list/u3 "" "h" 1`, `all/p1-g1 "one" "buy" 0`,
		`all/p1-sell "one" "sell it" 0`, `all/old-g1 "two 1" "buy" 0`, `all/old-sell "two 1" "sell it" 0`,
		`goals/g1 "same" "a" 0`, `goals/g2 "same" "b" 0`, `personas/p1 "a" "" 0`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tests (-want +got):\n%s", diff)
	}
	if u := tests[6].User; u.Opening != "Hello" || *u.Seed != 3 || u.MaxTurns != 10 ||
		tests[1].User.Model != "openai:m" {
		t.Errorf("shared keys = %+v", u)
	}
}

// A CSV file has the columns too, in JSON.
func TestUserColumns(t *testing.T) {
	tests := mustLoad(t, map[string]string{"suite.yaml": "tests: more.csv", "more.csv": `id,user,users,every_turn
a,"{""goal"":""g""}",,Is polite
b,,"[{""goal"":""g""},{""goal"":""h""}]","[{""type"":""contains"",""value"":""x""}]"
`})
	if len(tests) != 3 || tests[0].User.Goal != "g" || len(tests[0].EveryTurn) != 1 || tests[2].ID != "b/u2" {
		t.Errorf("tests = %+v", tests)
	}
}

// Everything that is wrong is said at once, at its place.
func TestUserProblems(t *testing.T) {
	for _, tc := range []struct{ name, yaml, want string }{
		{"keys", `tests:
- {id: a, user: {gaol: x}}
- {id: b, user: {style: x}}
- {id: c, user: {goal: x, max_turns: 0, temperature: 3, seed: x}}
- {id: d, user: {goal: x, max_turns: 101, opening: " ", facts: {n: [1]}, stop: [{type: contians}]}}
- {id: e, user: [x]}
- {id: f, user: {goal: "", persona: ok}}
`, `2 tests[0].user: a user needs a goal or a persona (add ` + "`goal:`" + ` with what the user wants, or ` +
			"`persona:`" + ` with who it is)
2 tests[0].user.gaol: unknown key "gaol" (did you mean "goal"?)
3 tests[1].user: a user needs a goal or a persona (add ` + "`goal:`" + ` with what the user wants, or ` + "`persona:`" +
			` with who it is)
4 tests[2].user.max_turns: 0 is too small (use 1 or more)
4 tests[2].user.temperature: 3 is out of range (use a number from 0 to 2)
4 tests[2].user.seed: expected a whole number, got "x" (write a whole number)
5 tests[3].user.max_turns: 101 is too large (use 1 to 100)
5 tests[3].user.opening: the text is empty (write the user's first message, or leave the key out)
5 tests[3].user.facts.n: expected text, got a list (write text, in quotes if it has special characters)
5 tests[3].user.stop[0]: unknown grader type "contians" (did you mean "contains"?)
6 tests[4].user: expected a mapping, got a list (write ` + "`key: value`" + ` pairs)
7 tests[5].user.goal: the text is empty (write what the user wants, or leave the key out)`},
		{
			"stop is decided by code", "tests:\n- {id: a, user: {goal: x, stop: [{type: rubrics, criteria: [y]}, " +
				"{type: composite, aggregator: {type: all}, assertions: [z]}]}}\n",
			`2 tests[0].user.stop[0]: the assertion rubrics asks a judge, and stop is decided by code (write it as a text for the user's model, or use a type that needs no judge)
2 tests[0].user.stop[1]: the assertion composite asks a judge, and stop is decided by code (write it as a text for the user's model, or use a type that needs no judge)`,
		},
		{"what goes together", `tests:
- {id: a, user: {goal: x}, users: [{goal: y}]}
- {id: b, user: {goal: x}, expected_output: y}
- {id: c, user: {goal: x}, turns: []}
- {id: d, input: x, every_turn: [y]}
- {id: e, user: {goal: x, max_turns: 1}, turns: [{input: y}, {input: z}]}
- {id: f, users: [{goal: x, max_turns: 1}], turns: [{input: y}, {input: z}]}
`, `2 tests[0].users: users stands beside user (keep one of the two)
3 tests[1].expected_output: a conversation has no expected_output of its own (move it into the turn that it belongs to)
4 tests[2].turns: the list of turns is empty (remove it: the user begins)
5 tests[3].every_turn: every_turn needs mode: conversation (add ` + "`mode: conversation`" + ` and ` + "`turns:`" +
			`, or remove the key)
6 tests[4].user.max_turns: the test has 2 turns, and its user may say 1 messages in all (raise max_turns, or remove turns)
7 tests[5].users[0].max_turns: the test has 2 turns, and its user may say 1 messages in all (raise max_turns, or remove turns)`},
		{"users", `tests:
- {id: a, users: []}
- {id: b, users: {goal: x}}
- {id: c, users: {goals: [], personas: [{name: n}], persona: y}}
- {id: d, users: [{goal: x, name: n}, {goal: y, name: n}]}
- {id: e, users: text}
- {id: f, users: [{goal: x}]}
- {id: f/u1, input: y}
- {id: g, input: y, depends_on: [f]}
- {id: h, user: {goal: x, name: n}}
`, `2 tests[0].users: the list of users is empty (add a user: ` + "`- goal: …`" + `)
3 tests[1].users: users needs personas or goals (add ` + "`personas:` or `goals:`" +
			` with a list, or write a list of users; a single one is ` + "`user:`" + `)
4 tests[2].users.goals: the list is empty (add a text, or {name, text})
4 tests[2].users.personas[0]: there is no text (add ` + "`text:`" + `)
4 tests[2].users.persona: persona stands beside personas (keep one of the two)
5 tests[3].users: two users are called "n" (give each a name of its own)
6 tests[4].users: expected a list, got text (write a list: each element on its own line behind ` + "`- `" + `)
8 tests[6].id: the id "f/u1" is used twice (ids must be unique in a suite; rename one)
9 tests[7].depends_on[0]: depends on "f", which is no test of this suite (its users make tests of their own: name one of them, such as f/u1)
10 tests[8].user.name: unknown key "name" (known: facts, goal, max_turns, model, opening, persona, seed, stop, style, temperature)`},
		{
			"variables", "vars: {x: 1}\ntests:\n- {id: a, user: {goal: " +
				"\"{{ y }}\", stop: [{type: contains, value: \"{{ output }}\"}]}}\n",
			"3 tests[0].user.goal: unknown variable {{ y }} (known: x)\n3 tests[0].user.stop[0].value: " +
				"unknown variable {{ output }} (known: x)",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			problems := problemsOf(t, tc.yaml)
			if diff := cmp.Diff(strings.Split(tc.want, "\n"), problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// problemsOf returns the problems of a suite as "line path: message (hint)".
func problemsOf(t *testing.T, yaml string) []string {
	t.Helper()
	path := t.TempDir() + "/suite.yaml"
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := suite.Load(path, suite.Options{
		Kinds: grader.New(grader.Config{}), Getenv: func(string) (string, bool) { return "", false },
	})
	problems, _ := suite.Problems(err)
	var out []string
	for _, p := range problems {
		out = append(out, fmt.Sprintf("%d %s: %s (%s)", p.Line, p.Path, p.Message, p.Hint))
	}
	return out
}
