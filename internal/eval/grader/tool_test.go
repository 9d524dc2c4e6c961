package grader

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// called is an exchange of one turn with these tool calls, each written "name {args}".
func called(calls ...string) *runner.Exchange {
	x := reply("done")
	for _, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		x.Reply.ToolCalls = append(x.Reply.ToolCalls, chat.ToolCall{Name: name, Args: json.RawMessage(args)})
	}
	return x
}

// runCalls grades assertions about tool calls; what fails does so with the code of tool calls.
func runCalls(t *testing.T, cases []callCase) {
	t.Helper()
	s := New(Config{})
	for _, tc := range cases {
		t.Run(tc.yaml+"/"+strings.Join(tc.calls, ","), func(t *testing.T) {
			g := grade(t, one(t, s, tc.yaml), called(tc.calls...))
			if g.Score != tc.score || g.Code != result.ToolArgsMismatch || !strings.Contains(g.Reason, tc.says) {
				t.Errorf("%s of %v: %+v, want score %v and %q", tc.yaml, tc.calls, g, tc.score, tc.says)
			}
		})
	}
}

type callCase struct {
	yaml  string
	calls []string
	score float64
	says  string
}

func TestToolCall(t *testing.T) {
	runCalls(t, []callCase{
		{"{type: tool_call, name: book}", []string{"book {}"}, 1, ""},
		{"{type: tool_call, name: book}", nil, 0, "wanted: first tool call book; got: no tool call"},
		{"{type: tool_call, name: book}", []string{"Book {}"}, 0, "got: Book"},
		{"{type: tool_call, name: book}", []string{"find {}", "book {}"}, 0, "first tool call book; got: find"},
		{"{type: tool_call, name: book, position: any}", []string{"find {}", "book {}"}, 1, ""},
		{"{type: tool_call, name: book, position: any}", []string{"a", "b"}, 0, "any tool call book; got: a, b"},
		{
			"{type: tool_call, name: book, position: last}", []string{"book {}", "find {}"}, 0,
			"last tool call book; got: find",
		},
		{"{type: tool-call, name: book, position: last}", []string{"find {}", "book {}"}, 1, ""},
		{"{type: tool_call, name: book, args: {n: 1}}", []string{`book {"n": 1.0, "x": 2}`}, 1, ""},
		{"{type: tool_call, name: book, args: {n: 9223372036854775809}}", []string{
			`book {"n": 9223372036854775810}`,
		}, 0, `wanted: first tool call book {"n":9223372036854775809}; got: book {"n":9223372036854775810}`},
		{"{type: tool_call, name: book, args: {n: 9223372036854775809}}", []string{
			`book {"n": 9223372036854775809}`,
		}, 1, ""},
		{
			"{type: tool_call, name: book, args: {n: 1}}", []string{`book {"n": "1"}`}, 0,
			`book {"n":1}; got: book {"n":"1"}`,
		},
		{"{type: tool_call, name: book, args: {n: x}}", []string{`book {"n": "X"}`}, 0, ""},
		{"{type: tool_call, name: book, args: {n: {a: {b: 1}}}}", []string{
			`book {"n": {"a": {"b": 1, "c": 2}, "d": 3}}`,
		}, 1, ""},
		{"{type: tool_call, name: book, args: {n: [{a: 1}, 2]}}", []string{`book {"n": [{"a": 1, "b": 2}, 2]}`}, 1, ""},
		{"{type: tool_call, name: book, args: {n: [1]}}", []string{`book {"n": [1, 2]}`}, 0, ""},
		{"{type: tool_call, name: book, args: {n: [1, 2]}}", []string{`book {"n": [2, 1]}`}, 0, ""},
		{"{type: tool_call, name: book, args: {n: null}}", []string{`book {"n": null}`}, 1, ""},
		{"{type: tool_call, name: book, args: {n: null}}", []string{`book {}`}, 0, ""},
		{"{type: tool_call, name: book, args: {}}", []string{`book`}, 1, ""},
		{"{type: tool_call, name: book, args: {n: 1}}", []string{`book {"n": `}, 0, `got: book "{\"n\": "`},
		{"{type: tool_call, name: book, args: {n: 9007199254740993}}", []string{`book {"n": 9007199254740992}`}, 0, ""},
	})
	runProblems(t, []problemCase{
		{"type: tool_call", 1, 3, `needs "name"`},
		{"type: tool_call\nname: ' '", 2, 9, "the name is empty"},
		{"type: tool_call\nname: a\nargs: [1]", 3, 3, "expected args, got a list"},
		{"type: tool_call\nname: a\nposition: middle", 3, 13, `unknown value "middle"`},
		{"type: tool_call\nname: a\narg: {}", 3, 3, `did you mean "args"?`},
	})
}

