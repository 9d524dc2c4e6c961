package dataset_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// oneSite finds a site of that name only.
func oneSite(t *testing.T) func(string) (*site.Site, error) {
	t.Helper()
	one, err := site.Load("shop.yaml", []byte("{site: shop.example}"))
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) (*site.Site, error) {
		if name != "" && name != one.Name {
			return nil, errors.New("there is no such site")
		}
		return one, nil
	}
}

// An item becomes a test that begins with its history and sends the query alone.
func TestTests(t *testing.T) {
	items := []dataset.Record{{
		ID: "a", Input: json.RawMessage(`{"message": "And?"}`),
		Expected: json.RawMessage(`{"response": "Says more.", "assertions": [{"type": "contains", "value": "x"}]}`),
		Metadata: json.RawMessage(`{"history": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "And?"}], "state": {"booking_state": {"active": true}}}`),
	}}
	tests, err := dataset.Tests(items, dataset.TestsConfig{
		Origin: "items.jsonl", Judged: true, Site: oneSite(t),
		Check: func(suite.Assertion) source.Problems { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	one := tests[0]
	var graders []string
	for _, a := range one.Turns[0].Assertions {
		graders = append(graders, a.Type)
	}
	got := map[string]any{
		"query": one.Query, "sent": one.Turns[0].Input.Text, "expected": one.Turns[0].Expected, "graders": graders,
		"targets": one.Execution.Targets, "messages": len(one.Rebuilt.Messages), "turn": one.Rebuilt.TurnNumber,
		"fields": string(one.Start.Fields), "site": one.Metadata["site_name"],
	}
	want := map[string]any{
		"query": "And?", "sent": "And?", "expected": "Says more.", "graders": []string{"contains", "answer_quality"},
		"targets": []string{"sitebot:shop.example"}, "messages": 2, "turn": 1,
		"fields": `{"booking_state":{"active":true}}`, "site": "shop.example",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the test of an item (-want +got):\n%s", d)
	}
	s := dataset.SuiteOf("conversations", "items.jsonl", tests)
	for held, err := range s.Tests() {
		if err != nil || held.Suite != "conversations" || held.ID != "a" {
			t.Errorf("the suite has %v, %v", held, err)
		}
	}
}

// Every fault of every item is named.
func TestTestsNameFaults(t *testing.T) {
	items := []dataset.Record{
		{ID: "blank", Line: 3, Input: json.RawMessage(`" "`), Expected: json.RawMessage(`"x"`)},
		{
			ID: "far", Input: json.RawMessage(`"x"`), Expected: json.RawMessage(`"x"`),
			Metadata: json.RawMessage(`{"site_name": "nowhere"}`),
		},
		{ID: "unjudged", Input: json.RawMessage(`"x"`), Expected: json.RawMessage(`"x"`)},
	}
	_, err := dataset.Tests(items, dataset.TestsConfig{Origin: "items.jsonl", Site: oneSite(t)})
	problems, ok := errors.AsType[source.Problems](err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	for _, want := range []string{
		"items.jsonl:3:1: blank.input: the item has no query",
		"items.jsonl: far.metadata.site_name: there is no such site",
		"items.jsonl: unjudged.expected_output: there is nothing by which",
	} {
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("the problems do not name %q:\n%v", want, problems)
		}
	}
}
