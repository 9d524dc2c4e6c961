package grader

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestContains(t *testing.T) {
	runCases(t, []gradeCase{
		{"{type: contains, value: tea}", "green tea", 1, `found "tea"`},
		{"{type: contains, value: Tea}", "green tea", 0, `wanted: contains "Tea"; got: no "Tea" in "green tea"`},
		{"{type: contains, value: tea}", "", 0, `no "tea" in ""`},
		{"{type: contains, value: 100%}", "100% sure", 1, `"100%"`},
		{"{type: contains, value: '%s%d'}", "50%", 0, `wanted: contains "%s%d"; got: no "%s%d" in "50%"`},
		{"{type: contains, value: 42}", "it is 42", 1, ""},
		{"{type: contains, values: [a, b]}", "a c", 0, `no "b" in "a c"`},
		{"{type: contains, value: [a, b]}", "b a", 1, `found "a", "b"`},
		{"{type: icontains, value: TEA}", "green tea", 1, ""},
		{"{type: icontains, value: İstanbul}", "to i̇stanbul", 1, ""},
		{"{type: icontains, value: strasse}", "Große Straße", 1, ""},
		{"{type: icontains, value: ΟΔΥΣΣΕΥΣ}", "ο οδυσσευς", 1, ""},
		{"{type: icontains, value: cafe\u0301}", "Le Caf\u00e9", 1, ""},
		{"{type: icontains, value: caf\u00e9}", "LE CAFE\u0301", 1, ""},
		{"{type: icontains, value: cafe}", "cafe\u0301", 0, ""},
		{"{type: iequals, value: \u01f0}", "J\u030c", 1, ""},
		{"{type: icontains, value: coffee}", "tea", 0, `contains "coffee" in any case`},
		{"{type: contains_any, value: [a, b]}", "xb", 1, `found "b"`},
		{"{type: contains_any, value: [A, B]}", "xb", 0, `contains any of "A", "B"; got: none of them in "xb"`},
		{"{type: contains-any, values: solo}", "solo", 1, ""},
		{"{type: icontains_any, value: [A, B]}", "xb", 1, ""},
		{"{type: contains_all, value: [a, b, c]}", "b", 0, `contains all of "a", "b", "c"; got: no "a", "c" in "b"`},
		{"{type: icontains_all, value: [A, B]}", "ab", 1, ""},
		{"{type: contains_all, value: [a, b, c, d, e, f, g]}", "x", 0, "and 2 more"},
	})
}

func TestContainsProblems(t *testing.T) {
	runProblems(t, []problemCase{
		{"type: contains", 1, 3, `needs "value"`},
		{"type: contains\nvalue: ''", 2, 10, "the text is empty"},
		{"type: contains_any\nvalue: []", 2, 3, "the list is empty"},
		{"type: contains_all\nvalue:\n  - a\n  - ''", 4, 7, "the text is empty"},
		{"type: contains\nvalue: a\nvalues: b", 3, 11, "are the same"},
		{"type: contains\nvalue: {a: b}", 2, 3, "expected a list"},
		{"type: contains\nvalue: a\nvalu: b", 3, 9, "unknown key"},
		{"type: not_contains\nvalue: [a, b]", 1, 9, "two ways"},
		{"type: contaisn\nvalue: a", 1, 9, `did you mean "contains"`},
		{"type: contains\nvalue: a\nthreshold: 2", 3, 14, "out of range"},
	})
}

func TestEqualsAndAffixes(t *testing.T) {
	runCases(t, []gradeCase{
		{"{type: equals, value: 'a b'}", " a b\n", 1, ""},
		{"{type: equals, value: ' a b '}", "a b", 1, ""},
		{"{type: equals, value: a}", "A", 0, `equals "a"; got: "A"`},
		{"{type: equals, value: ''}", " \n", 1, ""},
		{"{type: equals, value: ''}", "x", 0, ""},
		{"{type: iequals, value: STRASSE}", "straße", 1, ""},
		{"{type: iequals, value: a}", "b", 0, `"a" in any case`},
		{
			"{type: equals, value: " + strings.Repeat("x", 200) + "}", strings.Repeat("x", 199) + "y", 0,
			"differs from character 200 on",
		},
		{"{type: starts_with, value: Dear}", "\n Dear Sir", 1, ""},
		{"{type: starts_with, value: 'Dear '}", "Dearest", 0, `starts with "Dear "`},
		{"{type: starts_with, value: dear}", "Dear", 0, ""},
		{"{type: istarts_with, value: dear}", "DEAR", 1, ""},
		{"{type: starts_with, value: a}", "", 0, `got: ""`},
		{"{type: ends_with, value: '100%'}", "it is 100% \n", 1, ""},
		{"{type: ends_with, value: bye}", strings.Repeat("x ", 500) + "BYE", 0, `x BYE"`},
		{"{type: iends_with, value: bye}", "BYE", 1, ""},
	})
	runProblems(t, []problemCase{
		{"type: equals", 1, 3, `needs "value"`},
		{"type: starts_with\nvalue: ' '", 2, 10, "the text is empty"},
		{"type: ends_with\nvalue: [a]", 2, 3, "expected text, got a list"},
	})
}

