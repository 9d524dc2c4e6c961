package wire_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
)

// Every setting of a model that decides its replies is part of the definition, so that --resume runs what changed
// again. Prices and limits are not.
func TestDefinitionOfModels(t *testing.T) {
	define := func(settings string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "rehearse.yaml")
		if err := os.WriteFile(path, []byte("targets:\n  t:\n    provider: openai\n    model: m\n"+settings),
			0o600); err != nil {
			t.Fatal(err)
		}
		s, err := wire.Open(wire.Options{Config: path, Dry: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		definition, err := s.Definition("t")
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(definition)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	seen := map[string]string{define(""): "nothing"}
	for _, settings := range []string{
		"api: responses", "api: responses\n    state: conversation", "api: responses\n    state: previous_response_id",
		"api_version: '2024-10-21'", "token_env: T", "headers: {A: b}", "headers: {A: c}",
		"headers: {A: null}", "body: {a: {b: 1}}", "body: {a: {b: 2}}", "system: Be kind.",
		"stream: true", "tools: [{name: f}]", "tools: [{name: f, description: d}]",
		"tools: [{name: f, parameters: {type: object}}]", "tools: [{name: f, results: [{result: 1}]}]",
		"tools: [{name: f, results: [{result: 2}]}]", "tools: [{name: f, results: [{when: {a: 1}, result: 1}]}]",
		"tools: [{name: f, results: [{times: 1, result: 1}]}]", "tools: [{name: f, results: [{error: e}]}]",
		"tools: [{name: f, results: [{delay: 1s, result: 1}]}]", "tool_choice: none", "max_tool_rounds: 3",
	} {
		definition := define("    " + settings + "\n")
		if other, ok := seen[definition]; ok {
			t.Errorf("%q is defined like %q", settings, other)
		}
		seen[definition] = settings
	}
	for _, settings := range []string{"input_price: 1", "requests_per_minute: 5", "concurrency: 2"} {
		if seen[define("    "+settings+"\n")] != "nothing" {
			t.Errorf("%q changes the definition", settings)
		}
	}
}
