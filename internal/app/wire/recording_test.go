package wire

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/judge"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Services are recorded with their status, and played without a request; what is only sent is not sent at all.
func TestRecordedServices(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Set-Cookie", "secret")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(append([]byte("you sent "), body...))
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	post := func(carries http.RoundTripper, suite, body string) (string, error) {
		ctx := llm.InConversation(t.Context(), llm.Conversation{Suite: suite})
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: carries}).Do(r)
		if err != nil {
			return "", err
		}
		defer func() { _ = res.Body.Close() }()
		data, err := io.ReadAll(res.Body)
		return res.Status + " " + res.Header.Get("Retry-After") + res.Header.Get("Set-Cookie") + " " + string(data), err
	}
	record, err := Open(Options{Record: path})
	if err != nil {
		t.Fatal(err)
	}
	const body, want = `{"latency_ms": 1, "n": 1}`, `418 I'm a teapot 7 you sent {"latency_ms": 1, "n": 1}`
	if got, err := post(record.recording.Transport(record.outside), "a", body); err != nil || got != want {
		t.Errorf("recording: got %q, %v", got, err)
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	play, err := Open(Options{Playback: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = play.Close() }()
	if got, err := post(play.recording.Transport(play.outside), "a", `{"n": 1, "latency_ms": 2}`); err != nil ||
		got != want {
		t.Errorf("playing: got %q, %v", got, err)
	}
	for suite, body := range map[string]string{"a": `{"n": 2}`, "b": body} {
		if got, err := post(play.recording.Transport(play.outside), suite, body); err == nil ||
			!strings.Contains(err.Error(), "does not hold this request") {
			t.Errorf("playing %s of %s: got %q, %v", body, suite, got, err)
		}
	}
	if got, err := post(play.recording.Receipts(play.outside), "a", "a lead"); err != nil || got != "200 OK  " {
		t.Errorf("a lead: got %q, %v", got, err)
	}
	if asked != 1 {
		t.Errorf("%d requests left the program, want the recorded one", asked)
	}
}

// TestPlaybackOfDraws checks that a recording repeats what was drawn for its judge, and that one without draws is
// played without a canary, with a warning.
func TestPlaybackOfDraws(t *testing.T) {
	q := grader.Question{
		Mode: grader.Checklist, Output: "fine",
		Rubrics: []grader.Rubric{{ID: "a", Outcome: "good"}, {ID: "b", Outcome: "bad"}},
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "judge.yaml")
	if err := os.WriteFile(script, []byte("default: {verdicts: [{criterion: good}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := func(path string) {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		model, err := llm.Open(config.Model{Provider: "scripted", Name: script}, llm.Options{ReadFile: os.ReadFile})
		if err != nil {
			t.Fatal(err)
		}
		ask(t, judge.New(judge.Config{Primary: judge.Named{
			Model: llm.NewRecorder(file, nil).Record("scripted:"+script, model),
			Draws: func(context.Context) ([]byte, llm.Conversation) { return nil, llm.Conversation{} },
		}}), q)
	}
	present := func(path string) {
		s, err := Open(Options{Record: path})
		if err != nil {
			t.Fatal(err)
		}
		j, err := s.Judge(Judging{Name: "scripted:" + script})
		if err != nil {
			t.Fatal(err)
		}
		ask(t, j, q)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		record func(path string)
		warned bool
	}{"old.jsonl": {old, true}, "new.jsonl": {present, false}} {
		path := filepath.Join(dir, name)
		tc.record(path)
		for what, options := range map[string]Options{
			"scripted:" + script:                       {Playback: path},
			"cassette:" + path + "#scripted:" + script: {},
		} {
			s, err := Open(options)
			if err != nil {
				t.Fatal(err)
			}
			j, err := s.Judge(Judging{Name: what})
			if err != nil {
				t.Fatal(err)
			}
			ask(t, j, q)
			if warned := strings.Contains(strings.Join(s.Warnings(), "\n"), "without a canary"); warned != tc.warned {
				t.Errorf("%s as %s: warnings %q", name, what, s.Warnings())
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// ask asks twice in one conversation.
func ask(t *testing.T, j *judge.Judge, q grader.Question) {
	t.Helper()
	ctx := llm.InConversation(t.Context(), llm.Conversation{Suite: "s", Test: "t", Target: "x", Trial: 2})
	for range 2 {
		if v, err := j.Decide(ctx, q); err != nil || !v.Checks["a"].Satisfied || v.Checks["b"].Satisfied {
			t.Errorf("%+v, %v", v, err)
		}
	}
}
