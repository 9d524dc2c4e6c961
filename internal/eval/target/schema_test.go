package target

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// probes are documents with an unknown key in each mapping of rehearse.yaml, by what the schema calls the mapping. The
// fault of an unknown key names those that are known.
func probes() map[string]string {
	const http = "targets: {a: {kind: http, url: 'http://x', %s}}"
	const socket = "targets: {a: {kind: websocket, url: 'ws://x', %s}}"
	key := "qqqqqqqqqqqqqqqq: 1"
	in := func(template, inside string) string { return fmt.Sprintf(template, inside) }
	probes := map[string]string{
		"": key, "model": "models: {a: {" + key + "}}", "judge": "judge: {" + key + "}", "thresholds": "thresholds: {" + key + "}", "prices": "prices: {'a:b': {" + key + "}}", "watch": "watches: [{" + key + "}]",
		"model_target": "targets: {a: {model: 'openai:x', " + key + "}}", "http": in(http, key), "websocket": in(socket, key),
		"answer_keys": in(http, "answer: {"+key+"}"), "pick_when": in(http, "answer: {text: {"+key+"}}"), "tool_calls": in(http, "answer: {tool_calls: {"+key+"}}"),
		"usage": in(http, "answer: {usage: {"+key+"}}"), "stream_keys": in(http, "stream: {"+key+"}"), "stream_end": in(http, "stream: {end: {"+key+"}}"),
		"session": in(http, "session: {"+key+"}"), "open": in(http, "open: {"+key+"}"), "close": in(http, "close: {"+key+"}"),
		"mcp":              "targets: {a: {kind: command, command: a, mcp: {" + key + "}}}",
		"completion_judge": in(http, "complete_when: {"+key+"}"), "command_session": "targets: {a: {kind: command, session: {" + key + "}}}",
		"websocket_open": in(socket, "open: {"+key+"}"), "websocket_close": in(socket, "close: {"+key+"}"),
		"memory": "targets: {a: {kind: flow, memory: {" + key + "}}}", "limits": "targets: {a: {kind: flow, limits: {" + key + "}}}",
	}
	for _, kind := range []string{"flow", "execute", "a2a", "command", "sitebot", "classifier"} {
		probes[kind] = "targets: {a: {kind: " + kind + ", " + key + "}}"
	}
	return probes
}

// What reads rehearse.yaml and its schema agree on every key of every mapping.
func TestSchemaHasEveryKey(t *testing.T) {
	type mapping struct {
		Properties map[string]any     `json:"properties"`
		Defs       map[string]mapping `json:"$defs"`
	}
	var whole mapping
	if err := json.Unmarshal(config.Schema(), &whole); err != nil {
		t.Fatal(err)
	}
	probes := probes()
	for name, def := range whole.Defs {
		if _, ok := probes[name]; def.Properties != nil && !ok {
			t.Errorf("nothing says what keys %s has", name)
		}
	}
	known := regexp.MustCompile(`unknown key "q+" \(known: ([^)]*)\)`)
	for name, probe := range probes {
		_, _, err := load(t, Kinds(), probe)
		if err == nil {
			t.Fatalf("%s is read", probe)
		}
		found := known.FindStringSubmatch(err.Error())
		if found == nil {
			t.Fatalf("%s: %v", probe, err)
		}
		def := whole
		if name != "" {
			def = whole.Defs[name]
		}
		var keys []string
		for key := range def.Properties {
			follows := slices.Contains(followers, name) && strings.HasPrefix(key, "flow")
			if _, every := map[string]bool{"complete_when": true, "state_of": true, "data_of": true, "mcp": true}[key]; !every && !follows {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		if d := cmp.Diff(strings.Split(found[1], ", "), keys); d != "" {
			t.Errorf("%s (-read +in the schema): %s", name, d)
		}
	}
	for _, kind := range Kinds() {
		if _, ok := whole.Defs[strings.Replace(kind.Name, "model", "model_target", 1)]; !ok {
			t.Errorf("the schema does not have the kind %s", kind.Name)
		}
	}
}

// The schema takes what is read without a fault, and refuses what is not.
func TestSchemaTakesConfigurations(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	var document any
	if err := json.Unmarshal(config.Schema(), &document); err != nil {
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
