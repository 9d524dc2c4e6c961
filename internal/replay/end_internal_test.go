package replay

import "testing"

// What looks like nothing is no answer, whatever characters it has.
func TestBlank(t *testing.T) {
	for _, reply := range []string{
		"", " \n", "\u200b", "\u2060", "\u3164", "\u115f", "\u00ad", "\u2800", "\ufe0f", "\u200d\ufe0f \u2800",
	} {
		if !blank(reply) {
			t.Errorf("%q can be seen", reply)
		}
	}
	for _, reply := range []string{".", "❤️", "न", "⠿"} {
		if blank(reply) {
			t.Errorf("%q cannot be seen", reply)
		}
	}
}
