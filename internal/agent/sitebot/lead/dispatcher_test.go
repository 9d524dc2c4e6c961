package lead_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "whsec-0123456789"
	apiKey = "phc-0123456789"
	hook   = "https://hooks.example/secret-path?token=hidden"
)

// finding is one event of a visitor.
type finding struct {
	lead.Event
	lead.Visitor
}

func event(session string) finding {
	return finding{
		lead.Event{Name: lead.EmailCaptured, Context: lead.InChatBooking, Changed: []string{"email"}},
		lead.Visitor{
			Site: "acme.example", Session: session, Email: "jo@acme.example",
			Values:  map[string]string{"email": "jo@acme.example"},
			Words:   map[string]string{"email": "it is jo@acme.example"},
			Profile: enrich.Profile{Status: enrich.Completed, CompanyName: "Acme"}, At: time.Now().UTC(),
		},
	}
}

// Rows are those of the event.
func (f *finding) Rows(receivers ...string) ([]lead.Row, error) {
	return f.Visitor.Rows([]lead.Event{f.Event}, receivers...)
}

// wire is a transport that a function answers for.
type wire func(w http.ResponseWriter, r *http.Request) error

// RoundTrip answers unless the function fails.
func (f wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if err := f(w, r); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// office is an outbox in memory with a courier at work for one site.
type office struct {
	*lead.Memory
	*lead.Dispatcher
	t     *testing.T
	mu    sync.Mutex
	log   []lead.Delivery
	turns int
}

// openOffice returns an office. A transport stands for the network of each receiver; nil leaves the receiver out.
func openOffice(t *testing.T, webhook, posthog http.RoundTripper) *office {
	t.Helper()
	o := &office{Memory: lead.NewMemory(graph.MemoryLimits{}), t: t}
	o.open(webhook, posthog)
	return o
}

// open puts a courier to work, as a process does that begins.
func (o *office) open(webhook, posthog http.RoundTripper) {
	o.t.Helper()
	receivers := map[lead.Address]lead.Receiver{}
	if webhook != nil {
		w, err := lead.NewWebhook(hook, secret, webhook)
		if err != nil {
			o.t.Fatal(err)
		}
		receivers[lead.Address{Receiver: lead.WebhookName, Site: "acme.example"}] = w
	}
	if posthog != nil {
		p, err := lead.NewPostHog("https://eu.i.posthog.com/", apiKey, posthog)
		if err != nil {
			o.t.Fatal(err)
		}
		receivers[lead.Address{Receiver: lead.PostHogName, Site: "acme.example"}] = p
	}
	o.Dispatcher = lead.NewDispatcher(lead.DispatcherConfig{
		Outbox: o.Memory, Receivers: receivers, Lasting: true, Log: func(d lead.Delivery) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.log = append(o.log, d)
		},
	})
}

// put adds an event as a turn does.
func (o *office) put(e finding) {
	o.t.Helper()
	rows, err := e.Rows(o.Names("acme.example")...)
	if err != nil {
		o.t.Fatal(err)
	}
	o.turns++
	r := graph.Record{ID: strconv.Itoa(o.turns), Source: graph.SourceFork, At: time.Now()}
	if err := o.SaveWith(o.t.Context(), fmt.Sprint("thread", o.turns), r, rows); err != nil {
		o.t.Fatal(err)
	}
	o.Wake()
}

// rows returns the outbox.
func (o *office) rows() []lead.Row {
	o.t.Helper()
	rows, err := o.Leads(context.Background(), lead.Filter{})
	if err != nil {
		o.t.Fatal(err)
	}
	return rows
}

func (o *office) finish() {
	o.t.Helper()
	if err := o.Dispatcher.Close(context.Background()); err != nil {
		o.t.Error(err)
	}
}

// taker is a receiver as the documentation asks for: it checks every request, and keeps one lead for each id.
type taker struct {
	t     *testing.T
	mu    sync.Mutex
	leads map[string]map[string]any
	at    []time.Time
}

