package langfuse_test

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// online returns a server and a client that speaks to it over the network.
func online(t *testing.T) (*langfusetest.Server, *langfuse.Client) {
	t.Helper()
	s := langfusetest.New(t)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return s, connect(t, s, tr, langfuse.Config{})
}

// inside returns a server and a client that asks it within the process, for the clock of synctest.
func inside(t *testing.T) (*langfusetest.Server, *langfuse.Client) {
	t.Helper()
	s := langfusetest.New(t)
	return s, connect(t, s, s.Transport(), langfuse.Config{})
}

func connect(t *testing.T, s *langfusetest.Server, tr http.RoundTripper, c langfuse.Config) *langfuse.Client {
	t.Helper()
	config, err := langfuse.FromEnv(s.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	c.Host, c.PublicKey, c.SecretKey, c.Transport = config.Host, config.PublicKey, config.SecretKey, tr
	client, err := langfuse.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// answering returns a client of a server that is none of Langfuse's; it makes one attempt.
func answering(t *testing.T, handler http.HandlerFunc) *langfuse.Client {
	t.Helper()
	c, err := langfuse.New(langfuse.Config{
		Host: "http://langfuse.example/base/", PublicKey: langfusetest.PublicKey, SecretKey: langfusetest.SecretKey,
		Attempts: 1, Transport: handled{handler},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// handled asks a handler within the process.
type handled struct{ handler http.Handler }

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// says answers everything alike.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// collect returns what a sequence yields.
func collect[T any](t *testing.T, all iter.Seq2[T, error]) []T {
	t.Helper()
	list := []T{}
	for v, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// failure returns the error that ends a sequence, or nil, and how many elements came before.
func failure[T any](all iter.Seq2[T, error]) (int, error) {
	n := 0
	for _, err := range all {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// wants fails unless the error has a text in it, is one line, and tells no key.
func wants(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got the error %v, want %q", err, want)
		return
	}
	hides(t, err.Error())
}

func hides(t *testing.T, text string) {
	t.Helper()
	for _, key := range []string{langfusetest.PublicKey, langfusetest.SecretKey, "cGstbGYt"} {
		if strings.Contains(text, key) {
			t.Errorf("a key is told: %s", text)
		}
	}
	if strings.ContainsAny(text, "\n\x1b") || len(text) > 2000 {
		t.Errorf("not one line, or too long: %q", text)
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// put puts an item.
func put(t *testing.T, c *langfuse.Client, item langfuse.Item) {
	t.Helper()
	if _, err := c.PutItem(t.Context(), item); err != nil {
		t.Error(err)
	}
}
