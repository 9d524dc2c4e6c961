package replayrun_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// TestOneOfTwoBegins: of two processes that have both found a run free, new or broken off, one replays it; the other
// says where it goes on, asks nobody anything, and leaves the reports alone.
func TestOneOfTwoBegins(t *testing.T) {
	root, err := filepath.Abs("../../../examples/replay")
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"reply": "Well."})
	}))
	t.Cleanup(agent.Close)
	dir := t.TempDir()
	path := filepath.Join(dir, "rehearse.yaml")
	target := `targets: {bot: {url: "` + agent.URL + `", body: {said: "{{messages}}"}, answer: {text: $.reply}}}`
	if err := os.WriteFile(path, []byte(target), 0o600); err != nil {
		t.Fatal(err)
	}
	store := "sqlite:" + filepath.Join(dir, "star.db")
	loadExample(t, store, root)
	config := replayrun.Config{
		Setup: setupOf(t, path), Store: store, Out: filepath.Join(dir, "out"),
		Spec: replay.Spec{
			RunID: "3a4e6f50-0000-4000-8000-000000000004", Candidate: "target:bot", FlowID: "hotel_book",
			FirstDay: "2020-05-17", LastDay: "2020-05-26", MinTurns: 1, Mode: replay.Recorded, Gate: replay.GatePaired,
			Rules: replay.DefaultRules(), Side: replay.After, Workers: 8, TurnTimeout: time.Minute,
		},
	}
	for _, what := range []string{"a new run", "a run that has ended"} {
		open := func() *replayrun.Run {
			t.Helper()
			r, err := replayrun.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.Close() })
			return r
		}
		one, other := open(), open()
		if _, err := one.Run(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if _, err := other.Run(t.Context()); !source.IsInvalid(err) ||
			!strings.Contains(err.Error(), "still goes on elsewhere") {
			t.Errorf("%s: the other one is held, too: %v", what, err)
		}
		if _, err := os.Stat(filepath.Join(config.Out, "report.json")); err != nil {
			t.Errorf("%s: its reports are gone: %v", what, err)
		}
	}
}
