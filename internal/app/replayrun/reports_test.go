package replayrun_test

import (
	"bytes"
	"context"
	"errors"
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
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestNoReportOfAnotherRun leaves nothing of an earlier run in a folder when the run there comes to no report: whoever
// looks there would find it passed. The error says why pairs were lost.
func TestNoReportOfAnotherRun(t *testing.T) {
	root, err := filepath.Abs("../../../examples/replay")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	path := filepath.Join(dir, "rehearse.yaml")
	if err := os.WriteFile(path, []byte("targets: {crash: {url: \""+server.URL+
		"\", body: {said: \"{{messages}}\"}, answer: {text: $.reply, end: $.end}, retries: 0}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := "sqlite:" + filepath.Join(dir, "star.db")
	loadExample(t, store, root)
	c := replayrun.Config{
		Setup: setupOf(t, path), Store: store, Flows: filepath.Join(root, "flows"),
		Prompts: filepath.Join(root, "prompts"), Out: filepath.Join(dir, "out"), Sessions: true,
		Spec: replay.Spec{
			Candidate: "variant:hotel_book_baseline", BaselineID: "hotel_book_baseline", FlowID: "hotel_book",
			FirstDay: "2020-05-17", LastDay: "2020-05-26", MinTurns: 1, SampleSize: 5, Mode: replay.Recorded,
			Gate: replay.GatePaired, Rules: replay.DefaultRules(), Side: replay.After, Workers: 2,
			TurnTimeout: time.Minute,
		},
	}
	hold := func() error {
		r, err := replayrun.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		_, err = r.Run(t.Context())
		return err
	}
	if err := hold(); err != nil {
		t.Fatal(err)
	}
	c.Spec.Candidate, c.Sessions = "target:crash", false
	if err := hold(); !errors.Is(err, replay.ErrNothingReplayed) ||
		!strings.Contains(err.Error(), "candidate, turn 1") || !strings.Contains(err.Error(), "418") {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(c.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range left {
		if strings.HasPrefix(file.Name(), "report.") || file.Name() == "sessions.jsonl" {
			t.Errorf("%s of another run is left", file.Name())
		}
	}
	run, err := runlog.ReadRun(c.Out)
	if err != nil || run.Code() != result.ExitNotRun || run.Totals.Errors != 5 || run.Totals.Planned != 5 {
		t.Errorf("the record of the run: %+v, %v", run.Totals, err)
	}
}

// TestInterruptedReplayIsNotWhole checks that the record of an interrupted replay counts the sessions that were not
// replayed, so that no rate of those that were looks like the run's.
func TestInterruptedReplayIsNotWhole(t *testing.T) {
	root, err := filepath.Abs("../../../examples/replay")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "rehearse.yaml")
	if err := os.WriteFile(path, []byte("targets: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := "sqlite:" + filepath.Join(dir, "star.db")
	loadExample(t, store, root)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := replayrun.Open(t.Context(), replayrun.Config{
		Setup: setupOf(t, path), Store: store, Flows: filepath.Join(root, "flows"),
		Prompts: filepath.Join(root, "prompts"), Out: filepath.Join(dir, "out"),
		Progress: func(int) { cancel() },
		Spec: replay.Spec{
			Candidate: "variant:hotel_book_baseline", BaselineID: "hotel_book_baseline", FlowID: "hotel_book",
			FirstDay: "2020-05-17", LastDay: "2020-05-26", MinTurns: 1, Mode: replay.Recorded,
			Gate: replay.GatePaired, Rules: replay.DefaultRules(), Side: replay.After, Workers: 1,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := r.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	for _, folder := range []string{"", replayrun.BaselineDir} {
		run, err := runlog.ReadRun(filepath.Join(dir, "out", folder))
		if err != nil || run.Code() != result.ExitInterrupted || run.Totals.NotRun == 0 || run.Totals.Tests == 0 ||
			run.Rate != nil {
			t.Errorf("%q: code %d, %+v, rate %v, %v", folder, run.Code(), run.Totals, run.Rate, err)
		}
	}
}

// TestClearLeavesFilesOfOthers: what the user has in the folder stays, and a run that would write over it is refused.
func TestClearLeavesFilesOfOthers(t *testing.T) {
	const theirs = "{\"session_id\": \"a\", \"messages\": []}\n"
	for _, test := range []struct {
		file     string
		sessions bool
		refused  bool
	}{
		{"sessions.jsonl", false, false}, {"sessions.jsonl", true, true}, {"report.json", false, true},
		{"report.md", false, true}, {"report.html", true, true}, {"notes.md", true, false},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, test.file)
		if err := os.WriteFile(path, []byte(theirs), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := replayrun.Clear(dir, test.sessions); (err != nil) != test.refused ||
			test.refused && (!source.IsInvalid(err) || !strings.Contains(err.Error(), test.file)) {
			t.Errorf("%s, sessions %t: %v", test.file, test.sessions, err)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, []byte(theirs)) {
			t.Errorf("%s, sessions %t: it is not left: %v", test.file, test.sessions, err)
		}
	}
}
