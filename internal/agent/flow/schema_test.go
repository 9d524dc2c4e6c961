package flow_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(flow.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("flow.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("flow.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fitting says what the schema says of the flows of a file.
func fitting(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	docs, err := source.Files{}.ParseYAMLStream("f.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		if err := s.Validate(doc.Any()); err != nil {
			return err
		}
	}
	return nil
}

// nodes is a node flow with everything that one may have; machine is such a state machine. The question mark of %…% is
// where a probe puts a key.
const (
	nodes = `
id: shop
version: 2
start: begin
system_prompt: Be kind.
globals: [{id: help, label: Help, next: "@start", when: asks for help, examples: [help me], if: {type: exists, field: name}}]
tools: {find: {url: "https://a.example/{x}", method: GET, headers: {K: "${KEY}"}, timeout: 5s, description: finds, parameters: {type: object}}}
apis: {order: {url: "https://a.example/orders", method: POST, timeout: 3, save: {number: order.id}}}
nodes:
  - {id: begin, type: start, next: [ask]}
  - id: ask
    type: conversation
    prompt: What is it?
    tools: [find]
    globals: true
    no_match: {max: 2, next: bye, prompt: Ask again}
    options:
      - {id: a, label: A, next: bye, when: says a, examples: [a], if: {type: and, conditions: [{type: equals, field: x, operator: ne, value: [1, two], case_sensitive: true}, {type: not, condition: {type: matches, field: y, pattern: "^a"}}]}}
      - {id: 2, label: B, next: null}
  - {id: bye, type: stop, prompt: Bye}
`
	machineFlow = `
flow:
  name: hotel
  version: 1
  description: books
  initial_state: city
  tools: {find: {url: "https://a.example/"}}
  apis: {book: {url: "https://a.example/book", save: {id: id}}}
  states:
    city:
      type: data_collection
      field: town
      tools: [find]
      message: {text: Where?, quick_replies: [Ghent, {label: Paris, value: p}], buttons: [{title: Rome, payload: r}]}
      validation: {required: true, type: string, min_length: 2, max_length: "50", pattern: "[a-z]", error_message: Again?, min: 1, max: 9}
      actions: [{type: set_field, target: a, value: 1}, {type: call_api, name: book}, {type: validate, field: b, rules: {required: true}}]
      metadata: {progress: 0.5, skip_conditions: [{operator: ">=", field: n, value: 3}]}
    sure: {type: confirmation, message: Sure?}
    end: {type: end, message: Bye}
  transitions:
    - {from: city, to: sure, condition: always, priority: 2, label: L, when: W, examples: e, id: 1}
    - {from: sure, to: end, condition: {type: model}, actions: [{type: log_event, event: done, params: {a: 1}}]}
    - {from: sure, to: city, condition: {type: or, conditions: {type: contains, values: [no, nope]}}}
`
)

// everything are both.
var everything = []string{nodes, machineFlow}

// What the program reads fits the schema: every flow of this repository, and one of each format with all keys.
func TestFlowsFitTheSchema(t *testing.T) {
	s, read := compiledSchema(t), 0
	for _, doc := range everything {
		if _, err := flow.Load("f.yaml", []byte(doc)); err != nil {
			t.Fatal(err)
		}
		if err := fitting(t, s, []byte(doc)); err != nil {
			t.Error(err)
		}
	}
	for _, root := range []string{"../../../examples", "../../../testdata", "../../../internal", "../../../bench"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if _, err := flow.Load(path, data); err != nil && !strings.Contains(err.Error(), "is not here") {
				return nil
			}
			read++
			if err := fitting(t, s, data); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if read < 8 {
		t.Errorf("only %d files of flows were found", read)
	}
}

// What the schema refuses, the program refuses: each change of a flow that has everything.
func TestFlowSchemaRefusesNoMore(t *testing.T) {
	s := compiledSchema(t)
	for _, doc := range everything {
		v, err := source.ParseYAML("f.yaml", []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, changed := range changesOf(v.Any()) {
			if s.Validate(changed) == nil {
				continue
			}
			refused++
			data, err := json.Marshal(changed)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := flow.Load("f.json", data); err == nil {
				t.Errorf("the schema refuses and the program reads %s", data)
			}
		}
		if refused < 200 {
			t.Errorf("the schema refuses only %d changes", refused)
		}
	}
}

// changesOf returns a document with each of its values replaced in turn, or left out.
func changesOf(doc any) []any {
	all := []any{
		nil, true, -1.0, 0.5, "", " ", "A b", "true", "7", "@return", []any{}, []any{nil}, []any{1.0}, map[string]any{},
		map[string]any{"q": 1.0},
	}
	switch v := doc.(type) {
	case map[string]any:
		for key, value := range v {
			less := maps.Clone(v)
			delete(less, key)
			all = append(all, less)
			for _, changed := range changesOf(value) {
				with := maps.Clone(v)
				with[key] = changed
				all = append(all, with)
			}
		}
	case []any:
		for i, value := range v {
			for _, changed := range changesOf(value) {
				with := slices.Clone(v)
				with[i] = changed
				all = append(all, with)
			}
		}
	}
	return all
}

// keyProbes say where in the flows above a key is added, by the names of the mappings in the schema: before what text.
var keyProbes = map[string][2]string{
	"node_flow": {nodes, "id: shop\n"}, "tool": {nodes, `url: "https://a.example/{x}"`},
	"api": {nodes, `url: "https://a.example/orders"`}, "node": {nodes, "id: bye, type: stop"},
	"no_match": {nodes, "max: 2"}, "option": {nodes, "id: 2, label: B"}, "condition": {nodes, "type: equals, field: x"},
	"machine": {machineFlow, "  name: hotel\n"}, "state": {machineFlow, "type: confirmation"},
	"message": {machineFlow, "text: Where?"}, "button": {machineFlow, "title: Rome"},
	"validation": {machineFlow, "required: true, type: string"}, "action": {machineFlow, "type: log_event"},
	"transition": {machineFlow, "from: city, to: sure"},
}

var knownKeys = regexp.MustCompile(`known: ([a-z_, ]*)`)

// The reader of flows and the schema know the same keys in every mapping.
func TestFlowSchemaHasEveryKey(t *testing.T) {
	var whole struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
			AnyOf      []struct {
				Properties map[string]any `json:"properties"`
			} `json:"anyOf"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(flow.Schema(), &whole); err != nil {
		t.Fatal(err)
	}
	for name, def := range whole.Defs {
		for _, form := range def.AnyOf {
			if len(form.Properties) > len(def.Properties) {
				def.Properties = form.Properties
			}
		}
		if len(def.Properties) == 0 || name == "rule" {
			continue
		}
		probe, ok := keyProbes[name]
		if !ok {
			t.Errorf("nothing says what keys %s has", name)
			continue
		}
		if !strings.Contains(probe[0], probe[1]) {
			t.Fatalf("%s: %q is not there", name, probe[1])
		}
		separator := ", "
		if strings.HasSuffix(probe[1], "\n") {
			separator = "\n" + strings.Repeat(" ", len(probe[1])-len(strings.TrimLeft(probe[1], " ")))
		}
		flows, err := flow.Load("f.yaml", []byte(strings.Replace(probe[0], probe[1], strings.Repeat(" ", len(probe[1])-
			len(strings.TrimLeft(probe[1], " ")))+"qqqqqqqqqqqqqqqq: 1"+separator+strings.TrimLeft(probe[1], " "), 1)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := knownKeys.FindStringSubmatch(flows[0].Warnings.Error())
		if found == nil {
			t.Fatalf("%s: %s", name, flows[0].Warnings.Error())
		}
		if d := cmp.Diff(strings.Split(strings.TrimRight(found[1], ", "), ", "),
			slices.Sorted(maps.Keys(def.Properties))); d != "" {
			t.Errorf("%s (-read +in the schema): %s", name, d)
		}
	}
}
