package grader

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHTTP(t *testing.T) {
	var got map[string]any
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s with body error %v", r.Method, err)
		}
		_, _ = io.WriteString(w,
			`{"score": 0.75, "reasoning": "nearly", "assertions": [{"text": "polite", "passed": true}]}`)
	}))
	defer server.Close()
	check := one(t, New(Config{HTTP: server.Client()}), "{type: http, url: '"+server.URL+
		"/grade?key=hush', config: [1]}")
	g := grade(t, check, reply("hi"))
	if g.Score != 0.75 || g.Assertions[0].Text != "polite" || !strings.Contains(g.Reason, `got: 0.75, "nearly"`) ||
		strings.Contains(g.Reason, "hush") {
		t.Errorf("grade %+v", g)
	}
	if got["output"] != "hi" || got["config"] == nil || header.Get("Content-Type") != "application/json" {
		t.Errorf("request %v with headers %v", got, header)
	}
}

func TestHTTPUndecided(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/status":
			http.Error(w, "out of tea", http.StatusTeapot)
		case "/json":
			_, _ = io.WriteString(w, "<html>")
		case "/score":
			_, _ = io.WriteString(w, `{"score": -1}`)
		case "/huge":
			_, _ = io.WriteString(w, `{"score": 1, "reasoning": "`+strings.Repeat("x", 2*maxAnswer)+`"}`)
		case "/slow":
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}
	}))
	defer server.Close()
	defer close(stop)
	s := New(Config{HTTP: server.Client()})
	for path, says := range map[string]string{
		"/status": `status 418 I'm a teapot: "out of tea"`,
		"/json":   `"<html>": not the JSON that is expected`,
		"/score":  "the score -1 is not from 0 to 1",
		"/huge":   "larger than 1048576 bytes",
		"/slow":   "no answer within 50ms",
		"/empty":  "not the JSON that is expected",
	} {
		check := one(t, s, "{type: http, url: '"+server.URL+path+"?key=hush', timeout: 50ms}")
		if path != "/slow" {
			check = one(t, s, "{type: http, url: '"+server.URL+path+"?key=hush'}")
		}
		_, err := check.Grader.Grade(context.Background(), reply("hi"))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: error %v, want %q in it", path, err, says)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := one(t, s, "{type: http, url: '"+server.URL+"'}").Grader.Grade(ctx, reply("hi")); !errors.Is(err,
		context.Canceled) {
		t.Errorf("a run that is over: error %v", err)
	}
	server.CloseClientConnections()
}

func TestHTTPProblems(t *testing.T) {
	runProblems(t, []problemCase{
		{"type: http", 1, 3, `needs "url"`},
		{"type: http\nurl: example.org/grade", 2, 8, "not an http address"},
		{"type: http\nurl: 'file:///etc/passwd'", 2, 8, "not an http address"},
		{"type: http\nurl: 'http://%zz'", 2, 8, "not an http address"},
		{"type: http\nurl: 'http://a'\nheaders: {x: y}", 3, 3, "unknown key"},
	})
}
