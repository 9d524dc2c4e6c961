package main

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestRemoved checks that removed commands and flags exit with 2 and name their replacements, and that
// docs/decisions/removed.md has each of them.
func TestRemoved(t *testing.T) {
	page, err := os.ReadFile("../../docs/decisions/removed.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range removed {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/decisions/removed.md lacks `%s`", name)
		}
	}
	defer func(before map[string]string) { removed = before }(removed)
	removed = maps.Clone(removed)
	removed["oldest"], removed["kb oldest"], removed["kb search --oldest"] = "the new one", "the new one", "the new one"
	for name, replacement := range removed {
		gone := name
		if i := strings.Index(name, "--"); i >= 0 {
			gone = name[i:]
		}
		wanted := "rehearse: " + gone + " removed: use " + replacement + "\n"
		for _, more := range [][]string{nil, {"argument"}, {"--flag-of-the-old-one", "1"}, {"--help"}} {
			if gone != name && len(more) > 0 && more[0] == "--flag-of-the-old-one" {
				continue // pflag reports the first unknown flag
			}
			var stderr bytes.Buffer
			env := &Env{
				Stdin: strings.NewReader(""), Stdout: &stderr, Stderr: &stderr, Now: time.Now,
				LookupEnv: func(string) (string, bool) { return "", false },
			}
			args := append(strings.Fields(name), more...)
			if code := Main(t.Context(), env, args); code != result.ExitInvalid || stderr.String() != wanted {
				t.Errorf("rehearse %q: code %d, %q; want code 2, %q", args, code, stderr.String(), wanted)
			}
		}
	}
}
