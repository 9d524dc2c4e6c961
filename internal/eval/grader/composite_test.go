package grader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// opinions adds a kind that asks a pretended model: it scores what its parameter says and writes down that it was
// asked.
func opinions(s *Set, asked *[]string) *Set {
	for name, judged := range map[string]bool{"opinion": true, "fact": false} {
		s.kinds[name] = Kind{Name: name, Judged: judged, New: func(a *Args) runner.Grader {
			score := a.NumberOr("score", 0, -1, 1, "")
			return gradeFunc(func(context.Context, *runner.Exchange) (result.Grade, error) {
				*asked = append(*asked, name)
				use := result.JudgeUse{Calls: 1}
				if score < 0 {
					return result.Grade{Judge: use}, errors.New("no answer")
				}
				return result.Grade{
					Score: score, Judge: use, Code: result.QualityJudgeFail,
					Assertions: []result.Assertion{{Text: name, Passed: score >= 0.8}},
				}, nil
			})
		}}
	}
	return s
}

func TestComposite(t *testing.T) {
	var asked []string
	s := opinions(New(Config{}), &asked)
	const a1, a5, a0 = "{type: fact, score: 1}", "{type: fact, score: 0.5}", "{type: fact, score: 0}"
	for _, tc := range []struct {
		rest  string
		score float64
		says  string
	}{
		{
			"assertions: [" + a1 + ", " + a5 + "]", 0.75,
			"wanted: a weighted mean of 2 checks of at least 0.8; got: 0.75 because fact failed",
		},
		{"assertions: [" + a1 + ", " + a5 + "]\nthreshold: 0.7", 0.75, ""},
		{"graders: [{type: fact, score: 1, weight: 3}, " + a0 + "]", 0.75, "0.75"},
		{
			"assertions: [" + a1 + ", {type: fact, score: 0.5, required: true, name: safe}]", 0,
			"got: 0 because safe failed",
		},
		{"assertions: [" + a1 + ", {type: fact, score: 0.5, min_score: 0.6}]", 0.5, ""},
		{"assertions: [" + a1 + ", {type: not_fact, score: 0}]", 1, ""},
		{"assertions: [" + a1 + ", {type: not-fact, score: 1}]", 0.5, ""},
		{
			"mode: threshold\nassertions: [" + a1 + ", " + a5 + "]", 0.5,
			"wanted: a share of at least 0.8 of 2 checks to pass; got: 0.5 because fact failed",
		},
		{"mode: threshold\nthreshold: 0.5\nassertions: [" + a1 + ", " + a5 + "]", 0.5, ""},
		{"aggregator: {type: threshold, threshold: 0.5}\nassertions: [{type: fact, score: 0.6}, {type: fact, score: " +
			"0.6}]", 0, "got: 0 because fact, fact failed"},
		{"aggregator: {type: threshold, threshold: 0.5}\nassertions: [{type: fact, score: 0.6, threshold: 0.6}, " +
			"{type: fact, score: 0.6}]", 0.5, ""},
		{"aggregator: {type: threshold, threshold: 0.51}\nassertions: [{type: fact, score: 0.6, threshold: 0.6, " +
			"weight: 9}, {type: fact, score: 0.6}]", 0.5, "of at least 0.51"},
		{"aggregator: {type: threshold, threshold: 0.1}\nassertions: [" + a1 +
			", {type: fact, score: 0.5, required: true}]", 0, "got: 0"},
		{"mode: any\nassertions: [" + a1 + ", {type: fact, score: 0, required: 0}]", 1, ""},
		{"mode: all\nthreshold: 0\nassertions: [" + a5 + ", {type: fact, score: 0, required: 0}]", 0, ""},
		{"mode: all\nthreshold: 0.5\nassertions: [" + a5 + ", {type: fact, score: 1, required: 0}]", 0.5, ""},
		{"aggregator: {type: weighted_average}\nassertions: [" + a1 + ", " + a5 + "]", 0.75, ""},
		{"aggregator: {type: weighted_average, weights: {x: 3}}\nassertions: [" + a0 +
			", {type: fact, name: x, score: 1}]", 0.75, ""},
		{"aggregator: {type: any}\nassertions: [" + a1 + ", " + a0 + "]", 1, ""},
		{"mode: all\nassertions: [" + a1 + ", " + a5 + "]", 0.5, "each of 2 checks to score at least 0.8; got: 0.5"},
		{"mode: all\nassertions: [" + a1 + ", " + a1 + "]", 1, ""},
		{"mode: any\nassertions: [" + a5 + ", " + a0 + "]", 0.5, "one of 2 checks to score at least 0.8"},
		{"mode: any\nassertions: [" + a1 + ", {type: fact, score: 0.5, required: 0.6}]", 0, ""},
		{"mode: any\nassertions: [" + a1 + ", {type: fact, score: 0.5, required: 0.5}]", 1, ""},
		{"assertions: [{type: composite, mode: any, assertions: [" + a1 + ", " + a0 +
			"]}, {type: contains, value: hi}]", 1, ""},
	} {
		check := one(t, s, "type: composite\n"+tc.rest)
		g := grade(t, check, reply("hi"))
		if g.Score != tc.score || !strings.Contains(g.Reason, tc.says) {
			t.Errorf("%s: score %v, want %v, reason %q, want %q in it", tc.rest, g.Score, tc.score, g.Reason, tc.says)
		}
		if g.Reason == "" != check.Passes(g, 0.8) {
			t.Errorf("%s: passes %t with reason %q", tc.rest, check.Passes(g, 0.8), g.Reason)
		}
	}
}

