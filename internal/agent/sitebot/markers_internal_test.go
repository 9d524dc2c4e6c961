package sitebot

import (
	"context"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
)

// passed returns what a filter makes of an answer that comes in pieces, and whether it took a marker out.
func passed(t interface{ Fatal(...any) }, believed, pieces []string) (text string, stripped bool) {
	var out strings.Builder
	f := &markerFilter{believed: believed, out: func(_ context.Context, piece string) error {
		out.WriteString(piece)
		return nil
	}}
	for _, piece := range pieces {
		if err := f.token(context.Background(), piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.end(context.Background()); err != nil {
		t.Fatal(err)
	}
	if out.String() != f.said.String() {
		t.Fatal("the tokens are", out.String(), "the answer is", f.said.String())
	}
	return out.String(), f.stripped
}

// What is not believed goes by the rule of the page, however the answer is cut into pieces, also within a character;
// all else comes through unchanged.
func TestMarkerFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{
			"👉", "👇", "💌", "👉🏽", "💌\ufe0f", " ", "a", "é", "🏽", "\ufe0f", "\n", "👍", "no",
		})
		parts := rapid.SliceOfN(part, 1, 8).Draw(t, "text")
		// two in a row of different kinds are taken out one kind after the other by the page
		for i := 1; i < len(parts); i++ {
			if strings.ContainsAny(parts[i-1], "👉👇💌") && strings.ContainsAny(parts[i], "👉👇💌") {
				parts[i] = "x"
			}
		}
		text := strings.Join(parts, "")
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got, stripped := passed(t, nil, pieces)
		if want := marker.Strip(text); got != want || stripped != strings.ContainsAny(text, "👉👇💌") {
			t.Fatalf("%q in %q: %q %v, want %q", text, pieces, got, stripped, want)
		}
		if got, stripped := passed(t, marker.All(), pieces); got != text || stripped {
			t.Fatalf("believed %q: %q %v", text, got, stripped)
		}
	})
	if got, stripped := passed(t, []string{marker.Email}, []string{"💌 a 👇", " b"}); got != "💌 a b" || !stripped {
		t.Errorf("%q", got)
	}
	if got, _ := passed(t, nil, []string{"cut \xf0\x9f"}); got != "cut \xf0\x9f" {
		t.Errorf("%q", got)
	}
}
