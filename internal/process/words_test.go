package process

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"python3 check.py":            {"python3", "check.py"},
		`  a  "b c" 'd "e"' f\ g`:     {"a", "b c", `d "e"`, "f g"},
		`x "" ''`:                     {"x", "", ""},
		`a"b c"d`:                     {"ab cd"},
		`"a\"b" '\'`:                  {`a"b`, `\`},
		"$HOME; rm -rf / | `x` > y *": {"$HOME;", "rm", "-rf", "/", "|", "`x`", ">", "y", "*"},
	} {
		got, err := Words(line)
		if err != nil {
			t.Errorf("Words(%s): %v", line, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("Words(%s) mismatch (-want +got):\n%s", line, d)
		}
	}
	for _, line := range []string{"", " ", `"a`, `'a`, `a\`} {
		if words, err := Words(line); err == nil {
			t.Errorf("Words(%q) = %q, want an error", line, words)
		}
	}
}