func TestCompositeProblems(t *testing.T) {
	runProblems(t, []problemCase{
		{"type: composite", 1, 3, `needs "assertions"`},
		{"type: composite\nassertions: []", 2, 3, "the list is empty"},
		{"type: composite\nassertions: contains", 2, 15, "expected a list"},
		{"type: composite\nassertions:\n  - {type: contains}", 3, 8, `needs "value"`},
		{
			"type: composite\nassertions:\n  - {type: composite, assertions: [{type: regex, value: '('}]}", 3, 59,
			"not a valid pattern",
		},
		{"type: composite\nassertions:\n  - {value: 1}", 3, 8, "needs a type"},
		{"type: composite\nassertions:\n  - {type: nosuch}", 3, 14, "unknown grader type"},
		{"type: composite\nassertions: [{type: is_json}]\nmode: best", 3, 9, `unknown value "best"`},
		{"type: composite\nassertions: [{type: is_json}]\naggregator: {type: code-grader}", 3, 22, "unknown value"},
		{"type: composite\nassertions: [{type: is_json}]\nmode: all\naggregator: {type: all}", 4, 3, "say the same"},
		{
			"type: composite\nassertions: [{type: is_json}]\naggregator: {type: all, threshold: 0.5}", 3, 38,
			"only an aggregator of type threshold",
		},
		{"type: composite\nassertions: [{type: is_json}]\nthreshold: 0.5\naggregator: {type: threshold, threshold: " +
			"0.6}", 4, 44, "are the same"},
		{
			"type: composite\nassertions: [{type: is_json, name: a}]\naggregator: {weights: {b: 1}}", 3, 26,
			`unknown key "b"`,
		},
	})
	nested := "{type: is_json}"
	for range maxNesting + 1 {
		nested = "{type: composite, assertions: [" + nested + "]}"
	}
	problems := New(Config{}).Validate(read(t, "- "+nested, "")[0])
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "deeper than 10 levels") {
		t.Errorf("too deep: %v", problems)
	}
}

