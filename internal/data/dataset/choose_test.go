package dataset_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Warnings are counted by their codes, and neither an id nor a warning writes lines of its own.
func TestWriteWarnings(t *testing.T) {
	tests := []*dataset.Test{
		{Test: &suite.Test{ID: "clear"}},
		{Test: &suite.Test{ID: "a\ngood answers  9 of 9"}, Rebuilt: sitebot.Rebuilt{Warnings: []string{
			"unknown_role: \"boss\x1b[2J\ngood answers\"", "unknown_role: 2",
		}}},
		{Test: &suite.Test{ID: "b"}, Rebuilt: sitebot.Rebuilt{Warnings: []string{"ambiguous_cut: row 2"}}},
	}
	var each, total bytes.Buffer
	dataset.WriteWarnings(&each, tests, true, true)
	dataset.WriteWarnings(&total, tests, false, true)
	if want := "warnings      2 items with a history that is not quite clear: ambiguous_cut 1, unknown_role 2; " +
		"--verbose names the items\n"; total.String() != want {
		t.Errorf("%q", total.String())
	}
	if lines := strings.Count(each.String(), "\n"); lines != 4 || strings.Contains(each.String(), "\x1b") ||
		strings.Contains(each.String(), "\ngood") {
		t.Errorf("%d lines: %q", lines, each.String())
	}
}

// What a test's metadata says of its history is read as it was made, and as JSON has it.
func TestWarningsOf(t *testing.T) {
	for _, metadata := range []map[string]any{
		{"warnings": []string{"a: x", "b: y"}},
		{"warnings": []any{"a: x", "b: y", 7}},
	} {
		if got := dataset.WarningsOf(metadata); len(got) != 2 || got[1] != "b: y" {
			t.Errorf("%v: %q", metadata, got)
		}
	}
	for _, metadata := range []map[string]any{nil, {"warnings": "a"}, {"warnings": nil}} {
		if got := dataset.WarningsOf(metadata); got != nil {
			t.Errorf("%v: %q", metadata, got)
		}
	}
}
