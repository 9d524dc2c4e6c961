package shell_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/shell"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                 nil,
		"  \n\t ":                          nil,
		"a b  c":                           {"a", "b", "c"},
		"a \\\n  b":                        {"a", "b"},
		"a \\\r\n  b":                      {"a", "b"},
		"a\\\nb":                           {"ab"},
		`'' ""`:                            {"", ""},
		`'it'\''s'`:                        {"it's"},
		`-H'a: b'"c"`:                      {"-Ha: bc"},
		`"\$ \` + "`" + ` \" \\ \n"`:       {"$ ` \" \\ \\n"},
		`$'a\'b\n\x41\u00e9\101\q'`:        {"a'b\nAéA\\q"},
		"$'\\U1F600' $'\\x' $":             {"😀", `\x`, "$"},
		"a\\ #b \\\n\"#\" $'\\'#' '$(' $/": {"a #b", "#", "'#", "$(", "$/"},
		"a#b {{c}} {d,e} ~ *.f [g]? !":     {"a#b", "{{c}}", "{d,e}", "~", "*.f", "[g]?", "!"},
	} {
		got, err := shell.Words(line)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", line, err, diff)
		}
	}
	const operator, substitution = " is for a shell: quote it, or leave it and what follows out",
		" begins a variable or a command: put it in single quotes, or write its value"
	for line, want := range map[string]string{
		"a 'b":                      "a ' at column 3 is never closed",
		`é "b`:                      `a " at column 3 is never closed`,
		"a\n$'b":                    "a ' at line 2, column 1 is never closed",
		"a | b":                     `"|" at column 3` + operator,
		"a?b=c&d=e\n":               `"&" at column 6` + operator,
		"a && b":                    `"&" at column 3` + operator,
		"a; b":                      `";" at column 2` + operator,
		"a \\\n >f":                 `">" at line 2, column 2` + operator,
		"a 2>&1":                    `">" at column 4` + operator,
		"a <(b)":                    `"(" at column 4` + operator,
		"(a)":                       `"(" at column 1` + operator,
		"a @(b)":                    `"(" at column 4` + operator,
		"a $secret":                 `"$" at column 3` + substitution,
		`a "b $secret"`:             `"$" at column 6` + substitution,
		"a \"$$'\\'$(b":             `"$" at column 4` + substitution,
		"a #'\n$(b":                 `"#" at line 1, column 3 begins a comment: quote it, or leave it and what follows out`,
		strings.Repeat("$(", 1<<19): `"$" at column 1` + substitution, // deeper than any stack
		"a ${secret":                `"$" at column 3` + substitution,
		"a $((1":                    `"$" at column 3` + substitution,
		"a $(secret)":               `"$" at column 3` + substitution,
		"a `secret`":                "\"`\" at column 3" + substitution,
		"a \"`secret":               "\"`\" at column 4" + substitution,
		"a ${{ b }}":                `"$" at column 3` + substitution,
		"a #b c":                    `"#" at column 3 begins a comment: quote it, or leave it and what follows out`,
		"a b\n#c":                   `"#" at line 2, column 1 begins a comment: quote it, or leave it and what follows out`,
		"a 'b\x00'":                 "a NUL character stands at column 5",
		"a b\\":                     `the line ends after the \ at column 4`,
		"a \xff":                    "invalid UTF-8 encoding at column 3",
	} {
		if words, err := shell.Words(line); err == nil || err.Error() != want {
			t.Errorf("%q: %q, %v, want %q", line, words, err, want)
		}
	}
}

// A real shell takes lines of quotes, backslashes and blanks apart in the same way.
func TestWordsAsBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	alphabet := []rune("ab '\"\\$#\n\t")
	var lines []string
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOfN(rapid.SampledFrom(alphabet), 0, 20, -1).Draw(t, "line")
		if _, err := shell.Words(line); err == nil {
			lines = append(lines, line)
		}
	})
	for _, line := range lines {
		words, _ := shell.Words(line)
		// Each line end outside of quotes ends a command of a shell; here it separates words.
		script := "words=(" + line + "\n); ((${#words[@]})) && printf '%s\\0' \"${words[@]}\""
		out, err := exec.Command(bash, "-c", script).Output()
		if err != nil && len(words) > 0 {
			t.Fatalf("%q: bash: %v", line, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if len(out) == 0 {
			want = nil
		}
		if diff := cmp.Diff(want, words); diff != "" {
			t.Fatalf("%q (-bash +shell):\n%s%s", line, diff, bytes.TrimSpace(out))
		}
	}
}