// Models are asked last, what they cost is summed, and every assertion is listed in the author's order with its type.
func TestCompositeAsksModelsLast(t *testing.T) {
	var asked []string
	s := opinions(New(Config{}), &asked)
	check := one(t, s, "type: composite\nassertions:\n  - {type: opinion, score: 0}\n  - {type: composite, "+
		"assertions: [{type: opinion, score: 1}]}\n  - {type: fact, score: 1}\n  - {type: latency, max_ms: 1}")
	if !check.Judged || one(t, s, "{type: composite, assertions: [{type: fact}]}").Judged {
		t.Error("a composite is judged exactly if a child is")
	}
	g := grade(t, check, reply("hi"))
	if d := cmp.Diff([]string{"fact", "opinion", "opinion"}, asked); d != "" {
		t.Errorf("order of asking (-want +got):\n%s", d)
	}
	if g.Judge.Calls != 3 {
		t.Errorf("%d calls counted, want 3", g.Judge.Calls)
	}
	var graders []string
	for _, a := range g.Assertions {
		graders = append(graders, a.Grader)
	}
	if d := cmp.Diff([]string{"opinion", "opinion", "fact", "latency"}, graders); d != "" {
		t.Errorf("graders of the assertions (-want +got):\n%s", d)
	}
	if g.Code != result.QualityJudgeFail {
		t.Errorf("code %s, want that of the child that failed", g.Code)
	}
}

// A child that cannot decide leaves the composite undecided, with what the judge has cost.
func TestCompositeUndecided(t *testing.T) {
	var asked []string
	check := one(t, opinions(New(Config{}), &asked),
		"{type: composite, mode: any, assertions: [{type: fact, score: 1}, {type: opinion, score: -1, name: taste}]}")
	g, err := check.Grader.Grade(context.Background(), reply("hi"))
	if err == nil || err.Error() != "taste: no answer" {
		t.Errorf("error %v", err)
	}
	if g.Judge.Calls != 2 || g.Score != 0 {
		t.Errorf("grade %+v", g)
	}
}

// The threshold of the test holds for what names none of its own.
func TestCompositeUsesTheTestsThreshold(t *testing.T) {
	var asked []string
	check := one(t, opinions(New(Config{}), &asked),
		"{type: composite, mode: threshold, assertions: [{type: fact, score: 0.5}]}")
	low := 0.5
	x := reply("hi")
	x.Test = &suite.Test{Execution: suite.Execution{Threshold: &low}}
	if g := grade(t, check, x); g.Score != 1 {
		t.Errorf("score %v (%s)", g.Score, g.Reason)
	}
}

// Every kind is documented, can be asked for its parameters, and reports what is missing instead of panicking.
func TestBuiltinIsComplete(t *testing.T) {
	s := New(Config{})
	names := map[string]bool{}
	for _, k := range Builtin() {
		if k.Name == "" || k.Doc == "" || k.Group == "" || k.New == nil {
			t.Errorf("%+v lacks something", k)
		}
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			if names[name] || strings.ContainsAny(name, "- ") || strings.HasPrefix(name, "not_") {
				t.Errorf("the name %q is taken, or cannot be written", name)
			}
			names[name] = true
		}
		if k.Group == TextGroup && !strings.Contains(k.Doc, "case") && k.Name != "word_count" {
			t.Errorf("%s does not say whether case counts", k.Name)
		}
		for _, p := range k.Params() {
			if p.Name == "" || p.Kind == "" || p.Doc == "" {
				t.Errorf("%s: the parameter %+v lacks something", k.Name, p)
			}
			if p.Required && len(s.Validate(suite.Assertion{Type: k.Name, Threshold: -1, Params: emptyParams()})) == 0 {
				t.Errorf("%s is valid without %s", k.Name, p.Name)
			}
		}
	}
	if got := s.Types(); len(got) != len(names) {
		t.Errorf("%d types, want %d", len(got), len(names))
	}
	groups := []Group{TextGroup, StructureGroup, BudgetGroup, ModelGroup, CombinationGroup}
	var seen []Group
	for _, k := range Builtin() {
		if slices.Contains(groups, k.Group) && !slices.Contains(seen, k.Group) {
			seen = append(seen, k.Group)
		}
	}
	if d := cmp.Diff(groups, seen); d != "" {
		t.Errorf("order of the groups (-want +got):\n%s", d)
	}
}

