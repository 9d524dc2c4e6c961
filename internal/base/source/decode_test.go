package source_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// point reads "X/Y".
type point struct{ text string }

func (p *point) DecodeNode(n source.Node) {
	if p.text = n.Text(); len(p.text) != 3 {
		n.Report("write X/Y", "%q is no point", p.text)
	}
}

type limits struct {
	Retries *int          `key:"retries" json:"Retries" minimum:"0" maximum:"9"`
	Timeout time.Duration `json:"timeout"`
	Cost    float64       `json:"cost" exclusiveMinimum:"0"`
}

type agent struct {
	limits
	Name   string            `json:"name" required:"an agent needs a name" notblank:"true" doc:"a name"`
	Mode   string            `json:"mode,omitempty" enum:"fast_path,slow"`
	Cache  string            `json:"cache" enum:"on,off,shared"`
	Strict bool              `json:"strict" alias:"all_must_pass"`
	Share  float64           `json:"share" minimum:"0" maximum:"1"`
	Tags   []string          `json:"tags"`
	Vars   map[string]string `json:"vars"`
	Steps  []limits          `json:"steps"`
	At     point             `json:"at"`
	Any    any               `json:"any"`
	Later  source.Node       `json:"later"`
	Old    string            `json:"old" removed:"mode"`
	Inner  string            `json:"-"`
}

func TestDecode(t *testing.T) {
	for _, tc := range []struct {
		name, yaml string
		want       agent
		problems   []string
	}{
		{name: "every key", yaml: `
name: bot
mode: fast-path
cache: true
all_must_pass: "true"
share: 0.5
tags: one
vars: {a: 1, b: x}
steps: [{retries: 3, timeout: 2m}, {cost: 0.1}]
at: 1/2
any: [1, {a: b}]
retries: 0
timeout: 5
old: null
`, want: agent{
			limits: limits{Retries: new(0), Timeout: 5 * time.Second},
			Name:   "bot", Mode: "fast_path", Cache: "on", Strict: true, Share: 0.5, Tags: []string{"one"},
			Vars: map[string]string{"a": "1", "b": "x"}, At: point{"1/2"},
			Steps: []limits{{Retries: new(3), Timeout: 2 * time.Minute}, {Cost: 0.1}},
			Any:   []any{1, map[string]any{"a": "b"}},
		}},
		{name: "nothing", yaml: "{}", problems: []string{"f:1:1: an agent needs a name (add `name:`, a name)"}},
		{name: "no mapping", yaml: "[a]", problems: []string{
			"f:1:1: expected a mapping, got a list (write `key: value` pairs)",
		}},
		{name: "faults in their order", yaml: `
old: 1
naem: x
name: " "
mode: medium
share: 2
cost: 0
steps: [{retries: 12}, 3]
at: far away
tags: {a: b}
later: [1]
Inner: x
strict: true
all_must_pass: false
`, want: agent{
			limits: limits{}, Name: " ", Strict: true, Steps: []limits{{Retries: new(9)}, {}}, At: point{"far away"},
		}, problems: []string{
			"f:2:6: old: removed: use mode",
			`f:3:1: naem: unknown key "naem" (did you mean "name"?)`,
			"f:4:7: name: the text is empty (write a name)",
			`f:5:7: mode: unknown value "medium" (use one of: fast_path, slow)`,
			"f:6:8: share: 2 is out of range (use a number from 0 to 1)",
			"f:7:7: cost: 0 is too small (use a number above 0)",
			"f:8:19: steps[0].retries: 12 is too large (use 0 to 9)",
			"f:8:24: steps[1]: expected a mapping, got a number (write `key: value` pairs)",
			`f:9:5: at: "far away" is no point (write X/Y)`,
			"f:10:1: tags: expected a list, got a mapping (write a list: each element on its own line behind `- `)",
			`f:12:1: Inner: unknown key "Inner" (known: all_must_pass, any, at, cache, cost, later, mode, name, retries, ` +
				`share, steps, strict, tags, timeout, vars)`,
			"f:14:16: all_must_pass: strict and all_must_pass are the same (keep one of the two)",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root, err := source.ParseYAML("f", []byte(tc.yaml))
			if err != nil {
				t.Fatal(err)
			}
			reader := &source.Reader{File: "f"}
			var got agent
			source.Decode(reader.Node(root, ""), &got)
			got.Later = source.Node{}
			unexported := cmp.AllowUnexported(agent{}, limits{}, point{}, source.Node{}, source.Value{})
			if diff := cmp.Diff(tc.want, got, unexported); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
			var problems []string
			for _, p := range reader.Problems {
				problems = append(problems, p.String())
			}
			if diff := cmp.Diff(tc.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsInOrder(t *testing.T) {
	a, b2 := source.Problem{File: "a", Line: 9}, source.Problem{File: "b", Line: 2}
	b12, b14 := source.Problem{File: "b", Line: 1, Column: 2}, source.Problem{File: "b", Line: 1, Column: 4}
	problems, want := source.Problems{b2, a, b14, b12}, source.Problems{b12, b14, b2, a}
	if diff := cmp.Diff(want, problems.InOrder()); diff != "" {
		t.Error(diff)
	}
}

func TestSchema(t *testing.T) {
	type steps struct {
		limits
		Name  string   `json:"name" required:"a step needs a name" notblank:"true" doc:"name of the step"`
		Cache string   `json:"cache" enum:"on,off"`
		Kinds []string `json:"kinds" alias:"types"`
		At    point    `json:"at" schema:"point"`
		Next  *steps   `json:"next"`
		Old   string   `json:"old" removed:"name"`
	}
	t0 := reflect.TypeFor[steps]()
	schema := source.Schema(t0, map[reflect.Type]string{t0: "step"})
	got, err := json.MarshalIndent(schema, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "schema.json", string(got))
}