func (c *taker) take(r *http.Request) {
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
	if got := r.Header.Get("X-Rehearse-Signature"); got != httpclient.Signature(secret, time.Now(), body) {
		c.t.Errorf("signed %q", got)
	}
	var lead map[string]any
	if err := json.Unmarshal(body, &lead); err != nil {
		c.t.Error(err)
	}
	if c.leads == nil {
		c.leads = map[string]map[string]any{}
	}
	if lead["id"] != r.Header.Get("Idempotency-Key") || len(r.Header.Get("Idempotency-Key")) != 32 {
		c.t.Errorf("id %v, key %q", lead["id"], r.Header.Get("Idempotency-Key"))
	}
	c.leads[r.Header.Get("Idempotency-Key")] = lead
}

// TestAttempts holds when a row is tried again after an answer, and what is written down (2.16).
func TestAttempts(t *testing.T) {
	type answer struct {
		status int
		after  string
		err    error
	}
	date := time.Date(2000, 1, 1, 0, 0, 30, 0, time.UTC).Format(http.TimeFormat) // synctest begins with the year 2000
	down := answer{err: errors.New("connection refused")}
	for _, c := range []struct {
		name    string
		answers []answer // the last one again and again
		tries   int
		// least and most bound the time until the row is delivered or given up.
		least, most time.Duration
		failed      string
	}{
		{"at once", []answer{{status: 200}}, 1, 0, 0, ""},
		{"created is fine", []answer{{status: 201}}, 1, 0, 0, ""},
		{"a passing fault", []answer{{status: 503}, {status: 204}}, 2, 800 * time.Millisecond, 3 * time.Second, ""},
		{
			"refused is tried again", []answer{{status: 401}, {status: 200}}, 2, 800 * time.Millisecond,
			3 * time.Second, "",
		},
		{
			"a redirect is not followed", []answer{{status: 307}, {status: 200}}, 2, 800 * time.Millisecond,
			3 * time.Second, "",
		},
		{
			"it doubles", []answer{down, down, down, down, down, {status: 200}}, 6, 24 * time.Second, 45 * time.Second,
			"",
		},
		{
			"asks for seconds", []answer{{status: 429, after: "20"}, {status: 200}}, 2, 20 * time.Second,
			22 * time.Second, "",
		},
		{
			"asks for a date", []answer{{status: 503, after: date}, {status: 200}}, 2, 30 * time.Second,
			32 * time.Second, "",
		},
		{
			"asks for something odd", []answer{{status: 503, after: "-5"}, {status: 200}}, 2, 800 * time.Millisecond,
			3 * time.Second, "",
		},
		{
			"asks for hours", []answer{{status: 503, after: "36000"}, {status: 200}}, 2, 10 * time.Hour,
			10*time.Hour + 2*time.Second, "",
		},
		{
			"asks for a year: one last attempt", []answer{{status: 503, after: "31536000"}, {status: 200}}, 2,
			72 * time.Hour, 72*time.Hour + 2*time.Second, "",
		},
		{
			"a fault that stays", []answer{{status: 500}}, 0, 72 * time.Hour, 72*time.Hour + 2*time.Second,
			"given up after 72h0m0s: status 500",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				receiver := &taker{t: t}
				o := openOffice(t, wire(func(w http.ResponseWriter, r *http.Request) error {
					receiver.take(r)
					a := c.answers[min(len(receiver.at), len(c.answers))-1]
					w.Header().Set("Location", "http://169.254.169.254/")
					w.Header().Set("Retry-After", a.after)
					if a.err == nil {
						w.WriteHeader(a.status)
					}
					return a.err
				}), nil)
				start := time.Now()
				o.put(event("s1"))
				for synctest.Wait(); o.rows()[0].State == lead.Pending; synctest.Wait() {
					time.Sleep(time.Second / 2)
				}
				row := o.rows()[0]
				took := receiver.at[len(receiver.at)-1].Sub(start)
				if took < c.least || took > c.most || c.tries > 0 && row.Attempts != c.tries ||
					len(receiver.leads) != 1 || row.Attempts != len(receiver.at) {
					t.Errorf("%d attempts, %d requests, %d ids in %s; want %d in %s to %s",
						row.Attempts, len(receiver.at), len(receiver.leads), took, c.tries, c.least, c.most)
				}
				if (row.State == lead.Failed) != (c.failed != "") || c.failed != "" && *row.LastError != c.failed {
					t.Errorf("%+v", row)
				}
				for _, d := range o.log {
					if strings.Contains(d.To+d.Result.Error, "secret-path") ||
						strings.Contains(d.To+d.Result.Error, "hidden") {
						t.Errorf("the log has the address: %+v", d)
					}
				}
				o.finish()
			})
		})
	}
}

// TestPauses holds the pauses of a receiver that is down: they double from a second to 15 minutes, each more or less a
// fifth.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receiver := &taker{t: t}
		o := openOffice(t, wire(func(w http.ResponseWriter, r *http.Request) error {
			receiver.take(r)
			w.WriteHeader(http.StatusBadGateway)
			return nil
		}), nil)
		o.put(event("s1"))
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		want := time.Second
		for i := 1; i < len(receiver.at); i++ {
			// a look each second
			if got := receiver.at[i].Sub(receiver.at[i-1]); got < want*8/10 || got > want*12/10+time.Second {
				t.Errorf("pause %d took %s, want %s more or less a fifth", i, got, want)
			}
			want = min(2*want, 15*time.Minute)
		}
		if len(receiver.at) < 18 {
			t.Errorf("%d attempts in three hours", len(receiver.at))
		}
		o.finish()
	})
}

// An attempt that hangs is broken off after ten seconds, and holds up neither other receivers nor more than a few rows.
func TestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		posted := 0
		var mu sync.Mutex
		now, most := 0, 0
		o := openOffice(t, wire(func(_ http.ResponseWriter, r *http.Request) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			<-r.Context().Done()
			mu.Lock()
			defer mu.Unlock()
			now--
			return r.Context().Err()
		}), wire(func(http.ResponseWriter, *http.Request) error {
			mu.Lock()
			defer mu.Unlock()
			posted++
			return nil
		}))
		for i := range 20 {
			o.put(event(fmt.Sprint("s", i)))
		}
		synctest.Wait()
		mu.Lock()
		if posted != 20 || most != 8 {
			t.Errorf("%d were told beside a receiver that hangs; %d requests at once", posted, most)
		}
		mu.Unlock()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		rows := o.rows()
		if i := slices.IndexFunc(rows, func(r lead.Row) bool { return r.LastError != nil }); i < 0 ||
			*rows[i].LastError != "no answer within 10s" {
			t.Errorf("%+v", rows[0])
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := o.Dispatcher.Close(ctx); err != nil { // they are kept, and nothing is lost
			t.Error(err)
		}
		for _, r := range o.rows() {
			if r.Receiver == lead.WebhookName && r.State != lead.Pending {
				t.Errorf("%+v", r)
			}
		}
	})
}

// Another process goes on at once with what this one has not delivered, under the same ids.
func TestBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receiver := &taker{t: t}
		up := false
		network := wire(func(w http.ResponseWriter, r *http.Request) error {
			receiver.take(r)
			if !up {
				w.WriteHeader(http.StatusServiceUnavailable)
				w.Header().Set("Retry-After", "3600")
			}
			return nil
		})
		o := openOffice(t, network, nil)
		for i := range 10 {
			o.put(event(fmt.Sprint("s", i)))
		}
		time.Sleep(time.Minute)
		o.finish()
		up = true
		o.open(network, nil)
		synctest.Wait()
		for _, r := range o.rows() {
			if r.State != lead.Delivered {
				t.Errorf("%+v", r)
			}
		}
		if len(receiver.leads) != 10 {
			t.Errorf("10 leads were told under %d ids", len(receiver.leads))
		}
		o.finish()
	})
}

// What lies in memory only is tried until the end, and then said to be lost.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := lead.NewWebhook(hook, secret, wire(func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusTeapot)
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		m := lead.NewMemory(graph.MemoryLimits{})
		c := lead.NewDispatcher(lead.DispatcherConfig{
			Outbox: m, Receivers: map[lead.Address]lead.Receiver{{Receiver: lead.WebhookName, Site: "acme.example"}: w},
		})
		e := event("s1")
		rows, err := e.Rows(lead.WebhookName)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SaveWith(t.Context(), "thread", graph.Record{ID: "1"}, rows); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		if err := c.Close(ctx); err == nil || !strings.HasPrefix(err.Error(), "1 leads were not delivered") {
			t.Errorf("Close: %v", err)
		}
	})
}