func TestRegex(t *testing.T) {
	runCases(t, []gradeCase{
		{`{type: regex, value: '\d+ %'}`, "about 50 %", 1, `matched "50 %"`},
		{"{type: regex, value: '^tea$'}", "green\ntea", 0, `matches "^tea$"; got: no match in "green\u000atea"`},
		{"{type: regex, value: '^tea$', flags: m}", "green\ntea", 1, ""},
		{"{type: regex, value: 'a.b', flags: s}", "a\nb", 1, ""},
		{"{type: regex, value: 'A|B', flags: i}", "xb", 1, ""},
		{"{type: regex, value: '^$'}", "", 1, `matched ""`},
		{"{type: regex, value: 'ü'}", "über", 1, ""},
		{`{type: regex, value: '5\s€'}`, "5\u00a0€", 0, `wanted: matches "5\s€"; got: no match in "5\u00a0€"`},
		{"{type: regex, value: caf\u00e9}", "cafe\u0301", 1, ""},
		{"{type: regex, value: 'cafe\u0301$'}", "caf\u00e9", 1, ""},
		{"{type: regex, value: /path}", "/path/i", 1, ""},
	})
	runProblems(t, []problemCase{
		{"type: regex", 1, 3, `needs "value"`},
		{"type: regex\nvalue: '('", 2, 10, "not a valid pattern: missing closing )"},
		{"type: regex\nvalue: '(?=x)'", 2, 10, "no look-ahead"},
		{"type: regex\nvalue: '(?<!x)y'", 2, 10, "no look-ahead"},
		{`type: regex` + "\n" + `value: '(a)\1'`, 2, 10, "back-references"},
		{"type: regex\nvalue: a\nflags: g", 3, 10, "unknown flags"},
		{"type: regex\nvalue: /refund/i", 2, 10, "write value: 'refund'"},
	})
}

func TestWordCount(t *testing.T) {
	runCases(t, []gradeCase{
		{"{type: word_count, value: 2}", " two\twords ", 1, "2 words"},
		{"{type: word_count, value: 2}", "one", 0, "wanted: exactly 2 words; got: 1 word"},
		{"{type: word_count, max: 0}", "", 1, "0 words"},
		{"{type: word_count, max: 0}", "one", 0, "wanted: at most 0 words; got: 1 word"},
		{"{type: word_count, min: 0, max: 0}", "one", 0, "wanted: 0 to 0 words; got: 1 word"},
		{"{type: word_count, value: 0}", "one", 0, "wanted: exactly 0 words; got: 1 word"},
		{"{type: word_count, min: 2}", "one", 0, "at least 2 words; got: 1 word"},
		{"{type: word_count, min: 1, max: 3}", "a b c d", 0, "1 to 3 words; got: 4"},
		{"{type: word_count, max: 4}", "ein kühler 日本", 1, "4 words"},
		{"{type: word_count, value: 5}", "我喜欢喝tea。", 1, "5 words"},
		{"{type: word_count, value: 3}", "it's — so", 1, "3 words"},
		{"{type: word_count, value: 4}", "お茶です。", 1, "4 words"},
	})
	runProblems(t, []problemCase{
		{"type: word_count", 1, 3, "needs a bound"},
		{"type: word_count\nmin: 3\nmax: 2", 2, 8, "min 3 is greater than max 2"},
		{"type: word_count\nmin: 1\nmax: 0", 2, 8, "min 1 is greater than max 0"},
		{"type: word_count\nvalue: 3\nmax: 2", 2, 10, "cannot stand beside"},
		{"type: word_count\nvalue: 0\nmax: 0", 2, 10, "cannot stand beside"},
		{"type: word_count\nvalue: 0\nmin: 0", 2, 10, "cannot stand beside"},
		{"type: word_count\nmin: -1", 2, 8, "too small"},
		{"type: word_count\nmin: many", 2, 8, "expected a whole number"},
	})
}

// Letters that are one letter in two cases are the same once case is ignored.
func TestFoldKnowsEveryLetter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if other := unicode.SimpleFold(r); other != r && caseIgnored.of(string(r)) != caseIgnored.of(string(other)) {
			t.Errorf("%q and %q differ when case is ignored", r, other)
		}
	}
}

func TestFoldTwiceIsFoldOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if once := caseIgnored.of(text); caseIgnored.of(once) != once {
			t.Fatalf("folding %q twice is not folding it once", text)
		}
	})
}
