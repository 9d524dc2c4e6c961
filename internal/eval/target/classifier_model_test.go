package target

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// TestReadAnswer reads what a model said; whatever is none of the labels is no answer.
func TestReadAnswer(t *testing.T) {
	labels := []string{"a", "b"}
	none := Classification{}
	one := func(label string) Classification { return Classification{Label: &label, Labels: []string{label}} }
	for _, tc := range []struct {
		text    string
		several bool
		want    Classification
	}{
		{`{"label": "a"}`, false, one("a")},
		{"```json\n{\"label\": \"b\"}\n```", false, one("b")},
		{`{"label": "c"}`, false, none},
		{`{"label": null}`, false, none},
		{`{"label": ["a"]}`, false, none},
		{`}{`, false, none},
		{`a`, false, none},
		{``, false, none},
		{`{"labels": ["b", "a", "b"]}`, true, Classification{Labels: []string{"a", "b"}}},
		{`{"labels": []}`, true, Classification{Labels: []string{}}},
		{`{"labels": ["a", "c"]}`, true, none},
		{`{"label": "a"}`, true, none},
	} {
		if d := cmp.Diff(tc.want, readAnswer(tc.text, labels, tc.several)); d != "" {
			t.Errorf("%s: prediction mismatch (-want +got):\n%s", tc.text, d)
		}
	}
}

func TestChoiceQuestion(t *testing.T) {
	a := classifierRequest{message: "yes", history: []chat.Message{chat.NewMessage(chat.Assistant, "Are you sure?")}}
	if got, want := choiceQuestion(a), "assistant: Are you sure?\n\nThe last message:\nyes"; got != want {
		t.Errorf("question %q, want %q", got, want)
	}
}

func TestInWords(t *testing.T) {
	for label, want := range map[string]string{
		"card_arrival": "card arrival", "CardArrival": "Card Arrival", "HACK": "HACK", "a-b/c": "a b c", "": "",
	} {
		if got := inWords(label); got != want {
			t.Errorf("inWords(%q) = %q, want %q", label, got, want)
		}
	}
}
