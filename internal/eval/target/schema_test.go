package target

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func TestSchemaHasEveryKind(t *testing.T) {
	defs := strictSchema()["$defs"].(map[string]any)
	for _, kind := range Kinds() {
		if defs[strings.Replace(kind.Name, "model", "model_target", 1)] == nil {
			t.Errorf("the schema does not have the kind %s", kind.Name)
		}
	}
}

// The schema takes what is read without a fault, and refuses what is not.
func TestSchemaTakesConfigurations(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	var document any
	if err := json.Unmarshal(ConfigSchema(), &document); err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("config.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for yaml, valid := range map[string]bool{
		`{target: a, targets: {a: {url: "https://x", headers: {A: b, Accept: null}, body: {m: "{{message}}"}, answer: {text: $.a, tool_calls: {path: $.c}}, session: {cookie: id}, stream: {format: sse, end: {data: x}}}}, workers: 3}`: true,
		`{targets: {a: openai:x, b: {model: openai:y, temperature: 0}, c: {kind: command, command: [a, b]}, d: {url: "http://x", flow_id: f}, e: {url: "ws://x"}}}`:                                                                      true,
		`{targets: {a: {url: "http://x", preset: openai, with: {model: m}, timeout: 3s}}, judge: {model: openai:x}, models: {m: {model: openai:x}}}`:                                                                                     true,
		`{targets: {a: {kind: command, command: a, mcp: {tools: [{name: t}]}}, b: {url: "ws://x", headers: {T: "{{mcp_url}}"}, mcp: {tools: [{name: t}]}}}}`:                                                                             true,
		`{targets: {a: {url: "http://x", answer: {node: $.n}, flow: f, flow_id: i}, b: {kind: command, command: a, state_of: state, flow: f}, c: {url: "ws://x", answer: {node: $.n}, flow: f}}}`:                                        true,
		// What the program takes for a text, or for nothing.
		`{judge: null, public_env: 1, store: 7, targets: {a: {url: "http://x", method: POST, timeout: null, answer: {text: null}}, b: {kind: command, command: [sleep, 1]}}}`: true,
		`null`:                        true,
		`{store: {}}`:                 false,
		`{mcp: {tools: [{name: t}]}}`: false,
		`{targets: {a: {kind: sitebot, sites: s, flow: f}}}`:                false,
		`{targets: {a: {url: "http://x", bdy: 1}}}`:                         false,
		`{targets: {a: {kind: flow, flow: f, mcp: {tools: [{name: t}]}}}}`:  false,
		`{targets: {a: {kind: command, command: a, mcp: {tools: []}}}}`:     false,
		`{targets: {a: {kind: command, command: a, mcp: {}}}}`:              false,
		`{targets: {a: {kind: http, url: "http://x", answer: {txt: $.a}}}}`: false,
		`{workers: 0}`:                    false,
		`{models: {m: {temperature: 0}}}`: false,
	} {
		parsed, err := source.ParseYAML("x", []byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(parsed.Any())
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != valid {
			t.Errorf("%s: %v", yaml, err)
		}
		if _, _, err := load(t, Kinds(), yaml); (err == nil) != valid {
			t.Errorf("reading %s: %v", yaml, err)
		}
	}
}
