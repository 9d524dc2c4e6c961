package markdown

import (
	"testing"

	"pgregory.net/rapid"
)

// A sentence looks as if it had been parsed.
func TestSentencesNeedNoParser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[A-Za-zäж日][A-Za-z0-9äж日 ,.;:?!'"()/%@$-]{0,30}`).Draw(t, "text")
		from := rapid.IntRange(0, 10).Draw(t, "from")
		marks := []Mark{{from, from + rapid.IntRange(0, 20).Draw(t, "length"), "contains"}}
		if !isSentence(s) {
			return
		}
		w := newWriter(s+"\n", marks)
		w.children(parse(w.source), 0)
		w.unmark()
		if got, _ := Markdown(s, marks); string(got) != w.out.String() {
			t.Errorf("%q became %s, want %s", s, got, w.out.String())
		}
	})
}
