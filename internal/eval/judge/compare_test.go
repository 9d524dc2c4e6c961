package judge_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
)

// TestCompare: the answers change places for the second ask, and a preference that stays with the place is a tie.
func TestCompare(t *testing.T) {
	q := grader.Question{
		Mode: grader.Compare, Input: []chat.Message{chat.NewMessage(chat.User, "which?")}, Output: "red", Other: "blue",
		Criteria: "better",
	}
	says := func(word string) string { return `{"preferred": "` + word + `", "reasoning": "` + word + ` it is"}` }
	for _, tc := range []struct {
		name    string
		replies []string
		score   float64
		err     string
	}{
		{"the first answer at both places", []string{says("a"), says("b")}, 1, ""},
		{"the second answer at both places", []string{says("b"), says("A")}, 0, ""},
		{"the first place", []string{says("a"), says("a")}, 0.5, ""},
		{"a tie", []string{says("tie"), says("tie")}, 0.5, ""},
		{"a tie once", []string{says("a"), says("tie")}, 0.5, ""},
		{"repaired", []string{"red!", says("a"), says("b")}, 1, ""},
		{"no preference", []string{says("both"), says("both")}, 0, "not a, b or tie"},
		{"null", []string{`{"preferred": null}`, `{"preferred": null}`}, 0, "null"},
		{"a quotation", []string{says("a"), "no", "no"}, 0, "no usable answer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &script{replies: tc.replies}
			v, err := judge.New(judge.Config{Primary: named("m", m)}).Decide(t.Context(), q)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%+v, %v; want %q", v, err, tc.err)
				}
				return
			}
			if err != nil || v.Score != tc.score || v.Orders == nil || v.Use.Calls != len(tc.replies) {
				t.Fatalf("%+v, %v; want %g", v, err, tc.score)
			}
			first, last := m.asked[0].Messages[1].Content.Text, m.asked[len(m.asked)-1].Messages[1].Content.Text
			if !strings.Contains(first, `"answer_a":"red","answer_b":"blue"`) ||
				!strings.Contains(last, `"answer_a":"blue","answer_b":"red"`) {
				t.Errorf("the answers do not change places:\n%s\n%s", first, last)
			}
		})
	}
	// A panel takes the median; what is between a preference and a tie is a tie.
	for _, tc := range []struct {
		words [][2]string
		score float64
	}{
		{[][2]string{{"a", "b"}, {"a", "b"}, {"b", "a"}}, 1},
		{[][2]string{{"a", "b"}, {"b", "a"}}, 0.5},
		{[][2]string{{"a", "b"}, {"tie", "tie"}}, 0.5},
	} {
		var models []judge.Named
		for i, w := range tc.words {
			models = append(models, named(string(rune('m'+i)), &script{replies: []string{says(w[0]), says(w[1])}}))
		}
		if v, err := judge.New(judge.Config{Panel: models}).Decide(t.Context(), q); err != nil || v.Score != tc.score {
			t.Errorf("%v: %+v, %v", tc.words, v, err)
		}
	}
}