func TestToolCalls(t *testing.T) {
	const ab = "calls: [a, {name: b, args: {n: 1}}]}"
	runCalls(t, []callCase{
		{"{type: tool_calls, " + ab, []string{"a {}", `b {"n": 1}`}, 1, ""},
		{"{type: tool_trajectory, " + ab, []string{`b {"n": 1}`, "a {}"}, 0, "call 1 is b {\"n\":1}, not a"},
		{"{type: tool_calls, " + ab, []string{"a {}"}, 0, `got: a; missing: b {"n":1}`},
		{"{type: tool_calls, " + ab, []string{"a {}", `b {"n": 1}`, "c"}, 0, "not wanted: c"},
		{"{type: tool_calls, " + ab, nil, 0, `wanted: tool calls are these and no others in this order: a, b {"n":1}; got: no tool call; missing: a, b {"n":1}`},
		{"{type: tool_calls, calls: []}", nil, 1, ""},
		{"{type: tool_calls, calls: []}", []string{"a"}, 0, "got: a; not wanted: a"},
		{"{type: tool_calls, match: in_order, " + ab, []string{"x", "a", "y", `b {"n": 1, "m": 2}`, "z"}, 1, ""},
		{"{type: tool_calls, match: in-order, " + ab, []string{`b {"n": 1}`, "a"}, 0, `missing: b {"n":1} after a`},
		{"{type: tool_calls, match: in_order, " + ab, []string{"b"}, 0, "missing: a"},
		{"{type: tool_calls, match: any_order, " + ab, []string{`b {"n": 1}`, "a"}, 1, ""},
		{
			"{type: tool_calls, match: any_order, " + ab, []string{`b {"n": 2}`, "a"}, 0,
			`missing: b {"n":1}; not wanted: b {"n":2}`,
		},
		{"{type: tool_calls, match: any_order, calls: [a, a]}", []string{"a"}, 0, "missing: a"},
		{"{type: tool_calls, match: superset, " + ab, []string{`b {"n": 1}`, "x", "a"}, 1, ""},
		{
			"{type: tool_calls, match: superset, calls: [a, a]}", []string{"a", "b"}, 0,
			"at least these: a, a; got: a, b; missing: a",
		},
		{"{type: tool_calls, match: subset, " + ab, []string{"a"}, 1, ""},
		{"{type: tool_calls, match: subset, " + ab, nil, 1, ""},
		{
			"{type: tool_calls, match: subset, " + ab, []string{"a", "c"}, 0,
			"none but these: a, b {\"n\":1}; got: a, c; not wanted: c",
		},
		{"{type: tool_calls, match: subset, calls: [a]}", []string{"a", "a"}, 0, "not wanted: a"},
		{"{type: tool_calls, match: subset, calls: []}", []string{"a"}, 0, "not wanted: a"},
		{"{type: tool_calls, calls: [{name: a, args: {n: 1}, args_match: exact}]}", []string{`a {"n": 1.0}`}, 1, ""},
		{
			"{type: tool-trajectory, mode: in_order, expected: [{tool: a, args: {n: 1}}, {tool: b, args: any}]}",
			[]string{`a {"n": 1, "m": 2}`, "c", `b {"x": 1}`}, 1, "",
		},
		{"{type: tool_trajectory, mode: exact, expected: [{tool: a}]}", []string{"a", "b"}, 0, "not wanted: b"},
		{
			"{type: tool_trajectory, mode: exact, expected: [{tool: a, args: {n: 1, m: 2}, args_match: subset}]}",
			[]string{`a {"n": 1}`}, 1, "",
		},
		{
			"{type: tool_trajectory, mode: exact, expected: [{tool: a, args: {n: 1}, args_match: subset}]}",
			[]string{`a {"n": 1, "m": 2}`}, 0, "",
		},
		{
			"{type: tool_trajectory, mode: exact, expected: [{tool: a, args: {n: 1}, args_match: superset}]}",
			[]string{`a {"n": 1, "m": 2}`}, 1, "",
		},
		{"{type: tool_trajectory, mode: any_order, minimums: {a: 2, b: 1}}", []string{"a", "b", "c", "a"}, 1, ""},
		{
			"{type: tool_trajectory, mode: any_order, minimums: {a: 2, b: 1}}", []string{"a", "c"}, 0,
			"wanted: tool calls are at least 2 of a, at least 1 of b; got: a, c; only 1 of a, 0 of b",
		},
		{
			"{type: tool_trajectory, mode: superset, expected: [c], minimums: {a: 2}}", []string{"a", "a"}, 0,
			"missing: c",
		},
		{"{type: tool_calls, match: superset, calls: [c], minimums: {a: 2}}", []string{"a", "c"}, 0, "only 1 of a"},
		{"{type: not_tool_calls, minimums: {a: 2}}", []string{"a"}, 0, ""},
		{
			"{type: tool_calls, calls: [{name: a, args: {n: 1}, args_match: exact}]}", []string{`a {"n": 1, "m": 2}`},
			0, "call 1 is",
		},
		{"{type: tool_calls, calls: [{name: a, args_match: exact}]}", []string{`a {"m": 2}`}, 0, ""},
		{"{type: tool_calls, calls: [{name: a, args_match: exact}]}", []string{"a"}, 1, ""},
		{"{type: tool_calls, calls: [{name: a, args: {n: 1}, args_match: ignore}]}", []string{"a"}, 1, ""},
		{
			"{type: tool_calls, args_match: exact, calls: [{name: a, args: {n: 1}}]}", []string{`a {"n": 1, "m": 2}`},
			0, "",
		},
		// The call whose args may be anything must leave b {n: 1} to the one that needs it.
		{
			"{type: tool_calls, match: any_order, calls: [{name: b}, {name: b, args: {n: 1}}]}",
			[]string{`b {"n": 1}`, "b"}, 1, "",
		},
		{
			"{type: tool_calls, match: superset, calls: [{name: b, args: {n: 1}}, {name: b, args: {m: 1}}]}",
			[]string{`b {"n": 1, "m": 1}`, `b {"n": 1}`}, 1, "",
		},
	})
	runProblems(t, []problemCase{
		{"type: tool_calls", 1, 3, `needs "calls"`},
		{"type: tool_calls\ncalls: a", 2, 10, "expected a list"},
		{"type: tool_calls\nmatch: loose\ncalls: [a]", 2, 10, `unknown value "loose"`},
		{"type: tool_calls\nmatch: in_order\ncalls: []", 3, 3, "no call is wanted"},
		{"type: tool_calls\nmatch: superset\ncalls: []", 3, 3, "no call is wanted"},
		{"type: tool_calls\ncalls: ['']", 2, 11, "a call needs a name"},
		{"type: tool_calls\ncalls:\n  - args: {}", 3, 7, "a call needs a name"},
		{"type: tool_calls\ncalls:\n  - name: a\n    argz: {}", 4, 7, `did you mean "args"?`},
		{"type: tool_calls\ncalls:\n  - name: a\n    args_match: most", 4, 19, `unknown value "most"`},
		{"type: tool_calls\ncalls: [" + strings.Repeat("a, ", maxWantedCalls) + "a]", 2, 3, "more than 200 calls"},
	})
	many := make([]string, maxActualCalls+1)
	for i := range many {
		many[i] = "a"
	}
	runCalls(t, []callCase{{
		"{type: tool_calls, match: superset, calls: [a]}", many, 0, "got: 2001 tool calls, more than are compared",
	}})
}