func emptyParams() source.Node {
	return (&source.Reader{}).Node(source.Value{Kind: source.Map}, "")
}

// One check serves many turns at once.
func TestGradersAreSafeForConcurrentUse(t *testing.T) {
	check := one(t, New(Config{}), `type: composite
assertions:
  - {type: regex, value: '\d'}
  - {type: is_json, schema: {properties: {a: {type: integer, minimum: 2}}}}
  - {type: json_path, path: '$.items[?(@.p > 1)].p', min: 2}
  - {type: expression, value: 'any(split(output, ","), # contains "a")'}
  - {type: field_accuracy, fields: [{path: a, expected: 1, match: numeric_tolerance}]}
  - {type: composite, mode: any, assertions: [{type: rouge, value: tea}, {type: not_icontains, value: TEA}]}`)
	x := reply(`{"a": 1, "items": [{"p": 1}, {"p": 2}]}`)
	want := grade(t, check, x)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if d := cmp.Diff(want, grade(t, check, x)); d != "" {
					t.Errorf("grade mismatch (-want +got):\n%s", d)
				}
			}
		})
	}
	group.Wait()
}

// Whatever is written as a parameter, building a check reports or works; it never panics.
func FuzzParameters(f *testing.F) {
	for _, text := range []string{
		"(", "(?=a)", "output ==", "all(input, #)", "$.a[?(@.b", "$..*", "$[(", "a\\", "'a b", "\xff", "file://x", "1",
		"",
	} {
		f.Add(text)
	}
	s := New(Config{})
	f.Fuzz(func(t *testing.T, text string) {
		for kind, names := range map[string][]string{
			"regex": {"value"}, "expression": {"value"}, "json_path": {"path"}, "command": {"command"}, "http": {"url"},
			"contains": {"value"}, "similar": {"value"},
		} {
			params := source.Value{Kind: source.Map}
			for _, name := range names {
				params.Fields = append(params.Fields, source.Field{Name: name, Value: source.Text(text)})
			}
			a := suite.Assertion{Type: kind, Threshold: -1, Params: (&source.Reader{}).Node(params, "")}
			check, err := s.Check(a)
			if err != nil || kind == "command" || kind == "http" {
				continue
			}
			for _, said := range []string{text, "", `{"a": [1, {"b": "x"}]}`} {
				if g, err := check.Grader.Grade(context.Background(), reply(said)); err == nil &&
					fmt.Sprint(g.Score) == "NaN" {
					t.Errorf("%s of %q: score %v", kind, text, g.Score)
				}
			}
		}
	})
}

// Whether a grader asks a model depends on its parameters for the kinds that say so, and for no others. So it is with
// what is outside of the program.
func TestKindsSayWhatTheirGradersNeed(t *testing.T) {
	for _, k := range Builtin() {
		args := &Args{
			Assertion: suite.Assertion{Type: k.Name, Threshold: -1},
			node:      (&source.Reader{}).Node(source.Value{Kind: source.Map}, ""), set: &Set{outside: &Outside{}},
		}
		g := k.New(args)
		_, judged := g.(interface{ Judged() bool })
		_, embeds := g.(interface{ Embeds() bool })
		if k.Varies != (judged || embeds) {
			t.Errorf("%s: Varies is %t, and its grader can say whether it asks a model: %t", k.Name, k.Varies,
				judged || embeds)
		}
		outside := args.set.outside.Program || args.set.outside.Addresses != nil || k.Name == "composite"
		if k.Outside != outside {
			t.Errorf("%s: Outside is %t, and its grader needs something outside: %t", k.Name, k.Outside, outside)
		}
	}
}
