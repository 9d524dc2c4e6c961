package lead

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// crm is a receiver as the documentation asks for: it checks every request, and keeps one lead for each idempotency key.
type crm struct {
	t     *testing.T
	mu    sync.Mutex
	leads map[string]Capture
	// at are the times of all requests.
	at []time.Time
}

var signature = regexp.MustCompile(`^t=(\d+),v1=([0-9a-f]{64})$`)

func (c *crm) take(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = append(c.at, time.Now())
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Error(err)
	}
	if r.Method != http.MethodPost || r.URL.String() != hook || r.Header.Get("Content-Type") != "application/json" {
		c.t.Errorf("%s %s %s", r.Method, r.URL, r.Header.Get("Content-Type"))
	}
	parts := signature.FindStringSubmatch(r.Header.Get("X-Rehearse-Signature"))
	if parts == nil {
		c.t.Errorf("no signature: %q", r.Header.Get("X-Rehearse-Signature"))
		return
	}
	if seconds, _ := strconv.ParseInt(parts[1], 10, 64); seconds != time.Now().Unix() {
		c.t.Errorf("signed at %s, now it is %d", parts[1], time.Now().Unix())
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(parts[1] + "." + string(body)))
	if parts[2] != hex.EncodeToString(mac.Sum(nil)) {
		c.t.Error("the signature is wrong")
	}
	var lead Capture
	if err := json.Unmarshal(body, &lead); err != nil {
		c.t.Error(err)
	}
	key := r.Header.Get("Idempotency-Key")
	if len(key) != 32 {
		c.t.Errorf("the idempotency key is %q", key)
	}
	if c.leads == nil {
		c.leads = map[string]Capture{}
	}
	c.leads[key] = lead
}

func newHook(t *testing.T, q *Queue, transport http.RoundTripper) *Webhook {
	t.Helper()
	w, err := NewWebhook(q, hook, secret, transport)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWebhookRetries(t *testing.T) {
	type answer struct {
		status int
		after  string
		err    error
	}
	date := time.Date(2000, 1, 1, 0, 0, 30, 0, time.UTC).Format(http.TimeFormat) // synctest begins with the year 2000
	cases := []struct {
		name    string
		answers []answer // the last one again and again
		tries   int
		err     string
		// least and most bound the time that it all takes.
		least, most time.Duration
	}{
		{"at once", []answer{{status: 200}}, 1, "", 0, 0},
		{"created is fine", []answer{{status: 201}}, 1, "", 0, 0},
		{"a passing fault", []answer{{status: 503}, {status: 204}}, 2, "", 500 * time.Millisecond, time.Second},
		{
			"408, a network error and 429",
			[]answer{{status: 408}, {err: io.ErrUnexpectedEOF}, {status: 429}, {status: 200}},
			4, "",
			3500 * time.Millisecond, 7 * time.Second,
		},
		{"a fault that stays", []answer{{status: 500}}, 4, "lead webhook https://hooks.example: status 500", 3500 * time.Millisecond, 7 * time.Second},
		{
			"nobody there",
			[]answer{{err: errors.New("connection refused")}},
			4, "lead webhook https://hooks.example: connection refused",
			3500 * time.Millisecond, 7 * time.Second,
		},
		{"refused", []answer{{status: 401}}, 1, "status 401: check the address", 0, 0},
		{"redirected", []answer{{status: 307}}, 1, "status 307: it redirects", 0, 0},
		{"asks for seconds", []answer{{status: 429, after: "20"}, {status: 200}}, 2, "", 20 * time.Second, 22 * time.Second},
		{"asks for a date", []answer{{status: 503, after: date}, {status: 200}}, 2, "", 30 * time.Second, 33 * time.Second},
		{"asks for something odd", []answer{{status: 503, after: "-5"}, {status: 200}}, 2, "", 500 * time.Millisecond, time.Second},
		{"asks for too much", []answer{{status: 503, after: "301"}}, 1, "longer than 5m0s", 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				receiver := &crm{t: t}
				var deliveries log
				q := NewQueue(nil, deliveries.add)
				asked := 0
				w := newHook(t, q, wire(func(w http.ResponseWriter, r *http.Request) error {
					a := c.answers[min(asked, len(c.answers)-1)]
					asked++
					receiver.take(r)
					w.Header().Set("Location", "http://169.254.169.254/")
					if a.after != "" {
						w.Header().Set("Retry-After", a.after)
					}
					if a.err == nil {
						w.WriteHeader(a.status)
					}
					return a.err
				}))
				start := time.Now()
				if err := w.Send(capture("s1")); err != nil {
					t.Fatal(err)
				}
				finish(t, q)
				if took := time.Since(start); took < c.least || took > c.most {
					t.Errorf("took %s, want %s to %s", took, c.least, c.most)
				}
				d := deliveries.list[0]
				if len(receiver.at) != c.tries || d.Attempts != c.tries || len(receiver.leads) != 1 {
					t.Errorf("%d requests, %d attempts, %d leads; want %d attempts", len(receiver.at), d.Attempts, len(receiver.leads), c.tries)
				}
				if (c.err == "") != (d.Err == nil) || d.Err != nil && !strings.Contains(d.Err.Error(), c.err) {
					t.Errorf("got the error %v, want %q", d.Err, c.err)
				}
				if d.Err != nil && (strings.Contains(d.Err.Error(), "secret-path") || strings.Contains(d.Err.Error(), "hidden")) {
					t.Errorf("the error has the address: %v", d.Err)
				}
				if d.Took != time.Since(start) || d.Site != "acme.example" || d.Session != "s1" {
					t.Errorf("reported %+v", d)
				}
			})
		})
	}
}

