package suite_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// program says what the program says of a suite.
func program(path string) error {
	env := func(string) (string, bool) { return "1", true }
	_, err := suite.Load(path, suite.Options{Kinds: grader.New(grader.Config{}), Getenv: env, Now: func() time.Time {
		return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	}})
	return err
}

// TestSchemaAcceptsWhatTheProgramAccepts holds every suite of the repository, those within its scripts too, against the
// schema. REHEARSE_SHARED_DATA may name a folder with more.
func TestSchemaAcceptsWhatTheProgramAccepts(t *testing.T) {
	roots := []string{
		"../../../examples", "../../../cmd/rehearse/starter", "../../../internal",
		unpacked(t, "../../../testdata/script"),
	}
	if shared := os.Getenv("REHEARSE_SHARED_DATA"); shared != "" {
		roots = append(roots, shared)
	}
	s := compiled(t)
	accepted := 0
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"},
				strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz")))) {
				return err
			}
			if info, err := d.Info(); err != nil || info.Size() > 1<<20 || program(path) != nil {
				return nil //nolint:nilerr // those that the program accepts are looked at
			}
			accepted++
			if err := s.Validate(written(t, path)); err != nil {
				t.Errorf("%s: the program accepts it, the schema does not: %v", path, short(err))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if accepted < 200 {
		t.Errorf("only %d suites were compared", accepted)
	}
	t.Logf("%d suites", accepted)
}

