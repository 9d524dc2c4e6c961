package grader

import "testing"

// TestQuotesShowEveryCharacter holds that evidence shows what a reader could not see, and leaves everything else as it
// is.
func TestQuotesShowEveryCharacter(t *testing.T) {
	for text, want := range map[string]string{
		"5\u00a0€":                     `"5\u00a0€"`,
		"a\u200bb\u202ec\ufeff":        `"a\u200bb\u202ec\ufeff"`,
		"two\nlines\tand \r\n":         `"two\u000alines\u0009and \u000d\u000a"`,
		`a "quoted" \b word`:           `"a "quoted" \b word"`,
		"❤\ufe0f and 👩\u200d💻":         `"❤\ufe0f and 👩\u200d💻"`,
		"hidden \U000e0041 tag\u3000!": `"hidden \U000e0041 tag\u3000!"`,
		"two  spaces ":                 `"two  spaces "`,
		"日本語 é":                        `"日本語 é"`,
	} {
		if got := quote(text); got != want {
			t.Errorf("quote(%+q) = %s, want %s", text, got, want)
		}
		if got := quoteEnd(text); got != want {
			t.Errorf("quoteEnd(%+q) = %s, want %s", text, got, want)
		}
	}
}
