package text_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// What comes from outside is shown and commands nothing, in whatever pieces it comes.
func TestOutput(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünïcode 字 👍🏽\n":             "plain ünïcode 字 👍🏽\n",
		"::error::x\n":                     "::\u200berror::x\n",
		"a ::error::x":                     "a ::error::x",
		" \t\u00a0::set-output x":          " \t\u00a0::\u200bset-output x",
		"\x1b[31m::error::x\x1b[0m":        "\x1b[31m::\u200berror::x\x1b[0m",
		"x\r\n::é":                         "x\r\n::\u200bé",
		"::1 ::x\n:::x\n: :x":              "::1 ::x\n:::x\n: :x",
		"a ##vso[task] ##[x] ##TeamCity[y": "a ##\u200bvso[task] ##\u200b[x] ##\u200bTeamCity[y",
		"## title ##v ##team":              "## title ##v ##team",
		"###[x":                            "###\u200b[x",
		"a\x1b[2Jb\x1b]0;t\ac\rd\x7f":      `a\x1b[2Jb\x1b]0;t\x07c\x0dd\u007f`,
		"\u202eabc \U000e0041\u200b":       "\\u202eabc \\udb40\\udc41\u200b",
		"end ##":                           "end ##",
		"end \x1b[3":                       `end \x1b[3`,
	} {
		for _, size := range []int{1, 2, 3, 1000} {
			var out strings.Builder
			o := text.NewOutput(&out)
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				if written, err := io.WriteString(o, rest[:n]); written != n || err != nil {
					t.Fatal(written, err)
				}
				rest = rest[n:]
			}
			if err := o.Flush(); err != nil || out.String() != want {
				t.Errorf("%q in pieces of %d is %q, want %q (%v)", in, size, out.String(), want, err)
			}
		}
	}
}

// JSON stays what it says.
func TestOutputJSON(t *testing.T) {
	const said = "\u202e\x7f\U000e0041"
	var out strings.Builder
	data, _ := json.Marshal(said)
	_, _ = text.NewOutput(&out).Write(data)
	var read string
	if err := json.Unmarshal([]byte(out.String()), &read); err != nil || read != said {
		t.Errorf("%s is read as %q (%v)", out.String(), read, err)
	}
}
