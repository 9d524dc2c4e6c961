package datasetimport_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/data/importer/datasetimport"
)

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		file, content, format string
		items                 string
		lost                  map[string]int
	}{
		{
			"a.test.json", `[{"query": "hi", "expected_tool_use": [], "reference": "Hello"}, {"query": "cart?", "expected_tool_use": [{"tool_name": "cart"}], "reference": "Soil"},
				{"query": "thanks"}, {"query": " "}]`, "adk",
			`{"id":"conversation-1","input":{"query":"hi"},"expected_output":{"assertions":[{"calls":[],"match":"exact","type":"tool_calls"}],"response":"Hello"},"metadata":{"history":[],"source":{"conversation":"conversation","file":"a.test.json","format":"adk","turn":1}}}
{"id":"conversation-2","input":{"query":"cart?"},"expected_output":{"assertions":[{"from":"adk","original":{"expected_tool_use":[{"tool_name":"cart"}]},"type":"unsupported","why":"items have no such check (nearest: ` + "`tool_calls`" + `)"}],"response":"Soil"},"metadata":{"history":[{"content":"hi","role":"user"},{"content":"Hello","role":"assistant"}],"source":{"conversation":"conversation","file":"a.test.json","format":"adk","turn":2}}}
`,
			map[string]int{
				"expected_tool_use": 1, "last turns without an expected answer": 1, "turns without a text": 1,
			},
		},
		{
			"b.evalset.json", `{"eval_set_id": "x", "eval_cases": [{"eval_id": "dir/case", "session_input": {"app_name": "a"}, "conversation": [{"user_content": {"role": "user",
				"parts": [{"text": "Roll"}, {"text": null, "inline_data": {"data": "x"}}]}, "final_response": {"parts": [{"text": "5\n"}]}, "intermediate_data": {"tool_uses": [{"name": "roll"}], "x": []}}]}]}`,
			"adk",
			`{"id":"case-1","input":{"query":"Roll"},"expected_output":{"assertions":[{"from":"adk","original":{"tool_uses":[{"name":"roll"}]},"type":"unsupported","why":"items have no such check (nearest: ` + "`tool_calls`" + `)"}],"response":"5"},"metadata":{"history":[],"source":{"conversation":"case","file":"b.evalset.json","format":"adk","turn":1}}}
`,
			map[string]int{"tool_uses": 1, "inline_data": 1, "session_input": 1},
		},
		{ // the last invocation wants a tool and no answer, as in ADK's own roll_die
			"c.test.json", `{"eval_cases": [{"eval_id": "c", "conversation": [
				{"user_content": {"parts": [{"text": "Hi"}]}, "final_response": {"parts": [{"text": "Hello"}]}},
				{"user_content": {"parts": [{"text": "Roll"}]}, "final_response": {"parts": [{"text": null}]}, "intermediate_data": {"tool_uses": [{"name": "roll"}]}}]}]}`, "adk",
			`{"id":"c-1","input":{"query":"Hi"},"expected_output":{"response":"Hello"},"metadata":{"history":[],"source":{"conversation":"c","file":"c.test.json","format":"adk","turn":1}}}
{"id":"c-2","input":{"query":"Roll"},"expected_output":{"assertions":[{"from":"adk","original":{"tool_uses":[{"name":"roll"}]},"type":"unsupported","why":"items have no such check (nearest: ` + "`tool_calls`" + `)"}]},"metadata":{"history":[{"content":"Hi","role":"user"},{"content":"Hello","role":"assistant"}],"source":{"conversation":"c","file":"c.test.json","format":"adk","turn":2}}}
`,
			map[string]int{"tool_uses": 1},
		},
		{
			"stories.yml", "stories:\n- story: s\n  steps:\n  - user: |\n      hi\n    intent: greet\n" +
				"  - action: utter_greet\n  - user: '[afghan](cuisine) food'\n    intent: inform\n",
			"rasa",
			`{"id":"s-1","input":{"history":[],"message":"hi"},"expected_output":{"intent":"greet"},"metadata":{"source":{"conversation":"s","file":"stories.yml","format":"rasa","turn":1}}}
{"id":"s-2","input":{"history":[{"content":"hi","role":"user"}],"message":"afghan food"},"expected_output":{"intent":"inform"},"metadata":{"source":{"conversation":"s","file":"stories.yml","format":"rasa","turn":2}}}
`,
			map[string]int{"action": 1, "entities in what users say": 1},
		},
		{
			"plan.yml", "evaluator: {model: m}\ntests:\n  fruit:\n" +
				"    steps: [tell it, ask it]\n    expected_results: [A fruit., Ripe.]\n",
			"agent-evaluation",
			`{"id":"fruit-2","input":{"query":"ask it"},"expected_output":{"response":"A fruit.\nRipe."},"metadata":{"history":[{"content":"tell it","role":"user"}],"source":{"conversation":"fruit","file":"plan.yml","format":"agent-evaluation","turn":2}}}
`,
			map[string]int{"evaluator": 1},
		},
		{
			"traj.jsonl", `{"task_id": 3, "trial": 1, "reward": 1.0, "info": {"a": 1}, "traj": [{"role": "system", "content": "Be nice"}, {"role": "user", "content": "Cancel"},
`, "", "", nil,
		},
		{
			"traj2.jsonl", `{"task_id": 3, "trial": 1, "reward": 1.0, "info": {"a": 1}, "traj": [{"role": "system", "content": "Be nice"}, {"role": "user", "content": "Cancel"}, ` +
				`{"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]}, {"role": "tool", "content": "ok"}, {"role": "assistant", "content": "Done"}, {"role": "user", "content": "###STOP###"}]}`,
			"tau-bench",
			`{"id":"task-3-trial-1-1","input":{"query":"Cancel"},"expected_output":{"response":""},"metadata":{"history":[],"reward":1,"source":{"answer":"Done","conversation":"task-3-trial-1","file":"traj2.jsonl","format":"tau-bench","turn":1}}}
`,
			map[string]int{
				"info": 1, "messages ###STOP###": 1, "messages of the role system": 1, "messages of the role tool": 1,
				"tool_calls": 1,
			},
		},
		{
			"agentv.yaml", `{prompts: ["{{ input }}"], tests: [{id: kept, assert: [Stays polite, {type: contains, value: "#9"}, {type: latency}], vars: {input: [{role: system, content: s}, {role: user, content: a}, {role: assistant, content: b}, {role: user, content: c}], expected_output: [{role: assistant, content: d}]}},
				{id: live, mode: conversation, assert: [All good], turns: [{input: x, assert: [Is y]}]}]}`, "agentv",
			`{"id":"kept-2","input":{"query":"c"},"expected_output":{"assertions":[{"type":"contains","value":"#9"},{"from":"agentv","original":{"type":"latency"},"type":"unsupported","why":"items have no such check (nearest: ` + "`latency`" + `)"}],"response":"d\nStays polite"},"metadata":{"history":[{"content":"a","role":"user"},{"content":"b","role":"assistant"}],"source":{"conversation":"kept","file":"agentv.yaml","format":"agentv","turn":2}}}
{"id":"live-1","input":{"query":"x"},"expected_output":{"assertions":[{"from":"agentv","original":{"criterion":"All good"},"type":"unsupported","why":"items have no such check (nearest: ` + "`command`" + `, or a criterion in words)"}],"response":"Is y"},"metadata":{"history":[],"source":{"conversation":"live","file":"agentv.yaml","format":"agentv","turn":1}}}
`,
			map[string]int{
				"criterion": 1, "messages of the role system": 1, "mode": 1, "prompts": 1, "the assertion latency": 1,
			},
		},
		{
			"promptfoo.yaml", `{providers: [x], tests: [{description: a b, vars: {message: Hi, query: twice}, assert: [{type: llm-rubric, value: Greets}]}, {vars: {_conversation: [{input: One, output: 1}, {input: Two, output: Zwei}]}}, {vars: {topic: x}}]}`,
			"promptfoo",
			`{"id":"a-b-1","input":{"query":"Hi"},"expected_output":{"response":"Greets"},"metadata":{"history":[],"source":{"conversation":"a-b","file":"promptfoo.yaml","format":"promptfoo","turn":1}}}
{"id":"conversation-2-2","input":{"query":"Two"},"expected_output":{"response":""},"metadata":{"history":[{"content":"One","role":"user"},{"content":"1","role":"assistant"}],"source":{"answer":"Zwei","conversation":"conversation-2","file":"promptfoo.yaml","format":"promptfoo","turn":2}}}
`,
			map[string]int{"providers": 1, "query": 1, "tests without a message of a user": 1, "topic": 1},
		},
		{
			"spans.json", `{"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "s1", "attributes": [{"key": "gen_ai.conversation.id", "value": {"stringValue": "c"}},
				{"key": "gen_ai.input.messages", "value": {"stringValue": "[{\"role\":\"system\",\"parts\":[{\"type\":\"text\",\"content\":\"s\"}]},{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Hi\"}]},{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"name\":\"x\"}]}]"}},
				{"key": "gen_ai.output.messages", "value": {"stringValue": "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"Hello\"}],\"finish_reason\":\"stop\"}]"}}]},
				{"spanId": "s2", "attributes": []}, {"spanId": "s3", "attributes": [{"key": "gen_ai.input.messages", "value": {"stringValue": "["}}]}]}]}]}`, "otel",
			`{"id":"c-1","input":{"query":"Hi"},"expected_output":{"response":""},"metadata":{"history":[],"source":{"answer":"Hello","conversation":"c","file":"spans.json","format":"otel","turn":1}}}
`,
			map[string]int{
				"messages of the role system": 1, "messages that are no JSON": 1, "parts of the type tool_call": 1,
				"spans without gen_ai.input.messages": 1,
			},
		},
	} {
		path := filepath.Join(t.TempDir(), tc.file)
		if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := datasetimport.Read(path, "")
		if tc.format == "" {
			if err == nil {
				t.Errorf("%s: no error", tc.file)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.file, err)
			continue
		}
		var lines bytes.Buffer
		if err := dataset.Encode(&lines, found.Items); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tc.items, lines.String()); d != "" || found.Format != tc.format {
			t.Errorf("%s, %s: items (-want +got):\n%s", tc.file, found.Format, d)
		}
		if d := cmp.Diff(tc.lost, found.Lost); d != "" {
			t.Errorf("%s: lost (-want +got):\n%s", tc.file, d)
		}
	}
}

