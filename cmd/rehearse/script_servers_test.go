package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// noted is what a server of a script was asked: the model and the Authorization of each request.
type noted struct {
	mu    sync.Mutex
	lines []string
}

type notedKey struct {
	ts   *testscript.TestScript
	name string
}

var notes sync.Map // of notedKey to *noted

// startServers starts two OpenAI-compatible servers, which note who asked with which key, and sets $AGENT and $JUDGE to
// their addresses. Both say hello, and as a judge that every criterion but the canary is satisfied. Every answer counts
// 10 tokens in and 10 out.
func startServers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: servers")
	}
	for _, name := range []string{"agent", "judge"} {
		n := &noted{}
		web := httptest.NewServer(n)
		notes.Store(notedKey{ts, name}, n)
		ts.Defer(func() { web.Close(); notes.Delete(notedKey{ts, name}) })
		ts.Setenv(strings.ToUpper(name), web.URL)
	}
}

// checksOf answers a judge's request for a checklist: the canary truthfully, every other criterion alike.
func checksOf(request string, satisfied bool, reasoning string) string {
	var asked struct {
		Rubrics []struct{ ID, Outcome string }
	}
	_ = json.Unmarshal([]byte(request), &asked)
	checks := []map[string]any{}
	for _, r := range asked.Rubrics {
		canary := strings.HasPrefix(r.Outcome, "The reply contains the word ")
		checks = append(checks, map[string]any{"id": r.ID, "satisfied": satisfied && !canary, "reasoning": reasoning})
	}
	data, _ := json.Marshal(map[string]any{"checks": checks})
	return string(data)
}

func (n *noted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model    string                     `json:"model"`
		Messages []struct{ Content string } `json:"messages"`
	}
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(data, &asked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	n.lines = append(n.lines, asked.Model+" "+r.Header.Get("Authorization"))
	n.mu.Unlock()
	said := "hello"
	if strings.HasPrefix(asked.Model, "judge") {
		said = checksOf(asked.Messages[len(asked.Messages)-1].Content, true, "it does")
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{
			"message": map[string]any{"role": "assistant", "content": said}, "finish_reason": "stop",
		}},
		"usage": map[string]any{"prompt_tokens": 10, "completion_tokens": 10},
	})
}

// seenBy compares what one of the two servers was asked since with the lines "MODEL AUTHORIZATION".
func seenBy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: seen agent|judge ['MODEL AUTHORIZATION'…]")
	}
	found, ok := notes.Load(notedKey{ts, args[0]})
	if !ok {
		ts.Fatalf("start the servers first")
	}
	n, _ := found.(*noted)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.lines, args[1:]) {
		ts.Fatalf("the %s was asked %q, want %q", args[0], n.lines, args[1:])
	}
	n.lines = nil
}

// jsonAt prints the value at a path (a.b.0) of a JSON file, keys sorted.
func jsonAt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: json FILE PATH")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	data, err := json.Marshal(at(v, args[1]))
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%s\n", data)
}

// sameAt compares the values at paths (a.b.0) of the run.json in two folders.
func sameAt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: sameat FOLDER FOLDER PATH…")
	}
	var a, b any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0]+"/run.json")), &a))
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1]+"/run.json")), &b))
	for _, path := range args[2:] {
		if x, y := at(a, path), at(b, path); x == nil || !reflect.DeepEqual(x, y) {
			ts.Fatalf("%s is %v, and %v", path, x, y)
		}
	}
}
