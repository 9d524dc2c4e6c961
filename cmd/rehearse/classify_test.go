package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rehearse/internal/chat"
	"rehearse/internal/dataset"
)

// TestReadAnswer reads what a model said; whatever is none of the labels is no answer.
func TestReadAnswer(t *testing.T) {
	labels := []string{"a", "b"}
	none := dataset.Prediction{Null: true}
	for _, tc := range []struct {
		text    string
		several bool
		want    dataset.Prediction
	}{
		{`{"label": "a"}`, false, dataset.Prediction{Labels: []string{"a"}}},
		{"```json\n{\"label\": \"b\"}\n```", false, dataset.Prediction{Labels: []string{"b"}}},
		{`{"label": "c"}`, false, none},
		{`{"label": null}`, false, none},
		{`{"label": ["a"]}`, false, none},
		{`}{`, false, none},
		{`a`, false, none},
		{``, false, none},
		{`{"labels": ["b", "a", "b"]}`, true, dataset.Prediction{Labels: []string{"a", "b"}}},
		{`{"labels": []}`, true, dataset.Prediction{Labels: []string{}}},
		{`{"labels": ["a", "c"]}`, true, none},
		{`{"label": "a"}`, true, none},
	} {
		if d := cmp.Diff(tc.want, readAnswer(tc.text, labels, tc.several)); d != "" {
			t.Errorf("%s: prediction mismatch (-want +got):\n%s", tc.text, d)
		}
	}
}

func TestClassifyQuestion(t *testing.T) {
	item := &dataset.Item{Message: "yes", History: []chat.Message{chat.Say(chat.Assistant, "Are you sure?")}}
	if got, want := classifyQuestion(item), "assistant: Are you sure?\n\nThe last message:\nyes"; got != want {
		t.Errorf("question %q, want %q", got, want)
	}
}

func TestInWords(t *testing.T) {
	for label, want := range map[string]string{"card_arrival": "card arrival", "CardArrival": "Card Arrival", "HACK": "HACK", "a-b/c": "a b c", "": ""} {
		if got := inWords(label); got != want {
			t.Errorf("inWords(%q) = %q, want %q", label, got, want)
		}
	}
}
