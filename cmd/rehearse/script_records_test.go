package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// records prints the records of a run without times, ids and fingerprints, in an order that does not depend on which
// test ended first.
func records(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: records DIR")
	}
	var lines []string
	for line := range strings.Lines(ts.ReadFile(args[0] + "/results.jsonl")) {
		var record any
		ts.Check(json.Unmarshal([]byte(line), &record))
		timeless(record)
		data, err := json.Marshal(record)
		ts.Check(err)
		lines = append(lines, string(data))
	}
	slices.Sort(lines)
	fmt.Fprintln(ts.Stdout(), strings.Join(lines, "\n"))
}

// timeless removes what no two runs have in common.
func timeless(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			timeless(one)
		}
	case map[string]any:
		for _, name := range []string{
			"run_id", "started_at", "duration_ms", "latency_ms", "trace_id", "session_id", "conversation_id",
			"fingerprint",
		} {
			delete(v, name)
		}
		for _, one := range v {
			timeless(one)
		}
	}
}

// embeddings starts an embeddings endpoint and sets $EMBEDDINGS to its base URL. Vectors depend on the texts and on how
// many requests came before; every fourth request fails.
func embeddings(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: embeddings")
	}
	var count atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Input []string `json:"input"`
		}
		n := count.Add(1)
		if json.NewDecoder(r.Body).Decode(&asked) != nil || n%4 == 0 {
			http.Error(w, `{"error": {"message": "no vectors today"}}`, http.StatusBadRequest)
			return
		}
		answer := map[string][]any{}
		for i, text := range asked.Input {
			vector := []float64{float64(len(text)), float64(n), float64(i) * float64(n)}
			answer["data"] = append(answer["data"], map[string]any{"index": i, "embedding": vector})
		}
		_ = json.NewEncoder(w).Encode(answer) // a client that has gone needs no answer
	}))
	ts.Defer(web.Close)
	ts.Setenv("EMBEDDINGS", web.URL+"/v1")
}
