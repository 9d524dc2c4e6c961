package recording

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
)

var drawKey = regexp.MustCompile(`"draw_key":"[^"]+"`)

// A recording continues after its last whole line, whether a crash has left half a line or an editor has taken the last
// line's end.
func TestContinuedRecording(t *testing.T) {
	for name, cut := range map[string]func(path string) string{
		"whole":           func(path string) string { return path },
		"half a line":     func(path string) string { return path + `{"n":2,"mod` },
		"without its end": func(path string) string { return strings.TrimSuffix(path, "\n") },
		"nothing":         func(string) string { return "" },
		"half the head":   func(string) string { return `{"kind":"cas` },
	} {
		path := filepath.Join(t.TempDir(), "recording.jsonl")
		var warned []string
		record := func(text string) {
			s, err := Open(Options{
				Record: path, Append: true, Secrets: redact.New(nil),
				Warn: func(text string) { warned = append(warned, text) },
			})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s.used.Store(true)
			if err := s.recorder.RecordTurn(t.Context(), text, time.Second); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		record("before")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(cut(string(data))), 0o600); err != nil {
			t.Fatal(err)
		}
		record("after")
		if half := strings.Contains(name, "half"); half != (len(warned) == 1) {
			t.Errorf("%s: warned of %q", name, warned)
		}
		play, err := Open(Options{Playback: path, Secrets: redact.New(nil)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if took := play.player.Turn(t.Context(), "after"); took != time.Second {
			t.Errorf("%s: what was recorded behind it is lost", name)
		}
		first, _ := os.ReadFile(path)
		keys := drawKey.FindAllString(string(first), -1)
		if whole := name == "whole" || name == "half a line" || name == "without its end"; whole &&
			(len(keys) != 2 || keys[0] != keys[1]) {
			t.Errorf("%s: keys of draws %q, want the same one twice", name, keys)
		}
		kept := play.player.Turn(t.Context(), "before") != 0
		if lost := name == "nothing" || name == "half the head"; kept == lost {
			t.Errorf("%s: kept what was before: %v", name, kept)
		}
		if err := play.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