func TestBodies(t *testing.T) {
	var bodies []string
	synctest.Test(t, func(t *testing.T) {
		note := func(_ http.ResponseWriter, r *http.Request) error {
			data, err := io.ReadAll(r.Body)
			bodies = append(bodies, string(data))
			return err
		}
		e := event("s1")
		e.Person, e.Collected = "person-7", map[string]string{"stage": "Seed"}
		for _, receiver := range [][2]http.RoundTripper{{wire(note), nil}, {nil, wire(note)}} {
			o := openOffice(t, receiver[0], receiver[1])
			o.put(e)
			synctest.Wait()
			rows := o.rows()
			if len(rows) != 1 || rows[0].State != lead.Delivered {
				t.Errorf("%+v", rows)
			}
			o.finish()
		}
	})
	want := []string{
		`{"event":"email_captured","id":"ID","capture_context":"in_chat_booking","site":"acme.example","session":"s1","email":"jo@acme.example",` +
			`"values":{"email":"jo@acme.example"},"said":{"email":"it is jo@acme.example"},"collected":{"stage":"Seed"},"changed":["email"],` +
			`"profile":{"status":"completed","company_name":"Acme"},"captured_at":"2000-01-01T00:00:00Z"}`,
		`{"api_key":"phc-0123456789","event":"rw_email_captured","distinct_id":"person-7",` +
			`"properties":{"rw_capture_context":"in_chat_booking","session_id":"s1","site_name":"acme.example"},"timestamp":"2000-01-01T00:00:00Z","uuid":"ID"}`,
	}
	for i, body := range bodies {
		var told struct{ ID, UUID string }
		if err := json.Unmarshal([]byte(body), &told); err != nil {
			t.Fatal(err)
		}
		bodies[i] = strings.Replace(body, told.ID+told.UUID, "ID", 1)
	}
	if d := cmp.Diff(want, bodies); d != "" {
		t.Error(d)
	}
}

// No key and no secret lies in a row.
func TestRowsHaveNoSecret(t *testing.T) {
	e := event("s1")
	rows, err := e.Rows(lead.WebhookName, lead.PostHogName)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if strings.Contains(string(r.Body), apiKey) || strings.Contains(string(r.Body), secret) {
			t.Errorf("%s", r.Body)
		}
		if r.Receiver == lead.PostHogName && strings.Contains(string(r.Body), "jo@acme.example") {
			t.Errorf("PostHog is told the address: %s", r.Body)
		}
	}
}

// TestID holds what makes a lead another one.
func TestID(t *testing.T) {
	id := func(receiver string, change func(*finding)) string {
		e := event("s1")
		change(&e)
		made, err := e.Rows(receiver)
		if err != nil {
			t.Fatal(err)
		}
		return made[0].ID
	}
	base := id(lead.WebhookName, func(*finding) {})
	for name, same := range map[string]func(*finding){
		"time":         func(e *finding) { e.At = e.At.Add(time.Hour) },
		"profile":      func(e *finding) { e.Profile.CompanyName = "Other" },
		"other values": func(e *finding) { e.Values = map[string]string{"day": "2026-01-01"} },
		"words":        func(e *finding) { e.Words = nil },
		"context":      func(e *finding) { e.Context = lead.ContentGating },
	} {
		if id(lead.WebhookName, same) != base {
			t.Errorf("%s makes another id", name)
		}
	}
	seen := map[string]string{base: "base", id(lead.PostHogName, func(*finding) {}): "receiver"}
	for name, other := range map[string]func(*finding){
		"site":       func(e *finding) { e.Site = "other.example" },
		"session":    func(e *finding) { e.Session = "s2" },
		"address":    func(e *finding) { e.Email = "bo@acme.example" },
		"event":      func(e *finding) { e.Name = lead.BookingUpdated },
		"values":     func(e *finding) { e.Name, e.Values = lead.BookingUpdated, map[string]string{"day": "any"} },
		"boundaries": func(e *finding) { e.Site, e.Session = "acme.example s", "1" },
	} {
		made := id(lead.WebhookName, other)
		if before, taken := seen[made]; taken {
			t.Errorf("%s and %s have one id", name, before)
		}
		seen[made] = name
	}
}

func TestReceiversRefuse(t *testing.T) {
	for _, make := range []func() error{
		func() error { _, err := lead.NewWebhook("hooks.example", secret, nil); return err },
		func() error { _, err := lead.NewWebhook(hook, "", nil); return err },
		func() error { _, err := lead.NewPostHog("", apiKey, nil); return err },
		func() error { _, err := lead.NewPostHog("https://eu.i.posthog.com", "", nil); return err },
	} {
		if err := make(); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%v", err)
		}
	}
}
