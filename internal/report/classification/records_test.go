package classification_test

import (
	"encoding/json"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/report/classification"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestRecords reads predictions from records, whose trials may come in any order.
func TestRecords(t *testing.T) {
	set := dataset.Set{Items: []dataset.Item{
		{ID: "1", Labels: []string{"a"}},
		{ID: "2", Labels: []string{"b"}},
		{ID: "3", Labels: []string{"a"}},
	}}
	r := classification.NewRecords(set, []string{"a", "b"})
	add := func(id string, trial int, label string, verdict result.Verdict) bool {
		state, err := json.Marshal(map[string]any{"label": label, "labels": []string{label}})
		if err != nil {
			t.Fatal(err)
		}
		_, ok := r.Add(&result.Test{TestID: id, Trial: trial, Verdict: verdict, Turns: []result.Turn{{State: state}}})
		return ok
	}
	if !add("1", 0, "a", result.Pass) || add("2", 3, "a", result.Fail) || add("2", 2, "b", result.Pass) ||
		add("2", 1, "b", result.Pass) {
		t.Error("an item is finished with its last record only")
	}
	if i, ok := r.Add(&result.Test{TestID: "2", Verdict: result.Fail}); i != 1 || !ok {
		t.Errorf("aggregate: item %d, finished %v", i, ok)
	}
	if add("3", 0, "a", result.Error) || add("4", 0, "a", result.Pass) {
		t.Error("a record without a prediction counts")
	}
	var got []string
	for _, p := range r.Predictions() {
		got = append(got, p.ID)
		got = append(got, p.Labels...)
	}
	if want := `["1","a","2","b",""]`; string(must(json.Marshal(got))) != want {
		t.Errorf("got %q, want %s", got, want)
	}
	tie := classification.NewRecords(set, nil)
	r = tie
	add("1", 2, "a", result.Pass)
	add("1", 1, "b", result.Fail)
	if p, _, _ := tie.Prediction(0); p.Labels[0] != "b" {
		t.Errorf("of equally frequent predictions %q counts, want that of the earlier trial", p.Labels)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
