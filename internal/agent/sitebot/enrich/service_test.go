package enrich

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const testKey = "key-0123456789"

// serve starts a server, and returns its base URL and a transport that leaves no connection behind.
func serve(t *testing.T, handler http.HandlerFunc) (string, http.RoundTripper) {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return s.URL, tr
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// TestFaults has a service answer in every wrong way. No error may hold the key, the address or a path.
func TestFaults(t *testing.T) {
	faults := map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"refused key": {
			func(w http.ResponseWriter, _ *http.Request) { reply(w, 401, `{"message":"bad `+testKey+`"}`) },
			"status 401: check the key",
		},
		"quoted secrets": {
			func(w http.ResponseWriter, r *http.Request) {
				reply(w, 403, `{"message":"quota of `+testKey+` for `+r.URL.Query().Get("ip")+` `+
					strings.Repeat("x", 500)+`"}`)
			}, "status 403: quota of *** for *** xxx",
		},
		"too many": {
			func(w http.ResponseWriter, _ *http.Request) { reply(w, 429, `{}`) }, "status 429: too many requests",
		},
		"broken server": {func(w http.ResponseWriter, _ *http.Request) { reply(w, 500, `<html>`) }, "status 500"},
		"redirect": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
			},
			"status 302: it redirects",
		},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, `<html>`) }, "not JSON"},
		"endless": {
			func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, strings.Repeat(" ", maxAnswer+2)) },
			"larger than 1 MB",
		},
		"broken off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"half": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			reply(w, 200, `{`)
		}, "broke off"},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			base, tr := serve(t, fault.answer)
			s, err := NewHTTP(presetAt(Enrichso(testKey), base, tr))
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Lookup(t.Context(), visitor)
			if err == nil || !strings.Contains(err.Error(), fault.want) || !strings.HasPrefix(err.Error(), base) ||
				p.Status != "" {
				t.Fatalf("got %v, %v; want the error %q", p, err, fault.want)
			}
			saysLittle(t, err)
		})
	}
}

func saysLittle(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if strings.Contains(text, testKey) || strings.Contains(text, visitor.IP) || strings.Contains(text, "/v1/") ||
		len(text) > 400 {
		t.Errorf("the error says too much: %s", text)
	}
}

// wire is a transport without a network, so that synctest's clock runs.
type wire func(*http.Request) (*http.Response, error)

func (f wire) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestHanging asks a service that never answers.
func TestHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const base = "http://enrich.example"
		s, err := NewHTTP(presetAt(Enrichso(testKey), base, wire(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		p, err := s.Lookup(ctx, visitor)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), base) || p.Status != "" ||
			time.Since(start) != 10*time.Second {
			t.Fatalf("got %v, %v after %s", p, err, time.Since(start))
		}
		saysLittle(t, err)
	})
}

func TestConfiguration(t *testing.T) {
	for _, c := range []struct {
		want string
		make func() error
	}{
		{"not an http address", func() error {
			return second(NewHTTP(presetAt(Enrichso("k"), "file:///etc/passwd", nil)))
		}},
		{"not an http address", func() error { return second(NewHTTP(presetAt(Enrichso("k"), "https://", nil))) }},
		{"more than host and path", func() error {
			return second(NewHTTP(presetAt(Enrichso("k"), "https://u:p@a.example", nil)))
		}},
		{"more than host and path", func() error {
			return second(NewHTTP(presetAt(Enrichso("k"), "https://a.example?key=1", nil)))
		}},
		{"enrich_so: no key", func() error { return second(NewHTTP(Enrichso(""))) }},
		{`unknown field "status"`, func() error {
			return second(NewHTTP(HTTPConfig{URL: "https://a.example", Key: "k", Fields: Fields{"status": {"x"}}}))
		}},
		{"snitcher: no script", func() error { return second(NewHTTP(Snitcher("k", ""))) }},
		{"snitcher: no key", func() error { return second(NewHTTP(Snitcher("", "s"))) }},
		{`unknown field "ip_address"`, func() error { return second(NewReveal(Fields{"ip_address": {"ip"}})) }},
		{"no salt", func() error { return second(NewSupabase(SupabaseConfig{URL: "https://a.example", Key: "k"})) }},
		{"not an http address", func() error { return second(NewSupabase(SupabaseConfig{Key: "k", Salt: "s"})) }},
		{`"email" is not kept`, func() error {
			return second(NewSupabase(SupabaseConfig{
				URL: "https://a.example", Key: "k", Salt: "s", Columns: map[string]string{"email": "mail"},
			}))
		}},
	} {
		if err := c.make(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got the error %v, want %q", err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }
