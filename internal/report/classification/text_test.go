package classification

import (
	"strings"
	"testing"
)

// TestLabelIsHarmless looks at texts that files bring along.
func TestLabelIsHarmless(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for text, want := range map[string]string{
		"a\nb\t c": "a b c", "\x1b[31m": `\x1b[31m`, "\u202ex": `\u202ex`, long: strings.Repeat("é", maxShown) + "…",
	} {
		if got := shownLabel(text); got != want {
			t.Errorf("shownLabel(%.20q) = %q, want %q", text, got, want)
		}
	}
	if got := code("a`b|c"); got != "`a'b\\|c`" {
		t.Errorf("code = %s", got)
	}
}

func TestShort(t *testing.T) {
	for x, want := range map[float64]string{0: "0.00", 1: "1.00", 0.8: "0.80", 0.75: "0.75", 0.7333: "0.7333"} {
		if got := short(x); got != want {
			t.Errorf("short(%v) = %s, want %s", x, got, want)
		}
	}
}

// TestLabelsDoNotAct: the classification's table, page and Markdown show names of labels through one filter.
func TestLabelsDoNotAct(t *testing.T) {
	if got, want := shownLabel("a\u2028b\u200ec\x1b[2J\U000e0041 d\n"), `a\u2028b\u200ec\x1b[2J\U000e0041 d`; got != want {
		t.Errorf("label = %q, want %q", got, want)
	}
}
