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
		"":                           nil,
		"  \n\t ":                    nil,
		"a b  c":                     {"a", "b", "c"},
		"a \\\n  b":                  {"a", "b"},
		"a \\\r\n  b":                {"a", "b"},
		"a\\\nb":                     {"ab"},
		`'' ""`:                      {"", ""},
		`'it'\''s'`:                  {"it's"},
		`-H'a: b'"c"`:                {"-Ha: bc"},
		`"\$ \` + "`" + ` \" \\ \n"`: {"$ ` \" \\ \\n"},
		`$'a\'b\n\x41\u00e9\101\q'`:  {"a'b\nAéA\\q"},
		`$'\U1F600' $x | &`:          {"😀", "$x", "|", "&"},
		`$'\x' $'\400'`:              {`\x`, "\x00"},
	} {
		got, err := shell.Words(line)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", line, err, diff)
		}
	}
	for line, want := range map[string]string{`a 'b`: "' is never closed", `"b`: `" is never closed`, `$'b`: "$' is never closed", `b\`: `behind a \`} {
		if _, err := shell.Words(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

// A real shell takes lines of quotes, backslashes and blanks apart in the same way.
func TestWordsAsBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	alphabet := []rune(`ab '"\` + "\n")
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
