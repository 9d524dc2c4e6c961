package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/coder/websocket"
	"github.com/rogpeppe/go-internal/testscript"
)

// startAgents starts a little agent behind a WebSocket, $WS, and one of A2A 1.0, $A2A. Both count the turns of a
// conversation and repeat the message.

func startAgents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: agents")
	}
	var contexts atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ws" {
			socketTurns(w, r)
			return
		}
		a2aTurn(w, r, &contexts)
	}))
	ts.Defer(web.Close)
	ts.Setenv("WS", "ws"+strings.TrimPrefix(web.URL, "http")+"/ws")
	ts.Setenv("A2A", web.URL+"/rpc")
}

// socketTurns answers each message of a WebSocket with two events.
func socketTurns(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	for turn := 1; ; turn++ {
		_, data, err := c.Read(r.Context())
		if err != nil {
			return
		}
		var asked struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(data, &asked)
		for _, event := range []string{
			`{"type": "delta", "text": "%d: "}`, `{"type": "delta", "text": %q}`, `{"type": "done"}`,
		} {
			switch {
			case strings.Contains(event, "%d"):
				event = fmt.Sprintf(event, turn)
			case strings.Contains(event, "%q"):
				event = fmt.Sprintf(event, asked.Message)
			}
			if c.Write(context.Background(), websocket.MessageText, []byte(event)) != nil {
				return
			}
		}
	}
}

// a2aTurn answers with a task in the context of the message.
func a2aTurn(w http.ResponseWriter, r *http.Request, contexts *atomic.Int32) {
	var call struct {
		Params struct {
			Message struct {
				ContextID string `json:"contextId"`
				Parts     []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"message"`
		} `json:"params"`
	}
	if json.NewDecoder(r.Body).Decode(&call) != nil || len(call.Params.Message.Parts) == 0 {
		http.NotFound(w, r)
		return
	}
	id := call.Params.Message.ContextID
	if id == "" {
		id = fmt.Sprint("ctx-", contexts.Add(1))
	}
	text := call.Params.Message.Parts[0].Text
	_, _ = fmt.Fprintf(w,
		`{"jsonrpc": "2.0", "result": {"task": {"id": "t", "contextId": %q, "status": {"state": "TASK_STATE_COMPLETED"},
		"artifacts": [{"artifactId": "a", "parts": [{"text": %q}]}]}}}`, id, "done: "+text)
}
