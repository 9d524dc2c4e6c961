package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
)

// judgeModel is the name of the model that judges; every other name echoes.
const judgeModel = "judge"

// served is what the endpoint has seen since the last reset.
type served struct {
	Requests int64 `json:"requests"`
	Judged   int64 `json:"judged"`
	// MostInFlight is the highest number of requests that were being answered at once.
	MostInFlight int64 `json:"most_in_flight"`
	// HeldMS is how long a request was held on average: the latency asked for and what the timer added.
	HeldMS float64 `json:"held_ms"`
}

// endpoint is an OpenAI-compatible chat endpoint that is as cheap as it can be while its answers can be checked.
type endpoint struct {
	latency                          time.Duration
	requests, judged, inFlight, most atomic.Int64
	held                             atomic.Int64 // nanoseconds
}

// serve runs the endpoint on a free port, prints its address as the first line, and ends when standard input does,
// so that it never outlives the process that started it.
func serve(ctx context.Context, latency time.Duration) error {
	debug.SetGCPercent(800) // its memory does not matter, its CPU does
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	e := &endpoint{latency: latency}
	server := &http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until whoever started us is gone
		_ = server.Close()
	}()
	fmt.Println("http://" + listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP answers chat completions below any path; GET /stats tells what was served, POST /reset forgets it.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		e.complete(w, r)
	case r.URL.Path == "/stats":
		_ = json.NewEncoder(w).Encode(e.stats())
	case r.URL.Path == "/reset":
		e.requests.Store(0)
		e.judged.Store(0)
		e.most.Store(0)
		e.held.Store(0)
	default:
		http.Error(w, `{"error":{"message":"only chat completions are served here"}}`, http.StatusNotFound)
	}
}

func (e *endpoint) stats() served {
	s := served{Requests: e.requests.Load(), Judged: e.judged.Load(), MostInFlight: e.most.Load()}
	if s.Requests > 0 {
		s.HeldMS = float64(e.held.Load()) / float64(s.Requests) / 1e6
	}
	return s
}

// chatRequest is what is needed of a request. Content is text, or a list of parts with text.
type chatRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

func (e *endpoint) complete(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	now := e.inFlight.Add(1)
	defer e.inFlight.Add(-1)
	for most := e.most.Load(); now > most && !e.most.CompareAndSwap(most, now); most = e.most.Load() {
	}
	var asked chatRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	if err != nil || len(asked.Messages) == 0 {
		http.Error(w, `{"error":{"message":"not a chat request"}}`, http.StatusBadRequest)
		return
	}
	text := ""
	if asked.Model == judgeModel {
		e.judged.Add(1)
		text = verdict(&asked)
	} else {
		text = echo(&asked)
	}
	time.Sleep(e.latency - time.Since(arrived))
	e.requests.Add(1)
	e.held.Add(int64(time.Since(arrived)))
	quoted, _ := json.Marshal(text) // a string never fails
	if asked.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, streamed, asked.Model, quoted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, whole, asked.Model, quoted)
}

// whole and streamed are the two forms of an answer.
const (
	whole = `{"id":"c","object":"chat.completion","created":1700000000,"model":"%s","choices":[{"index":0,"message":{"role":"assistant",` +
		`"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":20,"total_tokens":70}}`
	streamed = `data: {"id":"c","object":"chat.completion.chunk","created":1700000000,"model":"%s","choices":[{"index":0,"delta":` +
		`{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":20,"total_tokens":70}}` +
		"\n\ndata: [DONE]\n\n"
)