// FuzzRead holds that nothing that a file may have breaks the readers.
func FuzzRead(f *testing.F) {
	for _, content := range []string{
		`[]`, `{"tests": [5], "prompts": 1}`, `[{"traj": [null]}]`, `{"stories": [{"steps": [7]}]}`,
		`{"eval_cases": [[]]}`, `{"tests": {"a": {"steps": [{}]}}}`,
	} {
		f.Add(content)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		path := filepath.Join(dir, "f.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, format := range append(datasetimport.Formats(), "") {
			if found, err := datasetimport.Read(path, format); err == nil && len(found.Items) == 0 ||
				err != nil && !strings.Contains(err.Error(), "f.json") {
				t.Errorf("%s: %+v, %v", format, found, err)
			}
		}
	})
}

// TestReadAll gives the items of several files ids of their own.
func TestReadAll(t *testing.T) {
	folder := t.TempDir()
	var paths []string
	for _, name := range []string{"a.test.json", "b.test.json"} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(
			`[{"query": "hi", "expected_tool_use": [{"tool_name": "x"}], "reference": "Hello"}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	items, found, err := datasetimport.ReadAll(paths, "")
	if err != nil || len(items) != 2 || items[0].ID != "conversation-1" || items[1].ID != "conversation-1-2" {
		t.Errorf("%+v, %v", items, err)
	}
	if want := paths[1] + " (adk): 1 item; not carried over: expected_tool_use 1"; len(found) != 2 ||
		found[1].String() != want {
		t.Errorf("%v, want %s", found, want)
	}
	for _, format := range []string{"adkk", "rasa"} {
		if _, _, err := datasetimport.ReadAll(paths, format); !source.IsInvalid(err) {
			t.Errorf("the format %s: %v", format, err)
		}
	}
}