func TestWebhookBody(t *testing.T) {
	var body bytes.Buffer
	q := NewQueue(nil, nil)
	w := newHook(t, q, wire(func(_ http.ResponseWriter, r *http.Request) error {
		_, err := body.ReadFrom(r.Body)
		return err
	}))
	c := capture("s1")
	c.Person = "person"
	if err := w.Send(c); err != nil {
		t.Fatal(err)
	}
	finish(t, q)
	const want = `{"capture_context":"in_chat_booking","site":"acme.example","session":"s1","email":"jo@acme.example",` +
		`"values":{"email":"jo@acme.example"},"profile":{"status":"completed","company_name":"Acme"},"captured_at":"2026-01-02T03:04:05Z"}`
	if d := cmp.Diff(want, body.String()); d != "" {
		t.Error(d)
	}
}

func TestWebhookHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deliveries log
		q := NewQueue(nil, deliveries.add)
		w := newHook(t, q, wire(func(_ http.ResponseWriter, r *http.Request) error {
			<-r.Context().Done()
			return r.Context().Err()
		}))
		start := time.Now()
		if err := w.Send(capture("s1")); err != nil {
			t.Fatal(err)
		}
		if time.Since(start) != 0 {
			t.Error("Send waited")
		}
		finish(t, q)
		d := deliveries.list[0]
		if d.Attempts != 4 || d.Err == nil || !strings.Contains(d.Err.Error(), "no answer within 10s") || time.Since(start) < 43*time.Second {
			t.Errorf("%+v after %s", d, time.Since(start))
		}
	})
}

// TestNetwork goes over a real connection, also one that the server breaks off.
func TestNetwork(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		if seen[key]++; seen[key] == 1 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 2*maxAnswer))
	}))
	defer server.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	var deliveries log
	q := NewQueue(nil, deliveries.add)
	w, err := NewWebhook(q, server.URL, secret, tr)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Send(capture("s1")); err != nil {
		t.Fatal(err)
	}
	finish(t, q)
	if d := deliveries.list[0]; d.Err != nil || d.Attempts != 2 || len(seen) != 1 {
		t.Errorf("%+v, seen %v", d, seen)
	}
}
