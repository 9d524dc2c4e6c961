package suite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// TestAgentVExamples holds that suites of AgentV 4.x run as they are, unless they need what is refused.
func TestAgentVExamples(t *testing.T) {
	for _, tc := range []struct {
		file string
		want string
	}{
		{"trials/evals/dataset.eval.yaml", "2 tests"},
		{"suite-level-input-files/evals/dataset.eval.yaml", "3 tests"},
		{"external-datasets/evals/dataset.eval.yaml", "5 tests"},
		{"import-claude/evals/transcript-check.EVAL.yaml", "1 tests"},
		{"multi/dataset.eval.yaml", "3 tests"},
		{
			"refused/docker-example.EVAL.yaml",
			"workspace is refused, since no file system is prepared for a test (remove `workspace:`)",
		},
	} {
		s, err := suite.Load(filepath.Join("testdata/agentv", tc.file), suite.Options{
			Kinds: grader.New(grader.Config{}),
		})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%d tests", s.Count)
		}
		if !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s: %s, want %s", tc.file, got, tc.want)
		}
	}
}

// TestAgentVKeys holds what the keys of AgentV mean.
func TestAgentVKeys(t *testing.T) {
	s, err := load(t, map[string]string{
		"suite.yaml": `
$schema: https://example.com/s.json
author: Ada
version: "1.0"
governance: {risk: high}
metadata: {team: evals, author: Own}
input: [{role: system, content: Be kind.}]
input_files: [note.txt]
execution: {trials: {count: 3, cost_limit_usd: 0.5}}
tests:
  - id: one
    conversation_id: c1
    metadata: {k: v}
    input: "About {{ city }}?"
    vars: {city: Oslo}
    assert: [{type: contains, value: a}]
    evaluators: [is polite]
    rubrics: [{id: r, outcome: "names {{ city }}", weight: 2}]
    expected_output:
      - role: assistant
        name: searcher
        content: Sunny.
        tool_calls: [{tool: weather, input: {city: Oslo}}]
      - {role: tool, name: weather, content: 20 degrees}
      - {role: assistant, tool_calls: [{tool: bye}]}
  - id: two
    input: hi
    input_files: [other.txt]
    execution: {skip_defaults: true}
  - id: three
    input: hi
    execution: {skip_defaults: true}
  - id: four
    conversation_id: c2
    mode: conversation
    turns: [{input: first}, {input: second}]
  - cases/*.jsonl
  - file://more.yaml
`,
		"note.txt": "NOTE", "other.txt": "OTHER",
		"cases/a.jsonl": `{"id": "a", "input": "x"}`, "cases/b.jsonl": `{"id": "b", "input": "x"}`,
		"more.yaml": "- {id: more, input: x}",
	})
	if err != nil {
		t.Fatal(err)
	}
	wantMeta := map[string]any{
		"$schema": "https://example.com/s.json", "author": "Own", "version": "1.0",
		"governance": map[string]any{"risk": "high"}, "team": "evals",
	}
	if d := cmp.Diff(wantMeta, s.Metadata); d != "" {
		t.Errorf("metadata (-want +got):\n%s", d)
	}
	if len(s.Warnings) != 1 || s.Warnings[0].Line != 12 || !strings.Contains(s.Warnings[0].Message, "conversation_id") {
		t.Errorf("warnings = %v", s.Warnings)
	}
	byID := map[string]*suite.Test{}
	var ids []string
	for one, err := range s.Tests() {
		if err != nil {
			t.Fatal(err)
		}
		byID[one.ID] = one
		ids = append(ids, one.ID)
	}
	if d := cmp.Diff([]string{"one", "two", "three", "four", "a", "b", "more"}, ids); d != "" {
		t.Fatalf("ids (-want +got):\n%s", d)
	}
	one := byID["one"]
	if d := cmp.Diff(map[string]any{"conversation_id": "c1", "k": "v"}, one.Metadata); d != "" {
		t.Errorf("metadata of a test (-want +got):\n%s", d)
	}
	file := func(text string) chat.Block { return chat.Block{Type: "file", Value: text} }
	text := func(text string) chat.Block { return chat.Block{Type: "text", Value: text} }
	if d := cmp.Diff([]chat.Block{file("NOTE"), text("About Oslo?")}, one.Turns[0].Input.Blocks); d != "" {
		t.Errorf("input (-want +got):\n%s", d)
	}
	if want := "Sunny.\ntool call: {\"input\":{\"city\":\"Oslo\"},\"tool\":\"weather\"}\n\n" +
		"tool call: {\"tool\":\"bye\"}"; one.Turns[0].Expected != want {
		t.Errorf("expected output = %q, want %q", one.Turns[0].Expected, want)
	}
	var kinds []string
	for _, a := range one.Turns[0].Assertions {
		kinds = append(kinds, a.Type+" "+fmt.Sprint(a.Params.Field("criteria").Any()))
	}
	want := []string{"contains <nil>", "rubrics [is polite]", "rubrics [map[id:r outcome:names Oslo weight:2]]"}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Errorf("assertions (-want +got):\n%s", d)
	}
	if trials := one.Execution.Trials; trials.CostLimitUSD != 0.5 || trials.Count != 3 {
		t.Errorf("trials = %+v", trials)
	}
	if two := byID["two"]; len(two.Input) != 0 || two.Turns[0].Input.Blocks[0].Value != "OTHER" {
		t.Errorf("two: %+v", two)
	}
	if three := byID["three"]; len(three.Input) != 0 || three.Turns[0].Input.Text != "hi" {
		t.Errorf("three: %+v", three)
	}
	if four := byID["four"]; four.Turns[0].Input.Blocks[0].Value != "NOTE" || four.Turns[1].Input.Text != "second" {
		t.Errorf("four: %+v", four)
	}
}

// TestAgentVRefused holds that each refused key is one fault that says why and what to remove.
func TestAgentVRefused(t *testing.T) {
	_, err := load(t, map[string]string{"suite.yaml": `
workspace: {template: x, hooks: {before_all: {command: a}}}
preprocessors: [{type: xlsx, command: a}]
tests:
  - id: a
    workspace: {repos: []}
    hooks: {before_each: {command: a}}
    input: x
    assertions:
      - {type: skill-trigger, skill: s}
      - {type: llm-grader, prompt: Good?, preprocessors: [{type: xlsx, command: a}]}
  - id: b
    input: x
    rubrics: good
  - file://gone.yaml
  - id: c
    input: x
    input_files: [gone.txt]
    execution: {trials: {count: 2, cost_limit_usd: 0}}
`})
	comparePlaces(t, []string{
		"2 workspace workspace is refused, since no file system is prepared for a test",
		"3 preprocessors preprocessors is refused, since files are given to judges as they are",
		"6 tests[0].workspace workspace is refused, since no file system is prepared for a test",
		"7 tests[0].hooks hooks is refused, since no programs are run around a test",
		"10 tests[0].assertions[0].type skill-trigger is refused, since no coding agents are driven",
		"11 tests[0].assertions[1].preprocessors preprocessors is refused, since files are given to judges as they are",
		"14 tests[1].rubrics expected a list, got text",
		"15 tests cannot read the tests: no file matches gone.yaml",
		"18 tests[3].input_files[0] cannot read the attached file: gone.txt: no such file or directory",
		"19 tests[3].execution.trials.cost_limit_usd 0 is too small",
	}, err)
}
