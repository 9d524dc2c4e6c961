package text_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/text"
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
		{"\u200e\u200f\u061c", `\u200e\u200f\u061c`},
		{"\u2028\u2029\ufeff\ufffe\uffff", `\u2028\u2029\ufeff\ufffe\uffff`},
		{"zero\u200bwidth so\u00adft", `zero\u200bwidth so\xadft`},
		{"\U000e0041\U000e0100", `\U000e0041\U000e0100`},
		{"می‌خواهم ۝ ❤️", "می‌خواهم ۝ ❤️"}, //nolint:staticcheck // people write so
		{"bad \xff utf-8", "bad \ufffd utf-8"},
	} {
		if got := text.Visible(tc.in); got != tc.want {
			t.Errorf("Visible(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestStripped(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{" two\n\u2028lines\u00a0", "two lines"},
		{"\x1b[31mred \u202egnp\u200b", "[31mred gnp"},
		{"bad \xff", "bad \ufffd"},
	} {
		if got := text.Stripped(tc.in); got != tc.want {
			t.Errorf("Stripped(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string {
			return string(b)
		})).Draw(t, "s")
		got := text.Visible(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, text.Dangerous) || text.Visible(got) != got {
			t.Fatalf("Visible(%q) = %q", s, got)
		}
		if got := text.Stripped(s); strings.ContainsFunc(got, text.Dangerous) || strings.ContainsAny(got, "\n\t") {
			t.Fatalf("Stripped(%q) = %q", s, got)
		}
		n := rapid.IntRange(1, 20).Draw(t, "n")
		if line := text.OneLine(s, n); utf8.RuneCountInString(line) > n+1 || strings.ContainsAny(line, "\n\t") {
			t.Fatalf("OneLine(%q, %d) = %q", s, n, line)
		}
		head, left := text.Cut(got, n)
		if utf8.RuneCountInString(head)+left != utf8.RuneCountInString(got) || !strings.HasPrefix(got, head) {
			t.Fatalf("Cut(%q, %d) = %q, %d", got, n, head, left)
		}
		if clipped := text.Clip(got, n); utf8.RuneCountInString(clipped) > n+1 || left == 0 && clipped != got {
			t.Fatalf("Clip(%q, %d) = %q", got, n, clipped)
		}
		if quiet := text.NoCommand(got); strings.ReplaceAll(quiet, "\u200b", "") != got ||
			text.NoCommand(quiet) != quiet {
			t.Fatalf("NoCommand(%q) = %q", got, quiet)
		}
	})
}

func TestNoCommand(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"::error file=a::x", "::\u200berror file=a::x"},
		{"a\n \t::set-output::x", "a\n \t::\u200bset-output::x"},
		{"\u00a0\x1b[31m::error::x\x1b[0m", "\u00a0\x1b[31m::\u200berror::x\x1b[0m"},
		{"std::vector, a :: b, ::1", "std::vector, a :: b, ::1"},
		{"x ##vso[task.complete]", "x ##\u200bvso[task.complete]"},
		{"##VSO[a] ##[error] ##TeamCity[b]", "##\u200bVSO[a] ##\u200b[error] ##\u200bTeamCity[b]"},
		{"## heading [x]", "## heading [x]"},
	} {
		if got := text.NoCommand(tc.in); got != tc.want {
			t.Errorf("NoCommand(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"snake_case stays, _emphasis_ does not", `snake_case stays, \_emphasis\_ does not`},
		{"a|b `c` *d* [e](f) ~g~ $h$", "a\\|b \\`c\\` \\*d\\* \\[e\\](f) \\~g\\~ \\$h\\$"},
		{"<b>&amp;", "&lt;b&gt;&amp;amp;"},
		{"@octocat #12", "@\u200boctocat #\u200b12"},
		{"https://evil.example WWW.evil.example", "https\u200b://evil.example W\u200bWW.evil.example"},
		{`back\slash`, `back\\slash`},
		{"two\nlines", "two lines"},
	} {
		if got := text.Markdown(tc.in); got != tc.want {
			t.Errorf("Markdown(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
	if got, want := text.MarkdownHTML("<b> *x* @y"), "&lt;b&gt; *x* @\u200by"; got != want {
		t.Errorf("MarkdownHTML = %q, want %q", got, want)
	}
}

func TestNumbers(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{text.Percent(0.9231), "92.3%"},
		{text.Percent(1), "100%"},
		{text.Percent(0.99999), "99.9%"},
		{text.Percent(0), "0%"},
		{text.Percent(0.00001), "0.1%"},
		{text.PercentRange([2]float64{0.797, 0.9734}), "79.7–97.3%"},
		{text.Count(0), "0"},
		{text.Count(999), "999"},
		{text.Count(1234567), "1,234,567"},
		{text.Count(-1000), "-1,000"},
		{text.Count(-100), "-100"},
		{text.Plural(1, "test"), "1 test"},
		{text.Plural(1000, "test"), "1,000 tests"},
		{text.Dollars(0), "$0"},
		{text.Dollars(0.00412), "$0.0041"},
		{text.Dollars(0.512), "$0.512"},
		{text.Dollars(12.3), "$12.30"},
		{text.Duration(0), "0 ms"},
		{text.Duration(time.Nanosecond), "<1 ms"},
		{text.Milliseconds(0), "0 ms"},
		{text.Milliseconds(0.2), "<1 ms"},
		{text.Milliseconds(999.4), "999 ms"},
		{text.Milliseconds(1500), "1.5 s"},
		{text.Milliseconds(59_960), "1m 00s"},
		{text.Milliseconds(72_340), "1m 12s"},
		{text.Milliseconds(3_780_000), "1h 03m"},
		{text.Capital("élan"), "Élan"},
		{text.Capital(""), ""},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}

func TestTable(t *testing.T) {
	rows := [][]string{{"name", "n", "about"}, {"你好", "12", ""}, {"a", "3", "x"}}
	got := text.Table(rows, func(column int) bool { return column == 1 })
	want := []string{"name   n  about", "你好  12", "a      3  x"}
	if !slices.Equal(got, want) {
		t.Errorf("Table = %q, want %q", got, want)
	}
	if got := text.Truncate("你好你好", 5, "…"); got != "你好…" {
		t.Errorf("Truncate = %q", got)
	}
}

func TestJSONIn(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"a": 1}`, `{"a": 1}`},
		{"Sure:\n```json\n{\"a\": 1}\n```\nIs {that} all?", `{"a": 1}`},
		{"```\n{\"a\": 1}", `{"a": 1}`},
		{`I say {"a": {"b": 1}}, no more.`, `{"a": {"b": 1}}`},
		{"{\"a\": \"```\\n{}\\n```\"}", "{\"a\": \"```\\n{}\\n```\"}"},
		{"Here: {\"a\": \"use ```{x}```\"}", "{\"a\": \"use ```{x}```\"}"},
		{"```\ncode\n```\nand {\"a\": 1}", `{"a": 1}`},
		{"", ""},
		{"none", ""},
		{"} {", ""},
	} {
		got, ok := text.JSONIn(tc.in)
		if string(got) != tc.want || ok != (tc.want != "") {
			t.Errorf("JSONIn(%q) = %q, %t, want %q", tc.in, got, ok, tc.want)
		}
	}
}
