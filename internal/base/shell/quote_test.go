package shell_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/shell"
)

// TestQuotedIsOneWord checks that a quoted text reads as the same text.
func TestQuotedIsOneWord(t *testing.T) {
	alphabet := []rune(`aé '"\$|&~!#{}*=` + "`\n\t\x1b\u202e")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom(alphabet)).Draw(t, "text")
		words, err := shell.Words(shell.Quote(text))
		if diff := cmp.Diff([]string{text}, words); diff != "" || err != nil {
			t.Fatalf("%q: %v\n%s", text, err, diff)
		}
	})
	for text, want := range map[string]string{
		"": "''", "evals/suite-1.yaml": "evals/suite-1.yaml", "a b": "'a b'", "a\x00": `"a\x00"`,
	} {
		if got := shell.Quote(text); got != want {
			t.Errorf("%q is quoted %s, want %s", text, got, want)
		}
	}
}
