package grader

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/spec/label"
)

// TestLabels reads predictions from what targets say.
func TestLabels(t *testing.T) {
	none := label.Prediction{Null: true}
	one := func(labels ...string) label.Prediction { return label.Prediction{Labels: labels} }
	sure := one("refund")
	sure.Confidence = new(0.5)
	for _, tc := range []struct {
		text, node string
		several    bool
		want       label.Prediction
	}{
		{"refund", "", false, one("refund")},
		{" Refund\n", "delivery", false, one("refund")},
		{"refund, delivery", "delivery", false, one("delivery")},
		{"Refund,\ndelivery, REFUND", "", true, one("refund", "delivery")},
		{"refund, other", "", true, none},
		{"I think it is a refund", "", false, none},
		{"", "", false, none},
		{"", "", true, none},
		{`{"intent": "refund", "confidence": 0.5}`, "delivery", false, sure},
		{"It is\n```json\n{\"skill\": \"REFUND\"}\n```\nor not", "", false, one("refund")},
		{`{"label": "exchange"}`, "delivery", false, one("exchange")},
		{`{"label": null}`, "delivery", false, none},
		{`{"labels": ["Refund", "refund", "delivery"]}`, "", true, one("delivery", "refund")},
		{`{"labels": []}`, "delivery", true, label.Prediction{Labels: []string{}}},
		{`{"label": "refund"}`, "", true, one("refund")},
		// What is no prediction, however it looks, leaves the word to the node.
		{`{"labels": ["refund", "delivery"]}`, "delivery", false, one("delivery")},
		{`{"label": "refund", "intent": "delivery"}`, "", false, none},
		{`{"label": {"name": "refund"}}`, "", false, none},
		{`{"label": "refund", "confidence": 7}`, "", false, none},
		{`{"label": "__null__"}`, "", false, none},
		{`{"label": "` + strings.Repeat("x", 201) + `"}`, "", false, none},
		{`{"price": 3}`, "refund", false, one("refund")},
		{`}{`, "", false, none},
		{`{"label": "refund"`, "", false, none},
	} {
		r := Labels{Known: []string{"refund", "delivery"}, Several: tc.several}
		if d := cmp.Diff(tc.want, r.Prediction(tc.text, tc.node, []byte(`{"next_node_id": "x"}`))); d != "" {
			t.Errorf("%s (node %q): prediction mismatch (-want +got):\n%s", tc.text, tc.node, d)
		}
	}
}

// TestLabelsOfChatbots reads what a turn of a chatbot has found; its text is for people.
func TestLabelsOfChatbots(t *testing.T) {
	none := label.Prediction{Null: true}
	for _, tc := range []struct {
		state   string
		several bool
		want    label.Prediction
	}{
		{
			`{"intent_classification_state": {"intent": "LEARN", "confidence": 0.5}}`, false,
			label.Prediction{Labels: []string{"LEARN"}, Confidence: new(0.5)},
		},
		{`{"intent_classification_state": {"intent": ""}}`, false, none},
		{
			`{"skill_selection_state": {"skills": ["ask_email"], "applied": []}}`, true,
			label.Prediction{Labels: []string{}},
		},
		{
			`{"skill_selection_state": {"applied": ["ask_email"]}}`, true,
			label.Prediction{Labels: []string{"ask_email"}},
		},
		{`{"skill_selection_state": null}`, true, none},
		// What a classifier says.
		{
			`{"label": "BOOKING", "labels": ["BOOKING"], "confidence": 0.5}`, false,
			label.Prediction{Labels: []string{"BOOKING"}, Confidence: new(0.5)},
		},
		{`{"label": null, "labels": [], "confidence": null}`, true, label.Prediction{Labels: []string{}}},
		{`{"label": null, "labels": null, "confidence": null}`, false, none},
		// Neither.
		{`[]`, false, label.Prediction{Labels: []string{"LEARN"}}},
	} {
		r := Labels{Known: []string{"LEARN", "BOOKING"}, Several: tc.several}
		if d := cmp.Diff(tc.want, r.Prediction("LEARN", "BOOKING", []byte(tc.state))); d != "" {
			t.Errorf("%s: prediction mismatch (-want +got):\n%s", tc.state, d)
		}
	}
}

func TestLabel(t *testing.T) {
	runCases(t, []gradeCase{
		{"{type: label, value: refund}", "Refund", 1, `the label "refund"`},
		{
			"{type: label, value: refund}", `{"label": "delivery"}`, 0,
			`wanted: the label "refund"; got: the label "delivery"`,
		},
		{"{type: label, value: refund}", "delivery", 0, "got: no prediction"},
		{"{type: label, value: refund, labels: [delivery]}", "delivery", 0, `got: the label "delivery"`},
		{"{type: label, value: [a, b]}", "b, a", 1, ""},
		{"{type: label, value: [a, b]}", "a", 0, `wanted: the label "a", "b"; got: the label "a"`},
		{"{type: label, value: []}", `{"labels": []}`, 1, "the label none"},
	})
	runProblems(t, []problemCase{{"type: label", 1, 3, `label needs "value"`}})
}
