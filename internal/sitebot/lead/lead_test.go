package lead

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rehearse/internal/sitebot/enrich"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "whsec-0123456789"
	apiKey = "phc-0123456789"
	hook   = "https://hooks.example/secret-path?token=hidden"
)

func capture(session string) Capture {
	return Capture{
		Context: InChatBooking, Site: "acme.example", Session: session, Email: "jo@acme.example", Values: map[string]string{"email": "jo@acme.example"},
		Profile: enrich.Profile{Status: enrich.Completed, CompanyName: "Acme"}, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// wire is a transport without a network, so that synctest's clock runs: a handler is asked within the process.
type wire func(w http.ResponseWriter, r *http.Request) error

func (f wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if err := f(w, r); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// log collects what a queue reports.
type log struct {
	mu   sync.Mutex
	list []Delivery
}

func (l *log) add(d Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, d)
}

func finish(t *testing.T, q *Queue) {
	t.Helper()
	if err := q.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConfiguration(t *testing.T) {
	q := NewQueue(nil, nil)
	defer finish(t, q)
	for want, err := range map[string]error{
		"lead webhook: not an http address": second(NewWebhook(q, "", secret, nil)),
		"lead webhook: not an http":         second(NewWebhook(q, "ftp://a.example", secret, nil)),
		"lead webhook: no secret":           second(NewWebhook(q, hook, "", nil)),
		"posthog: not an http address":      second(NewPostHog(q, "eu.i.posthog.com", apiKey, nil)),
		"posthog: no key":                   second(NewPostHog(q, "https://eu.i.posthog.com", "", nil)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want %q", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }
