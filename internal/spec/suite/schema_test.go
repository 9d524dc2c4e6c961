package suite_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return compiledAt(t, "")
}

// compiledAt is a part of the schema.
func compiledAt(t *testing.T, part string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(suite.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("suite.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("suite.schema.json" + part)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemaListsTheGraders holds the types of assertions in the schema equal to the table of graders, and that every
// way to write one is accepted: hyphens for underscores, and not_ before it.
func TestSchemaListsTheGraders(t *testing.T) {
	var schema struct {
		Defs struct {
			Types struct {
				AnyOf []struct {
					Enum    []string `json:"enum"`
					Pattern string   `json:"pattern"`
				} `json:"anyOf"`
			} `json:"assertion_type"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(suite.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	kinds := grader.New(grader.Config{})
	names := slices.Sorted(slices.Values(kinds.Types()))
	if ways := schema.Defs.Types.AnyOf; len(ways) != 2 {
		t.Fatalf("ways to write a type = %+v", ways)
	} else {
		if diff := cmp.Diff(names, ways[0].Enum); diff != "" {
			t.Errorf("enum mismatch (-graders +schema):\n%s", diff)
		}
		if diff := cmp.Diff("^(not[_-])?("+strings.ReplaceAll(strings.Join(names, "|"), "_", "[_-]")+")$",
			ways[1].Pattern); diff != "" {
			t.Errorf("pattern mismatch (-graders +schema):\n%s", diff)
		}
	}
	s := compiledAt(t, "#/$defs/assertion_type")
	for _, name := range names {
		for _, way := range []string{name, "not_" + name, "not-" + strings.ReplaceAll(name, "_", "-")} {
			if err := s.Validate(way); err != nil {
				t.Errorf("the schema refuses the type %s: %v", way, err)
			}
		}
	}
	if s.Validate("contans") == nil {
		t.Error("the schema accepts an unknown type")
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	for _, yaml := range []string{
		"{}", "tests: []", "tests: [{id: a}]", "tests: [{id: a, input: x, asserts: []}]",
		"tests: [{id: a, turns: [{input: x}]}]", "tests: [{id: a, mode: conversation}]",
		"tests: [{id: a, mode: conversation, turns: []}]",
		"tests: [{id: a, mode: conversation, expected_output: y, turns: [{input: x}]}]",
		"tests: [{id: a, input: x, window_size: 1}]", "tests: [{id: a, input: x, assertions: [{value: y}]}]",
		"tests: [{id: a, mode: conversation, window_size: 0, turns: [{input: x}]}]",
		"tests: [{id: a, user: {style: x}}]", "tests: [{id: a, user: {goal: x}, users: [{goal: x}]}]",
		"tests: [{id: a, user: {goal: x, max_turns: 101}}]", "tests: [{id: a, user: {goal: x}, turns: []}]",
		"tests: [{id: a, user: {goal: x}, expected_output: y}]", "tests: [{id: a, input: x, every_turn: [y]}]",
		"tests: [{id: a, users: []}]", "tests: [{id: a, users: {goal: x}}]", "tests: [{id: a, users: {goals: []}}]",
		"tests: [{id: a, users: {goals: [x], goal: y}}]", "tests: [{id: a, input: []}]",
		"tests: [{id: a, input: ' '}]", "tests: [{id: a, input: x, assertions: [{type: ''}]}]",
		"tests: [{id: a, mode: conversation, turns: [{input: ' '}]}]",
		"tests: [{id: a, mode: conversation, turns: [{input: []}]}]", "tests: [{id: a, users: {goals: [{name: x}]}}]",
		"tests: [{id: a, user: {goal: x, opening: ''}}]",
	} {
		if s.Validate(instance(t, yaml)) == nil {
			t.Errorf("the schema accepts %s", yaml)
		}
		if _, err := load(t, map[string]string{"suite.yaml": yaml}); err == nil {
			t.Errorf("the loader accepts %s", yaml)
		}
	}
}

func TestSchemaAcceptsUsers(t *testing.T) {
	s := compiled(t)
	for _, yaml := range []string{
		"tests: [{id: a, user: {goal: x, facts: {a: 1}, stop: [y, {type: contains, value: z}], max_turns: 100, seed: " +
			"-1, temperature: 0.5}, every_turn: [y]}]",
		"tests: [{id: a, mode: conversation, turns: [{input: x}], user: {persona: x, facts: [a], stop: {type: " +
			"contains, value: z}}, window_size: 1}]",
		"tests: [{id: a, users: [{goal: x}, {name: y, persona: z, stop: bye}]}]",
		"tests: [{id: a, users: {personas: [x, {name: y, text: z}], goals: [x], style: short}}]",
		"tests: [{id: a, mode: conversation, turns: [{input: x}], every_turn: [{type: contains, value: z}]}]",
	} {
		if err := s.Validate(instance(t, yaml)); err != nil {
			t.Errorf("the schema refuses %s: %v", yaml, err)
		}
		if _, err := load(t, map[string]string{"suite.yaml": yaml}); err != nil {
			t.Errorf("the loader refuses %s: %v", yaml, err)
		}
	}
}

func instance(t *testing.T, yaml string) any {
	t.Helper()
	v, err := source.ParseYAML("x", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v.Any())
	if err != nil {
		t.Fatal(err)
	}
	x, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// FuzzLoad holds that no file makes the loader panic, and that whatever it accepts can be read again without a fault.
func FuzzLoad(f *testing.F) {
	files, _ := filepath.Glob("../../../examples/*/suite.yaml") // seeds are welcome, not needed
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	f.Add([]byte("tests:\n- id: a\n  mode: conversation\n  vars: {x: &a [1]}\n  turns:\n  - input: '{{ x }} " +
		"${{ Y:-z }}'\n    assertions: [a, {type: not-contains, value: *a}]\n"))
	f.Add([]byte("tests: [{id: a, input: x, depends_on: [b]}, {id: b, input: [{role: user, content: [{type: text, " +
		"value: y}]}], depends_on: a}]"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "suite.yaml")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := suite.Load(path, suite.Options{Getenv: func(string) (string, bool) { return "", false }})
		if err != nil {
			if problems, ok := suite.Problems(err); !ok || len(problems) == 0 {
				t.Fatalf("Load = %v, want problems", err)
			}
			return
		}
		for test, err := range s.Tests() {
			if err != nil {
				t.Fatalf("accepted, but: %v", err)
			}
			if test.ID == "" || test.MostTurns() == 0 {
				t.Fatalf("accepted a test without id or turns: %+v", test)
			}
		}
	})
}
