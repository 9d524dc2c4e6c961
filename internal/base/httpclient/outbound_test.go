package httpclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
)

func TestRedirectIsTheAnswer(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	t.Cleanup(elsewhere.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/there?key=hush", status))
		answer, err := httpclient.Client(transport(t)).Post(server.URL, "text/plain", strings.NewReader("secret"))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if said := httpclient.Redirect(answer); answer.StatusCode != status ||
			said != "it redirects to "+strings.TrimPrefix(elsewhere.URL, "http://") {
			t.Errorf("status %d: %s", answer.StatusCode, said)
		}
		server.Close()
	}
}

func TestRedirect(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "http://here.example/a", nil)
	for location, want := range map[string]string{
		"": "it redirects", "/b": "it redirects to here.example", "::": "it redirects",
		"https://me:pw@there.example:8443/?k=hush": "it redirects to there.example:8443",
		"https://" + strings.Repeat("x", 900):      "it redirects to " + strings.Repeat("x", 100) + "…",
	} {
		answer := &http.Response{StatusCode: 307, Header: http.Header{}, Request: request}
		if location != "" {
			answer.Header.Set("Location", location)
		}
		if got := httpclient.Redirect(answer); got != want {
			t.Errorf("%q: %q, want %q", location, got, want)
		}
		if answer.StatusCode = 201; httpclient.Redirect(answer) != "" {
			t.Errorf("%q: 201 is no redirect", location)
		}
	}
}

// TestLimits holds that headers are bounded and that a call has no end but that of its context.
func TestLimits(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wide" {
			w.Header().Set("X-Wide", strings.Repeat("x", 300<<10))
			return
		}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	client := httpclient.Client(transport(t))
	if answer, err := client.Get(server.URL + "/wide"); err == nil {
		_ = answer.Body.Close()
		t.Error("a header of 300 KB was read")
	}
	if client.Timeout != 0 {
		t.Errorf("a client-wide limit of %s", client.Timeout)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := client.Do(request); !errors.Is(err, context.Canceled) {
		if err == nil {
			_ = answer.Body.Close()
		}
		t.Errorf("the call ended with %v", err)
	}
}

// transport returns a transport that leaves no connection behind.
func transport(t *testing.T) *http.Transport {
	made := httpclient.Transport()
	t.Cleanup(made.CloseIdleConnections)
	return made
}
