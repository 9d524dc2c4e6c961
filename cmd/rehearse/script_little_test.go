package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/coder/websocket"
	"github.com/rogpeppe/go-internal/testscript"
)

// startLittle starts little chat agents, each at a path of its own, and sets $AGENTS to their address and $AGENTS_WS to
// the same for WebSockets. The path /asked answers with the number of requests so far.
func startLittle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: little")
	}
	var asked, ids atomic.Int64
	agents := http.NewServeMux()
	for path, agent := range littleAgents(&ids) {
		agents.HandleFunc("/"+path, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			agent(w, r)
		})
	}
	agents.HandleFunc("/asked", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, asked.Load()) })
	web := httptest.NewServer(agents)
	ts.Defer(web.Close)
	ts.Setenv("AGENTS", web.URL)
	ts.Setenv("AGENTS_WS", "ws"+strings.TrimPrefix(web.URL, "http"))
}

// fieldsOf returns the fields of a JSON body; nil for any other.
func fieldsOf(r *http.Request) map[string]any {
	var fields map[string]any
	_ = json.NewDecoder(r.Body).Decode(&fields)
	return fields
}

func sayJSON(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// always answers every message with the same JSON.
func always(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { sayJSON(w, 200, text) }
}

// wants answers a message under one name, and says otherwise with a status what it misses.
func wants(name string, status int, says string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if said := fieldsOf(r)[name]; said == nil {
			sayJSON(w, status, says)
			return
		}
		sayJSON(w, 200, `{"reply": "Well understood."}`)
	}
}

func missing(names ...string) string {
	var all []string
	for _, name := range names {
		all = append(all,
			fmt.Sprintf(`{"type": "missing", "loc": ["body", %q], "msg": "Field required", "input": {}}`, name))
	}
	return `{"detail": [` + strings.Join(all, ",") + `]}`
}

func littleAgents(ids *atomic.Int64) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"reply": always(`{"id": "m1", "reply": "Hello, I sell lamps.", "hint": "Ask me anything."}`),
		"choices": always(
			`{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello from choices."}}]}`),
		"v1/chat/completions": always(
			`{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello from a preset."}}]}`),
		"messages": always(`{"messages": [{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hello from a list."}]}`),
		"odd":      always(`{"ok": true, "d": {"utter": [{"said": "Words at an odd place."}], "token": null}, "trace": "0123456789abcdef0123456789abcdef0123"}`),
		"plain": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "Just words.")
		},
		"page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<!doctype html><p>Welcome to the page.</p>")
		},
		"broken": func(w http.ResponseWriter, _ *http.Request) {
			sayJSON(w, 500, `{"error": "the database is gone", "code": 7}`)
		},
		"nothing": always(`{"ok": true, "count": null, "items": []}`),
		"fault":   always(`{"error": {"message": "no such tenant here"}}`),
		"fastapi": wants("user_text", 422, missing("user_text")),
		"two": func(w http.ResponseWriter, r *http.Request) {
			fields := fieldsOf(r)
			if fields["question"] == nil {
				sayJSON(w, 422, missing("question", "user_id"))
				return
			}
			if fields["user_id"] == nil {
				sayJSON(w, 422, missing("user_id"))
				return
			}
			sayJSON(w, 200, `{"answer": "Both came."}`)
		},
		"quoted":   wants("say", 400, `{"error": "the field 'say' is required"}`),
		"question": wants("question", 400, `{"error": "bad request"}`),
		"never":    wants("", 400, `{"error": "bad request"}`),
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			sayJSON(w, 422, missing(fmt.Sprintf("field_%d", ids.Add(1))))
		},
		"misled": wants("messages", 400, `{"error": "cannot read property 'message'"}`),
		"list": func(w http.ResponseWriter, r *http.Request) {
			list, _ := fieldsOf(r)["messages"].([]any)
			if len(list) == 0 {
				sayJSON(w, 400, `{"error": "bad request"}`)
				return
			}
			sayJSON(w, 200, fmt.Sprintf(`{"content": "That was message %d."}`, len(list)))
		},
		"form": func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") ||
				r.FormValue("message") == "" {
				sayJSON(w, 415, `{"error": "unsupported media type"}`)
				return
			}
			sayJSON(w, 200, `{"reply": "A form, thank you."}`)
		},
		"sse": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, piece := range []string{"Hello", " from", " a stream."} {
				_, _ = fmt.Fprintf(w,
					"data: {\"id\": \"chat-0123456789abcdef0123456789\", \"type\": \"text\", \"piece\": %q}\n\n", piece)
			}
			_, _ = io.WriteString(w, "data: {\"type\": \"note\", \"piece\": \"done\"}\n\ndata: [DONE]\n\n")
		},
		"lines": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			_, _ = io.WriteString(w, "{\"t\": \"Hello\"}\n{\"t\": \" in lines.\"}\n{\"done\": true}\n")
		},
		"session": func(w http.ResponseWriter, r *http.Request) {
			id, _ := fieldsOf(r)["session_id"].(string)
			if !strings.HasPrefix(id, "own-") {
				id = fmt.Sprintf("own-%d", ids.Add(1))
			}
			sayJSON(w, 200, fmt.Sprintf(`{"reply": "You are known.", "session_id": %q}`, id))
		},
		"header": func(w http.ResponseWriter, r *http.Request) {
			id := r.Header.Get("X-Session-Id")
			if id == "" {
				id = fmt.Sprintf("own-%d", ids.Add(1))
			}
			w.Header().Set("X-Session-Id", id)
			sayJSON(w, 200, `{"reply": "You are `+id+`."}`)
		},
		"cookie": func(w http.ResponseWriter, r *http.Request) {
			if _, err := r.Cookie("sid"); err != nil {
				http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprintf("own-%d", ids.Add(1))})
			}
			sayJSON(w, 200, `{"reply": "A cookie for you."}`)
		},
		"guarded": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer sk-pasted-0123456789" {
				sayJSON(w, 401, `{"error": "not allowed: `+r.Header.Get("Authorization")+`"}`)
				return
			}
			text, _ := fieldsOf(r)["text"].(string)
			sayJSON(w, 200, fmt.Sprintf(`{"reply": "You said %s with %s"}`, text, r.Header.Get("Authorization")))
		},
		"socket": func(w http.ResponseWriter, r *http.Request) {
			c, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			defer func() { _ = c.CloseNow() }()
			for {
				_, _, err := c.Read(r.Context())
				if err != nil {
					return
				}
				_ = c.Write(r.Context(), websocket.MessageText, []byte(`{"typing": true}`))
				if c.Write(r.Context(), websocket.MessageText, []byte(`{"reply": "Hello over a socket."}`)) != nil {
					return
				}
			}
		},
	}
}