// unpacked writes the files of each archive below a folder of its own.
func unpacked(t *testing.T, folder string) string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no scripts in %s: %v", folder, err)
	}
	dir := t.TempDir()
	for _, archive := range archives {
		a, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			path := filepath.Join(dir, filepath.Base(archive), filepath.FromSlash(f.Name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// written is the document of a suite as a validator of schemas reads it.
func written(t *testing.T, path string) any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var unpacked *gzip.Reader
		if unpacked, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(unpacked)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return instance(t, string(data))
}

// everything has all that a conversation suite may have, and everyV1 all of a v1 suite.
const (
	everything = `
name: all
description: d
tags: [a]
vars: {v: 1}
metadata: {m: {n: 1}}
stubs: {api: {result: {a: 1}}, other: [{error: no}]}
input: [{role: system, content: be kind}]
assertions: [polite, {type: not-contains-any, value: [x, y], weight: 2, required: 0.5, min_score: 0.1, negate: false, threshold: 0.5, name: n}]
target: t
targets: [u]
judge: {model: m, secondary: s, samples: 2, complexity: 3, canary: true}
execution: {workers: 2, threshold: 0.5, trials: {count: 2, strategy: pass_at_k, cost_limit_usd: 1}, retries: 1, timeout: 3s, conversation_timeout: 60, budget_usd: 1, cache: false, short_circuit: true, all_must_pass: "true"}
tests:
- id: single
  criteria: c
  input: [{role: user, content: [{type: text, value: hi}]}]
  expected_output: yes
  state: {node: n, memory: {turn_index: 1, facts: [{key: a, value: b, source_turn: 0, confidence: 0.5, deleted: false, previous: [{value: c, source_turn: 0}]}], summary: {level: 0, last_summarized_turn: 0, chunks: [{id: a, level: 0, from_turn: 1, to_turn: 1, text: x, sources: [y]}]}}}
  quarantine: {owner: o, until: "2030-02-01", reason: r}
  depends_on: [talk]
  on_dependency_failure: run
  execution: {target: t, threshold: 0.5, trials: 2, skip_defaults: true}
  assertions:
  - {type: regex, value: a, flags: i}
  - {type: word_count, min: 1, max: 3}
  - {type: bleu, value: a, n: 2}
  - {type: similar, value: a, method: lexical, min: 0.5}
  - {type: is_json, schema: {type: object}, fenced: true}
  - {type: json_path, path: $.a, equals: {b: 1}}
  - {type: field_accuracy, fields: [{path: $.a, match: numeric_tolerance, expected: 1, weight: 2, required: true, tolerance: 1, relative: true}, {path: $.b, match: date, expected: x, formats: [YYYY]}], aggregation: all_or_nothing}
  - {type: label, value: [a], labels: [a, b]}
  - {type: expression, value: "true"}
  - {type: tool_call, name: f, args: {a: 1}, position: any}
  - {type: tool_trajectory, mode: any_order, expected: [f, {tool: g, args: {a: 1}, args_match: [a]}, {name: h, args: any}], args_match: exact}
  - {type: tool_calls, minimums: {f: 2}}
  - {type: next_node, value: null}
  - {type: options_contains, value: [a, {label: b}]}
  - {type: facts, add: [{key: a, value: b}, c], update: [d]}
  - {type: forbidden_facts, value: [a, {key: b}]}
  - {type: flow_completed, value: false}
  - {type: state, path: $.a, min: 1, max: 2}
  - {type: marker, value: 👉}
  - {type: latency, threshold: 900}
  - {type: cost, budget: 1}
  - {type: token_usage, max_total: 9}
  - {type: execution_metrics, max_tokens: 9}
  - {type: turn_count, min: 1}
  - {type: judge, prompt: "rate {{output}}"}
  - {type: llm_rubric, criteria: c, rubrics: [{id: a, outcome: b, weight: 2, operator: contradiction, required: true, score_ranges: [{score_range: [0, 5], outcome: low}]}]}
  - {type: rubrics, criteria: [a, {outcome: b, min_score: 0.5, score_ranges: {0: bad, 10: good}}]}
  - {type: judge_criteria, criteria: {helpfulness: 0.7}, average_of: [style]}
  - {type: composite, graders: [x, {type: contains, value: y, name: k}], aggregator: {type: weighted_average, weights: {k: 2}}}
  - {type: command, command: [a], cwd: ., config: {x: 1}, timeout: 3s}
  - {type: code-grader, command: a, anything: {x: 1}}
  - {type: http, url: "http://127.0.0.1:1/", config: 1, timeout: 1}
- id: talk
  mode: conversation
  aggregation: min
  on_turn_failure: stop
  window_size: 2
  turns: [{input: hi, expected_output: [{role: assistant, content: x}], assertions: [x], stubs: {api: {result: 1}}}, {input: [{type: text, value: more}]}]
  every_turn: [x]
  user: {persona: p, goal: g, facts: {a: b}, opening: o, style: s, stop: [bye, {type: contains, value: bye}], max_turns: 4, model: m, seed: 1, temperature: 0.5}
- id: crowd
  users: {personas: [p, {name: q, text: r}], goals: [g], max_turns: 4}
`
	everyV1 = `
version: v1
suite_id: s
description: d
metadata: {m: 1}
stubs: {api: {result: 1}}
defaults: {max_turns: 9, stop_on_failure: true, retries: 1, timeout: 3, threshold: 0.5, llm_judge: {model: m, criteria: [helpfulness]}}
tests:
- test_id: a
  description: d
  initial_node_id: n
  seed: 1
  seeded_memory: {turn_index: 1, facts: [{key: a, value: b}]}
  turns:
  - turn_id: t
    user_input: hi
    stubs: {api: {error: no}}
    expected: {tool_call: {name: f, args.partial: {a: 1}}, tool_calls: {match: in_order, calls: [f, {name: g, args: {a: 1}, args_match: exact}]}, next_node_id: n, assistant_contains: a, assistant_not_contains: [b], assistant_matches: c, assistant_similar: {text: a, min: 0.5, method: lexical}, facts_add: [{key: a, value: b}], facts_update: [c], node_descriptor.options_contains: [a], judge_criteria: {helpfulness_min: 0.5}}
  final_assertions: {flow_completed: true, forbidden_facts: [a, {key: b}], judge_criteria: {helpfulness_min: 0.5}, reward: 1, expected_actions: []}
  tags: [a]
`
)

// TestSchemaAndProgramAgree changes whole suites in one place after another: a key that nobody knows, a value of
// another kind, nothing, an empty text or list, a placeholder. What the program accepts the schema accepts, and a key
// that one of them refuses the other refuses, too.
func TestSchemaAndProgramAgree(t *testing.T) {
	s := compiled(t)
	file := filepath.Join(t.TempDir(), "suite.json")
	for name, whole := range wholes(t) {
		t.Run(name, func(t *testing.T) {
			judged := func(at string) (byProgram, bySchema error) {
				data, err := json.Marshal(whole)
				if err == nil {
					err = os.WriteFile(file, data, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				fresh, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				return program(file), s.Validate(fresh)
			}
			if p, v := judged(""); p != nil || v != nil {
				t.Fatalf("the suite is refused: program %v, schema %v", p, v)
			}
			changes, looser := 0, map[string]int{}
			each(whole, "", func(at string, put func(any) (undo func()), old any) {
				for _, change := range changesOf(old) {
					undo := put(change.value)
					p, v := judged(at)
					undo()
					changes++
					switch {
					case p == nil && v != nil:
						t.Errorf("%s %s: the program accepts it, the schema does not: %s", at, change.name, short(v))
					case p != nil && v == nil && change.name == "unknown key":
						t.Errorf("%s %s: the schema accepts it, the program does not: %s", at, change.name, short(p))
					case p != nil && v == nil && change.name != "placeholder" && change.name != "numeral":
						// what these stand for no schema knows
						looser[change.name+" "+at]++
					}
				}
			})
			if len(looser) > changes/6 {
				t.Errorf("the schema lets %d of %d changes pass that the program refuses: %v", len(looser), changes,
					slices.Sorted(maps.Keys(looser)))
			}
		})
	}
}

// wholes are suites with everything in them, by name. Each assertion of the conversation suite stands in a suite of its
// own, which is quicker.
func wholes(t *testing.T) map[string]any {
	all := map[string]any{"conversation": instance(t, everything), "v1": instance(t, everyV1)}
	test := all["conversation"].(map[string]any)["tests"].([]any)[0].(map[string]any)
	for i, one := range test["assertions"].([]any) {
		name := fmt.Sprintf("%d %s", i, one.(map[string]any)["type"])
		all[name] = map[string]any{"tests": []any{map[string]any{"id": "a", "input": "x", "assertions": []any{one}}}}
	}
	test["assertions"] = test["assertions"].([]any)[:1]
	return all
}

type change struct {
	name  string
	value any
}

func changesOf(old any) []change {
	all := []change{
		{"null", nil},
		{"number", json.Number("17")},
		{"text", "zzz"},
		{"numeral", "0.5"},
		{"list", []any{}},
		{"mapping", map[string]any{}},
		{"true", true},
		{"empty", ""},
		{"placeholder", "${{ X }}"},
	}
	if entries, ok := old.(map[string]any); ok {
		with := maps.Clone(entries)
		with["qqqqqqqqqq"] = "x"
		all = append(all, change{"unknown key", with})
	}
	return all
}

// each calls a function for every value below a value, with a way to put another in its place.
func each(value any, at string, visit func(at string, put func(any) func(), old any)) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			old := value[key]
			visit(at+"."+key, func(v any) func() { value[key] = v; return func() { value[key] = old } }, old)
			each(old, at+"."+key, visit)
		}
	case []any:
		for i, old := range value {
			place := fmt.Sprintf("%s[%d]", at, i)
			visit(place, func(v any) func() { value[i] = v; return func() { value[i] = old } }, old)
			each(old, place, visit)
		}
	}
}

// short is the end of an error of many lines, where its cause stands.
func short(err error) string {
	text := err.Error()
	return text[max(0, len(text)-400):]
}
