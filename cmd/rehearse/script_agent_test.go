package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// startAgent starts a little agent behind HTTP and sets $AGENT to its address. At /chat it says "you said MESSAGE",
// counts the messages of a session, whose id it draws, and tells its tokens; at /stream it says the same in server-sent
// events. Messages such as "html" make it answer as agents should not. DELETE fails.
func startAgent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: agent")
	}
	a := &littleAgent{turns: map[string]int{}}
	web := httptest.NewServer(a)
	ts.Defer(web.Close)
	ts.Setenv("AGENT", web.URL)
	ts.Setenv("THREADS", strings.Replace(web.URL, "127.0.0.1", "localhost", 1))
}

type littleAgent struct {
	mu    sync.Mutex
	turns map[string]int
}

func (a *littleAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Message   string `json:"message"`
		SessionID string `json:"session_id"`
	}
	_ = json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&asked)
	if r.Method == http.MethodDelete {
		http.Error(w, "nothing is closed here", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if a.misbehave(w, r, asked.Message) {
		return
	}
	a.mu.Lock()
	if asked.SessionID == "" {
		asked.SessionID = fmt.Sprintf("session/%d", len(a.turns)+1)
	}
	a.turns[asked.SessionID]++
	turn := a.turns[asked.SessionID]
	a.mu.Unlock()
	said := "you said " + asked.Message
	if r.URL.Path == "/stream" {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range strings.SplitAfter(said, " ") {
			data, _ := json.Marshal(map[string]any{"delta": word, "session": asked.SessionID})
			fmt.Fprintf(w, "event: word\ndata: %s\n\n", data)
		}
		fmt.Fprint(w, "event: done\ndata: {}\n\n")
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"reply": said, "session": asked.SessionID, "turn": turn, "usage": map[string]int{"in": 10, "out": 5},
		"calls": []any{map[string]any{"tool": "lookup", "input": map[string]any{"q": asked.Message}}},
	})
}

// misbehave answers a message as agents should not.
func (a *littleAgent) misbehave(w http.ResponseWriter, r *http.Request, message string) bool {
	switch message {
	case "slow":
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	case "redirect":
		w.Header().Set("Location", "http://elsewhere.example/")
		w.WriteHeader(http.StatusFound)
	case "status":
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, `{"error": {"message": "no coffee"}}`)
	case "empty":
	case "html":
		fmt.Fprint(w, "<!DOCTYPE html><p>log in</p>")
	case "large":
		fmt.Fprintf(w, `{"reply": %q}`, strings.Repeat("x", 20000))
	case "bytes":
		fmt.Fprint(w, "{\"reply\": \"\xff\"}")
	case "broken":
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"reply": "hal`)
	case "words":
		fmt.Fprint(w, "no JSON at all")
	case "elsewhere":
		fmt.Fprint(w, `{"other": 1}`)
	case "error":
		fmt.Fprint(w, `{"reply": "", "error": "out of order"}`)
	default:
		return false
	}
	return true
}
