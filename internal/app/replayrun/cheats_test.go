package replayrun_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/replayrun"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/importer"
)

// questions counts those of a bot that never asks the same twice.
var questions atomic.Int64

// cheats are bots that are good for nothing. None tells a state; the last one crashes on three of four conversations.
var cheats = map[string]func(w http.ResponseWriter, session string){
	"hangup":   func(w http.ResponseWriter, _ string) { said(w, "Goodbye!", true) },
	"complete": func(w http.ResponseWriter, _ string) { said(w, "That is done.", true) },
	"never":    func(w http.ResponseWriter, _ string) { said(w, "Tell me more.", false) },
	"asks": func(w http.ResponseWriter, _ string) {
		said(w, fmt.Sprintf("And what is number %d?", questions.Add(1)), false)
	},
	"silent": func(w http.ResponseWriter, _ string) { said(w, " \u200b\n", false) },
	"crash": func(w http.ResponseWriter, session string) {
		if session == "" || session[len(session)-1]%4 != 0 {
			http.Error(w, "boom", http.StatusTeapot)
			return
		}
		said(w, "That is done.", true)
	},
}

func said(w http.ResponseWriter, reply string, end bool) {
	_ = json.NewEncoder(w).Encode(map[string]any{"reply": reply, "end": end})
}

// cheatServer serves each bot below its name.
func cheatServer(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	for name, answer := range cheats {
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, r *http.Request) {
			var body struct{ Session string }
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			answer(w, body.Session)
		})
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// TestCheatsDoNotPass: none of them passes the default gate against a weak baseline, on real conversations, in the
// modes that say what was logged.
func TestCheatsDoNotPass(t *testing.T) {
	root, err := filepath.Abs("../../../examples/replay")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	targets := "targets:\n"
	address := cheatServer(t)
	for name := range cheats {
		targets += "  " + name + ": {url: \"" + address + "/" + name +
			"\", body: {session: \"{{conversation_id}}\", said: \"{{messages}}\"}, " +
			"answer: {text: $.reply, end: $.end}, retries: 0}\n"
	}
	path := filepath.Join(dir, "rehearse.yaml")
	if err := os.WriteFile(path, []byte(targets), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := wire.Open(wire.Options{Config: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	at, err := s.At(".")
	if err != nil {
		t.Fatal(err)
	}
	store := "sqlite:" + filepath.Join(dir, "star.db")
	loadExample(t, store, root)
	for name := range cheats {
		for _, mode := range []replay.Mode{replay.Recorded, replay.Forced} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				c := replayrun.Config{
					Setup: at, Store: store, Flows: filepath.Join(root, "flows"),
					Prompts: filepath.Join(root, "prompts"), Out: t.TempDir(),
					Spec: replay.Spec{
						Candidate: "target:" + name, BaselineID: "hotel_book_baseline", FlowID: "hotel_book",
						FirstDay: "2020-05-17", LastDay: "2020-05-26", MinTurns: 1, Mode: mode, Gate: replay.GatePaired,
						Rules: replay.DefaultRules(), Side: replay.After, Workers: 8, TurnTimeout: time.Minute,
					},
				}
				r, err := replayrun.Open(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = r.Close() }()
				report, err := r.Run(t.Context())
				// forced turns are conversations of their own: some turn of each fails
				if name == "crash" && errors.Is(err, replay.ErrNothingReplayed) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if g := report.Gate; g.Outcome == replay.Passed || g.Verdict == "better" || *report.Run.Better {
					t.Errorf("%s", g.Headline)
				} else {
					t.Log(g.Headline)
				}
			})
		}
	}
}

// loadExample puts the events and variants of the example into a store.
func loadExample(t *testing.T, store, root string) {
	t.Helper()
	h, err := storage.OpenHistory(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	loaded, err := importer.Import(t.Context(), importer.Files([]string{filepath.Join(root, "events.jsonl.gz")}), h,
		importer.Options{})
	if err != nil || loaded.Rejected > 0 {
		t.Fatal(loaded, err)
	}
	found, err := replay.ReadVariants(filepath.Join(root, "variants.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := found.Put(t.Context(), h.Variants)
	if err != nil || !slices.ContainsFunc(changes, func(c replay.Change) bool { return c.Kind == replay.Added }) {
		t.Fatal(changes, err)
	}
}
