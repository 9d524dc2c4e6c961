package marker_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
)

func TestOf(t *testing.T) {
	for _, tc := range []struct {
		text string
		want marker.Marks
	}{
		{"", marker.Marks{}},
		{"👉 What stage? 👉 Which size?", marker.Marks{Questions: 2}},
		{"See👇🏽it and 💌", marker.Marks{Demo: true, Email: true}},
		{"☝ 👆 ✉️", marker.Marks{}},
	} {
		if got := marker.Of(tc.text); got != tc.want {
			t.Errorf("Of(%q) = %+v, want %+v", tc.text, got, tc.want)
		}
	}
}

func TestStrip(t *testing.T) {
	for text, want := range map[string]string{
		"👉 What stage?":   "What stage?",
		"Now 👇🏿 the demo": "Now the demo",
		"💌\ufe0f  twice":  " twice",
		"👉👉 a":            "a",
		"plain":           "plain",
		"end 👇":           "end ",
	} {
		if got := marker.Strip(text); got != want {
			t.Errorf("Strip(%q) = %q, want %q", text, got, want)
		}
	}
}