// drawnCalls are wanted and actual calls of few names and args, so that many fit many.
func drawnCalls(t *rapid.T) (wanted []wantedCall, actual []actualCall) {
	args := func(label string) map[string]any {
		return rapid.MapOfN(rapid.SampledFrom([]string{"n", "m"}),
			rapid.Map(rapid.IntRange(0, 1), func(i int) any { return i }), 0, 2).Draw(t, label)
	}
	name := rapid.SampledFrom([]string{"a", "b"})
	for range rapid.IntRange(0, 5).Draw(t, "wanted") {
		w := wantedCall{
			name: name.Draw(t, "name"), args: args("args"),
			match: rapid.SampledFrom([]string{argsExact, argsPartial, argsIgnored}).Draw(t, "match"),
		}
		wanted = append(wanted, w)
	}
	for range rapid.IntRange(0, 5).Draw(t, "actual") {
		actual = append(actual, actualCall{name.Draw(t, "name"), args("args")})
	}
	return wanted, actual
}

func TestTrajectoryLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wanted, actual := drawnCalls(t)
		passes := map[string]bool{}
		for name, how := range trajectories() {
			passes[name] = how.vacuous && len(wanted) == 0 || how.compare(wanted, actual) == ""
		}
		for _, law := range []struct{ strong, weak string }{
			{"exact", "in_order"}, {"in_order", "superset"}, {"exact", "any_order"}, {"any_order", "superset"},
			{"any_order", "subset"},
		} {
			if passes[law.strong] && !passes[law.weak] {
				t.Fatalf("%s passes and %s does not: wanted %v, got %v", law.strong, law.weak, wanted, actual)
			}
		}
		if (passes["superset"] && passes["subset"]) != passes["any_order"] {
			t.Fatalf("any_order is not superset and subset: wanted %v, got %v", wanted, actual)
		}
	})
}

func TestPairAgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(0, 6).Draw(t, "n"), rapid.IntRange(0, 6).Draw(t, "m")
		fit := map[string]bool{}
		for i := range n {
			for j := range m {
				fit[fmt.Sprint(i, j)] = rapid.Bool().Draw(t, "fits")
			}
		}
		fits := func(i, j int) bool { return fit[fmt.Sprint(i, j)] }
		paired, taken := 0, map[int]bool{}
		for i, j := range pair(n, m, fits) {
			if j < 0 {
				continue
			}
			if !fits(i, j) || taken[j] {
				t.Fatalf("%d has the partner %d, which does not fit or is another's", i, j)
			}
			taken[j] = true
			paired++
		}
		if best := most(n, m, fits, map[int]bool{}); paired != best {
			t.Fatalf("%d are paired, %d can be", paired, best)
		}
	})
}

// most is the size of the best pairing of the last n things, found by trying all.
func most(n, m int, fits func(i, j int) bool, taken map[int]bool) int {
	if n == 0 {
		return 0
	}
	best := most(n-1, m, fits, taken)
	for j := range m {
		if !taken[j] && fits(n-1, j) {
			taken[j] = true
			best = max(best, 1+most(n-1, m, fits, taken))
			delete(taken, j)
		}
	}
	return best
}

// A value holds itself, and whatever is left of it when keys are taken away.
func TestHoldsLaws(t *testing.T) {
	leaf := rapid.SampledFrom([]any{nil, true, 1, 1.5, "x"})
	rapid.Check(t, func(t *rapid.T) {
		inner := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c"}), leaf)
		whole := map[string]any{}
		for key, value := range rapid.MapOf(rapid.SampledFrom([]string{"d", "e"}), inner).Draw(t, "whole") {
			whole[key] = value
		}
		if !contains(whole, whole) {
			t.Fatalf("%v does not hold itself", whole)
		}
		less := map[string]any{}
		for key, value := range whole {
			kept := map[string]any{}
			for k, v := range value.(map[string]any) {
				if rapid.Bool().Draw(t, "keep") {
					kept[k] = v
				}
			}
			less[key] = kept
		}
		if !contains(whole, less) {
			t.Fatalf("%v does not hold %v", whole, less)
		}
		if !sameJSON(less, whole) && contains(less, whole) {
			t.Fatalf("%v holds %v, which has more", less, whole)
		}
	})
}
