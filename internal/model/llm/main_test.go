package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server and returns its base URL.
func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// transport returns a transport that leaves no connection behind.
func transport(t testing.TB) *http.Transport {
	tr := httpclient.Transport()
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

const testKey = "sk-test-0123456789abcdef"

// dial returns the bare model of an endpoint, with a key.
func dial(t testing.TB, baseURL string, change ...func(*config.Model)) *Client {
	t.Helper()
	m := config.Model{Provider: "openai", Name: "agent", BaseURL: baseURL}
	for _, f := range change {
		f(&m)
	}
	c, err := NewClient(m, Options{Getenv: env(map[string]string{"OPENAI_API_KEY": testKey}), Transport: transport(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// say is a request of one user message.
func say(text string) Request {
	return Request{Messages: []chat.Message{chat.NewMessage(chat.User, text)}}
}

// modelFunc is a model made of a function.
type modelFunc func(ctx context.Context, r Request) (chat.Reply, error)

func (f modelFunc) Generate(ctx context.Context, r Request) (chat.Reply, error) { return f(ctx, r) }

func reply(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

const hello = `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello!"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}`

func wantError(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got the error %v, want an *Error", err)
	}
	return e
}

func diff(t *testing.T, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, options...); d != "" {
		t.Errorf("%s mismatch (-want +got):\n%s", what, d)
	}
}
