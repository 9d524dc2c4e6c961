package api_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/api"
)

// TestResultSchema holds that records fit the schema, and that what is none does not.
func TestResultSchema(t *testing.T) {
	text, err := api.ResultSchema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("urn:rehearse:schema:result", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("urn:rehearse:schema:result")
	if err != nil {
		t.Fatal(err)
	}
	for name, record := range records() {
		line, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(decoded(t, line)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, line)
		}
	}
	maybe := *records()["full"]
	maybe.Verdict = "maybe"
	line, err := json.Marshal(&maybe)
	if err != nil || schema.Validate(decoded(t, line)) == nil {
		t.Errorf("the verdict maybe fits, %v", err)
	}
	for _, wrong := range []string{`{}`, `{"schema": 1, "verdict": 7}`, `[]`} {
		if schema.Validate(decoded(t, []byte(wrong))) == nil {
			t.Errorf("%s fits", wrong)
		}
	}
}

// records are results of many kinds.
func records() map[string]*result.Test {
	full := &result.Test{
		Schema: 1, RunID: "r", Suite: "shop", TestID: "t", Trial: 2, Target: "bot", ConversationID: "c", SessionID: "s",
		EndedByAgent: true, Score: 0.5, Verdict: result.Fail, Threshold: 0.8, ExecutionStatus: result.OK,
		Output:    []chat.Message{chat.NewMessage(chat.User, "Hi"), chat.NewMessage(chat.Assistant, "Hello")},
		StartedAt: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), Fingerprint: "f", Position: 3, Tags: []string{"a"},
		Metadata: map[string]any{"k": 1}, Trials: &result.Trials{
			Count: 3, Passed: 1, Strategy: "pass_all", Scores: []float64{0.5}, PassHatK: []float64{0.3},
			PassAtK: []float64{0.3}, Class: "flaky",
		}, Source: &result.Source{File: "suite.yaml", Line: 3, Turns: []int{5}},
		Quarantined: &quarantine.Terms{Owner: "ann", Until: "2026-12-01", Reason: "a known fault"},
		Attempts:    []result.Attempt{{N: 1}}, Scores: []result.Score{}, Turns: []result.Turn{},
		Failures: []result.Failure{},
	}
	empty := &result.Test{
		Schema: 1, Verdict: result.Ungraded, ExecutionStatus: result.OK, Scores: []result.Score{},
		Output: []chat.Message{}, Turns: []result.Turn{}, Failures: []result.Failure{},
	}
	return map[string]*result.Test{"full": full, "empty": empty}
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
