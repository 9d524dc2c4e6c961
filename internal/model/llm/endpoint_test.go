package llm

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// TestRequestHeader proves that a request says what it must and nothing of the program's system or libraries.
func TestRequestHeader(t *testing.T) {
	var got http.Header
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		reply(w, hello)
	})
	r := say("hi")
	r.Node = "greeting é"
	if _, err := dial(t, base).Generate(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got.Del("Content-Length")
	if !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`).MatchString(got.Get("traceparent")) {
		t.Errorf("traceparent is %q", got.Get("traceparent"))
	}
	got.Del("traceparent")
	diff(t, "header", http.Header{
		"Accept": {"application/json"}, "Authorization": {"Bearer " + testKey}, "Content-Type": {"application/json"},
		"User-Agent": {"rehearse"}, NodeHeader: {"greeting%20%C3%A9"},
	}, got)
}

func TestBaseURL(t *testing.T) {
	for _, tc := range []struct {
		name           string
		change         func(base string) string
		key            string
		url, authorize string
	}{
		{"as it is", func(base string) string { return base }, testKey, "/v1/chat/completions", "Bearer " + testKey},
		{"with a slash", func(base string) string { return base + "/" }, "", "/v1/chat/completions", ""},
		{
			"without a path", func(base string) string { return strings.TrimSuffix(base, "/v1") }, "",
			"/chat/completions", "",
		},
		{
			"with an escaped path", func(base string) string { return base + "/a%2Fb" }, "",
			"/v1/a%2Fb/chat/completions", "",
		},
		{
			"with a query", func(base string) string { return base + "?api-version=1" }, "",
			"/v1/chat/completions?api-version=1", "",
		},
		{
			"with a password", func(base string) string { return strings.Replace(base, "://", "://user:pass@", 1) }, "",
			"/v1/chat/completions", "Basic dXNlcjpwYXNz",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var url, authorization string
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				url, authorization = r.RequestURI, r.Header.Get("Authorization")
				reply(w, hello)
			})
			m := config.Model{Provider: "openai", Name: "agent", BaseURL: tc.change(base)}
			c, err := NewClient(m, Options{
				Getenv: env(map[string]string{"OPENAI_API_KEY": tc.key}), Transport: transport(t),
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Generate(t.Context(), say("hi")); err != nil {
				t.Fatal(err)
			}
			diff(t, "URL", tc.url, url)
			diff(t, "authorization", tc.authorize, authorization)
		})
	}
}

// TestRedirectIsNotFollowed proves that neither the key nor the conversation reaches the address that a server
// redirects to.
func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		t.Error("the redirect was followed")
		reply(w, hello)
	})
	for _, status := range []int{301, 302, 303, 307, 308} {
		base := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, status) })
		_, err := dial(t, base).Generate(t.Context(), say("hi"))
		e := wantError(t, err)
		diff(t, "fault", Refused, e.Fault)
		diff(t, "status", status, e.Status)
		if host := strings.TrimSuffix(strings.TrimPrefix(elsewhere, "http://"),
			"/v1"); !strings.Contains(e.Message, host) {
			t.Errorf("%q does not name the host %s", e.Message, host)
		}
		_, _, err = collect(t.Context(), dial(t, base), say("hi"))
		diff(t, "status of a stream", status, wantError(t, err).Status)
	}
}

// TestAnnouncedSize proves that an answer that is announced as too large is not waited for.
func TestAnnouncedSize(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "8388609")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := dial(t, base).Generate(ctx, say("hi"))
	diff(t, "message", "the answer is larger than 8 MB", wantError(t, err).Message)
}

// TestLargestAnswer takes an answer that is exactly as large as it may be, announced or not.
func TestLargestAnswer(t *testing.T) {
	answer := `{"choices":[{"message":{"content":"` + strings.Repeat("x", maxBody)
	const end = `"}}]}`
	for _, size := range []int{maxBody, maxBody + 1} {
		for _, announced := range []bool{true, false} {
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if !announced {
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.WriteString(w, answer[:size-len(end)]+end)
			})
			_, err := dial(t, base).Generate(t.Context(), say("hi"))
			if tooLarge := err != nil; tooLarge != (size > maxBody) {
				t.Errorf("%d bytes, announced: %t: %v", size, announced, err)
			}
		}
	}
}

func TestConnectionIsReused(t *testing.T) {
	seen := map[string]bool{}
	status := http.StatusOK
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.RemoteAddr] = true
		w.WriteHeader(status)
		_, _ = io.WriteString(w, hello)
	})
	c := dial(t, base)
	for _, status = range []int{200, 500, 404, 200} {
		_, _ = c.Generate(t.Context(), say("hi"))
	}
	diff(t, "connections", 1, len(seen))
}
