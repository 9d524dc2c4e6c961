package dataset_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
)

// TestFromRecords holds that records give the items of the file that they were read from.
func TestFromRecords(t *testing.T) {
	for _, content := range []string{
		twoLines,
		`{"id":"a","input":"x","expected_output":{"skills":["ask","show"]},"metadata":{"site_name":"s","n":[1,2.5]}}` +
			"\n" + `{"id":"b","input":{"message":"y"},"expected_output":[]}`,
	} {
		file := write(t, "a.jsonl", content)
		want, err := dataset.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		records, err := dataset.LoadRecords(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dataset.FromRecords(file, records)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("error %v, set mismatch (-file +records):\n%s", err, d)
		}
	}
}

func TestFaultyRecords(t *testing.T) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	for _, tc := range []struct {
		records []dataset.Record
		want    string
	}{
		{nil, "langfuse:d: there are no items in the dataset (add items"},
		{
			[]dataset.Record{{ID: "a", Input: raw(`"x"`)}},
			"langfuse:d: a: the item has no expected_output (add `expected_output:`, its labels)",
		},
		{[]dataset.Record{{
			ID: "a", Input: raw(`{"query":"x"}`), Expected: raw(`"y"`),
		}}, "langfuse:d: a.input.query: unknown key \"query\" (known: history, message)\n" +
			"langfuse:d: a.input: the input has no message"},
		{
			[]dataset.Record{{ID: "a", Input: raw(`"x"`), Expected: raw(`{"response":"y"}`)}},
			"langfuse:d: a.expected_output: the object has none of intent",
		},
		{
			[]dataset.Record{{ID: "a", Input: raw(`"x"`), Expected: raw(`"y"`), Metadata: raw(`"m"`), Line: 7}},
			"langfuse:d:7:",
		},
		{[]dataset.Record{{ID: "a", Input: raw(`{`), Expected: raw(`"y"`)}}, "langfuse:d: a: the record is not JSON: "},
	} {
		set, err := dataset.FromRecords("langfuse:d", tc.records)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) || set.Items != nil {
			t.Errorf("%+v: error %v, want %s", tc.records, err, tc.want)
		}
	}
	many := make([]dataset.Record, 1000)
	if _, err := dataset.FromRecords("langfuse:d", many); len(faults(t, err)) != 101 {
		t.Errorf("%d faults", len(faults(t, err)))
	}
}
