package main

import (
	"strings"
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

// TestLabelIsHarmless looks at texts that files bring along.
func TestLabelIsHarmless(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for text, want := range map[string]string{
		"a\nb\t c": "a b c", "\x1b[31m": `\x1b[31m`, "\u202ex": `\u202ex`, long: strings.Repeat("é", maxShown) + "…",
	} {
		if got := label(text); got != want {
			t.Errorf("label(%.20q) = %q, want %q", text, got, want)
		}
	}
	if got := code("a`b|c"); got != "`a'b\\|c`" {
		t.Errorf("code = %s", got)
	}
}

func TestShort(t *testing.T) {
	for x, want := range map[float64]string{0: "0.00", 1: "1.00", 0.8: "0.80", 0.75: "0.75", 0.7333: "0.7333"} {
		if got := short(x); got != want {
			t.Errorf("short(%v) = %s, want %s", x, got, want)
		}
	}
}

// TestLabelsDoNotAct: the classification's table, page and Markdown show names of labels through one filter.
func TestLabelsDoNotAct(t *testing.T) {
	if got, want := label("a\u2028b\u200ec\x1b[2J\U000e0041 d\n"), `a\u2028b\u200ec\x1b[2J\U000e0041 d`; got != want {
		t.Errorf("label = %q, want %q", got, want)
	}
}
