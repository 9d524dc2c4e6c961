package setup

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"rehearse/internal/llm"
)

// Services are recorded with their status, and played without a request; what is only sent is not sent at all.
func TestServicesOnTape(t *testing.T) {
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
	tape := filepath.Join(t.TempDir(), "tape.jsonl")
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
	record, err := Open(Options{Record: tape})
	if err != nil {
		t.Fatal(err)
	}
	const body, want = `{"latency_ms": 1, "n": 1}`, `418 I'm a teapot 7 you sent {"latency_ms": 1, "n": 1}`
	if got, err := post(record.services(), "a", body); err != nil || got != want {
		t.Errorf("recording: got %q, %v", got, err)
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	play, err := Open(Options{Playback: tape})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = play.Close() }()
	if got, err := post(play.services(), "a", `{"n": 1, "latency_ms": 2}`); err != nil || got != want {
		t.Errorf("playing: got %q, %v", got, err)
	}
	for suite, body := range map[string]string{"a": `{"n": 2}`, "b": body} {
		if got, err := post(play.services(), suite, body); err == nil || !strings.Contains(err.Error(), "does not hold this request") {
			t.Errorf("playing %s of %s: got %q, %v", body, suite, got, err)
		}
	}
	if got, err := post(play.receipts(), "a", "a lead"); err != nil || got != "200 OK  " {
		t.Errorf("a lead: got %q, %v", got, err)
	}
	if asked != 1 {
		t.Errorf("%d requests left the program, want the recorded one", asked)
	}
}
