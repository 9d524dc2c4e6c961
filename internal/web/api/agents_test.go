package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// A server that drains takes no runs and no turns, says so, and still shows what there is; at last it ends the streams
// of runs.
func TestAgentsDrain(t *testing.T) {
	kept, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "rehearse.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	if _, _, err := kept.Fleet().CreateRun(t.Context(), store.NewRun{
		Run: store.Run{ID: "r1", Kind: "suite"}, Spec: []byte("{}"),
	}); err != nil {
		t.Fatal(err)
	}
	agents, err := NewAgents(AgentsConfig{
		Engine: flow.New(flow.Config{Flows: library(t)}), Bot: &fakeBot{},
		Runs: NewRuns(RunsConfig{Store: kept.Fleet(), Workers: noCrew{}}), Tokens: kept.Fleet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		agents.ServeHTTP(w, r)
		return w
	}
	stream := make(chan *httptest.ResponseRecorder, 1)
	go func() { stream <- ask("GET", "/api/v1/runs/r1/events", "") }()
	agents.Stop()
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/api/v1/runs", "{}", 503, `"code":"stopping"`},
		{"POST", "/execute", turn("desk"), 503, `"code":"stopping"`},
		{"POST", chatPath, saying("s", "hi"), 503, `"code":"stopping"`},
		{"GET", "/healthz", "", 503, "stopping"},
		{"GET", "/livez", "", 200, "ok"},
		{"GET", "/api/v1/runs/r1", "", 200, `"id":"r1"`},
	} {
		w := ask(c.method, c.path, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
	if err := agents.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	if w := <-stream; w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "event: status") ||
		strings.Contains(w.Body.String(), "event: end") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// noCrew has no workers.
type noCrew struct{}

func (noCrew) Workers(context.Context) ([]natsconn.Worker, error) { return nil, nil }

func (noCrew) Notices(string, func(natsconn.Notice)) (stop func(), err error) { return func() {}, nil }

func turn(id string) string {
	return `{"flow": {"ref": "` + id +
		`"}, "current_node_id": "ask", "latest_user_message": "hi", "history": [], "memory": {"turn_index": 0}}`
}

// An origin opens the chat to its pages, and nothing else (CORS is closed).
func TestOriginsOpenTheChatOnly(t *testing.T) {
	agents, err := NewAgents(AgentsConfig{
		Engine: flow.New(flow.Config{Flows: library(t)}), Bot: &fakeBot{}, Origins: []string{"https://acme.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		open               bool
	}{
		{"POST", chatPath, saying("s", "hi"), 200, true},
		{"OPTIONS", chatPath, "", 204, true},
		{"POST", "/execute", turn("desk"), 403, false},
		{"OPTIONS", "/execute", "", 405, false},
		{"GET", "/api/v1/flows", "", 200, false},
	} {
		r := httptest.NewRequest(c.method, "http://localhost"+c.path, strings.NewReader(c.body))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("Origin", "https://acme.example")
		w := httptest.NewRecorder()
		agents.ServeHTTP(w, r)
		if open := w.Header().Get("Access-Control-Allow-Origin") != ""; w.Code != c.status || open != c.open {
			t.Errorf("%s %s: %d %v %s", c.method, c.path, w.Code, w.Header(), w.Body)
		}
	}
}

// Everybody may ask how a server is, so its store is asked once a second at most.
func TestHealthIsAskedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		front := Front(http.NotFoundHandler(), FrontConfig{Healthy: func() error { asked++; return nil }})
		for i := range 1000 {
			w := httptest.NewRecorder()
			front.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
			if w.Code != 200 {
				t.Fatal(w.Code)
			}
			if i%100 == 99 {
				time.Sleep(time.Second)
			}
		}
		if asked != 10 {
			t.Errorf("asked %d times", asked)
		}
	})
}
