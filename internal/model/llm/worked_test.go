package llm_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// What a failed call cost is known only when the model cannot have worked for it.
func TestWorked(t *testing.T) {
	hang := make(chan struct{})
	for _, tc := range []struct {
		name   string
		answer func(w http.ResponseWriter)
		worked bool
		late   time.Duration
	}{
		{"no choices", func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"choices":[],"usage":{"prompt_tokens":3}}`)
		}, true, 0},
		{
			"no content", func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"choices":[{"message":{}}]}`) },
			true, 0,
		},
		{"no JSON", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, true, 0},
		{"broke off", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"choices":`)
		}, true, 0},
		{"too late", func(http.ResponseWriter) { <-hang }, true, 10 * time.Millisecond},
		{"refused", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadRequest) }, false, 0},
		{"busy", func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				tc.answer(w)
			}))
			t.Cleanup(server.Close)
			if tc.late > 0 {
				t.Cleanup(func() { close(hang) })
			}
			if err := failed(t, server.URL, tc.late); llm.Worked(fmt.Errorf("a turn: %w", err)) != tc.worked {
				t.Errorf("%v: worked %v, want %v", err, !tc.worked, tc.worked)
			}
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := failed(t, "http://"+l.Addr().String(), 0); llm.Worked(err) {
		t.Errorf("%v: nobody was there to work", err)
	}
	if !llm.Worked(context.Canceled) || llm.Worked(nil) || llm.Worked(io.EOF) {
		t.Error("a call that was given up is unknown, another error is none of a model")
	}
}

// failed returns the error of a call that may take so long, 0 for any time.
func failed(t *testing.T, address string, limit time.Duration) error {
	t.Helper()
	c, err := llm.NewClient(config.Model{Provider: "openai", Name: "m", BaseURL: address}, llm.Options{
		Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = llm.Timeout(c, limit, "openai:m", address).Generate(t.Context(), llm.Request{Messages: []chat.Message{
		chat.NewMessage(chat.User, "hi"),
	}})
	if err == nil {
		t.Fatal("the call succeeded")
	}
	return err
}
