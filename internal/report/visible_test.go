package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestVisible(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"plain\ttext\n", "plain\ttext\n"},
		{"مرحبا 你好 👩‍👩‍👧 é", "مرحبا 你好 👩‍👩‍👧 é"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"\x1b]0;title\x07", `\x1b]0;title\x07`},
		{"\u009b31m\u0085", `\x9b31m\x85`},
		{"a\r\nb\rc", "a\nb" + `\x0dc`},
		{"\x00\x7f\b", `\x00\x7f\x08`},
		{"\u202etxt.exe\u2066x\u2069", `\u202etxt.exe\u2066x\u2069`},
		{"\u2028\u2029\ufeff\ufffe\uffff", `\u2028\u2029\ufeff\ufffe\uffff`},
		{"\U000e0041", `\U000e0041`},
		{"bad \xff utf-8", "bad \ufffd utf-8"},
	} {
		if got := visible(tc.in); got != tc.want {
			t.Errorf("visible(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestVisibleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		got := visible(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, acts) || visible(got) != got {
			t.Fatalf("visible(%q) = %q", s, got)
		}
		n := rapid.IntRange(1, 20).Draw(t, "n")
		if line := oneLine(s, n); utf8.RuneCountInString(line) > n+1 || strings.ContainsAny(line, "\n\t") {
			t.Fatalf("oneLine(%q, %d) = %q", s, n, line)
		}
		head, left := cut(got, n)
		if utf8.RuneCountInString(head)+left != utf8.RuneCountInString(got) || !strings.HasPrefix(got, head) {
			t.Fatalf("cut(%q, %d) = %q, %d", got, n, head, left)
		}
	})
}

func TestMarkdownEscapes(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"snake_case stays, _emphasis_ does not", `snake_case stays, \_emphasis\_ does not`},
		{"a|b `c` *d* [e](f) ~g~ $h$", "a\\|b \\`c\\` \\*d\\* \\[e\\](f) \\~g\\~ \\$h\\$"},
		{"<b>&amp;", "&lt;b&gt;&amp;amp;"},
		{"@octocat #12", "@\u200boctocat #\u200b12"},
		{"https://evil.example WWW.evil.example", "https\u200b://evil.example W\u200bWW.evil.example"},
		{`back\slash`, `back\\slash`},
		{"two\nlines", "two lines"},
	} {
		if got := md(tc.in); got != tc.want {
			t.Errorf("md(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{percent(0.9231), "92.3%"},
		{percent(1), "100%"},
		{percent(0.99999), "99.9%"},
		{percent(0), "0%"},
		{percent(0.00001), "0.1%"},
		{between([2]float64{0.797, 0.9734}), "79.7–97.3%"},
		{score(0.7999), "0.79"},
		{score(0.8), "0.80"},
		{score(1), "1.00"},
		{score(0.29), "0.29"},
		{count(0), "0"},
		{count(999), "999"},
		{count(1234567), "1,234,567"},
		{count(-1000), "-1,000"},
		{count(-100), "-100"},
		{many(1, "test"), "1 test"},
		{many(1000, "test"), "1,000 tests"},
		{dollars(0), "$0"},
		{dollars(0.00412), "$0.0041"},
		{dollars(0.512), "$0.512"},
		{dollars(12.3), "$12.30"},
		{took(0), "0 ms"},
		{took(0.2), "<1 ms"},
		{took(999.4), "999 ms"},
		{took(1500), "1.5 s"},
		{took(59_960), "1m 00s"},
		{took(72_340), "1m 12s"},
		{took(3_780_000), "1h 03m"},
		{signed(0.1), "+0.10"},
		{signed(-0.256), "-0.26"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}
