package langfuse_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
)

func repeat(f langfusetest.Fault, n int) []langfusetest.Fault {
	var list []langfusetest.Fault
	for range n {
		list = append(list, f)
	}
	return list
}

func TestRetry(t *testing.T) {
	get := func(ctx context.Context, c *langfuse.Client) error { return second(c.Dataset(ctx, "d")) }
	put := func(ctx context.Context, c *langfuse.Client) error {
		return second(c.PutItem(ctx, langfuse.Item{ID: "a", Dataset: "d", Input: raw(`1`)}))
	}
	run := func(ctx context.Context, c *langfuse.Client) error {
		return second(c.AddRunItem(ctx, langfuse.NewRunItem{Run: "r", ItemID: "a", TraceID: "t"}))
	}
	remove := func(ctx context.Context, c *langfuse.Client) error { return c.DeleteItem(ctx, "a") }
	health := func(ctx context.Context, c *langfuse.Client) error { return second(c.Health(ctx)) }
	// synctest's clock begins at 2000-01-01
	date := time.Date(2000, 1, 1, 0, 0, 20, 0, time.UTC).Format(http.TimeFormat)
	cut := langfusetest.Fault{Cut: true}
	hangs := langfusetest.Fault{Delay: time.Hour}
	for _, c := range []struct {
		name        string
		call        func(context.Context, *langfuse.Client) error
		faults      []langfusetest.Fault
		requests    int
		want        string
		least, most time.Duration
	}{
		{"no fault", get, nil, 1, "", 0, 0},
		{"seconds", get, repeat(langfusetest.TooMany("7"), 1), 2, "", 7 * time.Second, 8 * time.Second},
		{"a date", get, repeat(langfusetest.TooMany(date), 1), 2, "", 20 * time.Second, 22 * time.Second},
		{
			"a date that is over", get, repeat(langfusetest.TooMany("Sat, 01 Jan 1990 00:00:00 GMT"), 1), 2, "",
			250 * time.Millisecond, 500 * time.Millisecond,
		},
		{"no word", get, repeat(langfusetest.TooMany(""), 1), 2, "", 250 * time.Millisecond, 500 * time.Millisecond},
		{
			"nonsense", get, repeat(langfusetest.TooMany("soon"), 1), 2, "", 250 * time.Millisecond,
			500 * time.Millisecond,
		},
		{"too long", get, repeat(langfusetest.TooMany("3600"), 1), 1, "it asks to wait 1h0m0s", 0, 0},
		{"absurd", get, repeat(langfusetest.TooMany("1e300"), 1), 1, "it asks to wait 8760h0m0s", 0, 0},
		{
			"for ever", get, repeat(langfusetest.TooMany("60"), 9), 4,
			"status 429: 429 - rate limit exceeded (4 attempts)", 3 * time.Minute, 4 * time.Minute,
		},
		{"a run item, refused", run, repeat(langfusetest.TooMany("1"), 1), 2, "", time.Second, 2 * time.Second},
		{"500", get, repeat(langfusetest.Broken(500), 2), 3, "", 750 * time.Millisecond, 1500 * time.Millisecond},
		{
			"503 for ever", put, repeat(langfusetest.Broken(503), 9), 4,
			"status 503: Internal Server Error (4 attempts)", time.Second, 4 * time.Second,
		},
		{
			"502 for an upsert", put, repeat(langfusetest.Broken(502), 1), 2, "", 250 * time.Millisecond,
			500 * time.Millisecond,
		},
		{"500 for a run item", run, repeat(langfusetest.Broken(500), 1), 1, "status 500: Internal Server Error", 0, 0},
		{
			"503 with a time", get, []langfusetest.Fault{{Status: 503, RetryAfter: "5"}}, 2, "", 5 * time.Second,
			6 * time.Second,
		},
		{"501", get, repeat(langfusetest.Broken(501), 1), 1, "status 501", 0, 0},
		{"health", health, repeat(langfusetest.Broken(503), 1), 1, "status 503", 0, 0},
		{"400", get, repeat(langfusetest.Broken(400), 1), 1, "status 400", 0, 0},
		{"cut off", get, repeat(cut, 1), 2, "", 250 * time.Millisecond, 500 * time.Millisecond},
		{"an upsert cut off", put, repeat(cut, 2), 3, "", 750 * time.Millisecond, 1500 * time.Millisecond},
		{"a run item cut off", run, repeat(cut, 1), 1, "the answer broke off", 0, 0},
		{"a deletion cut off", remove, repeat(cut, 1), 1, "", 0, 0}, // the answer says nothing that is needed
		{"no answer", get, repeat(hangs, 1), 2, "", 30 * time.Second, 31 * time.Second},
		{
			"never an answer", get, repeat(hangs, 9), 4, "no answer within 30s (4 attempts); check LANGFUSE_HOST",
			2 * time.Minute, 3 * time.Minute,
		},
		{
			"no answer for a run item", run, repeat(hangs, 1), 1, "no answer within 30s", 30 * time.Second,
			30 * time.Second,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, client := inside(t)
			s.AddDataset("d")
			s.AddItem("d", "a", nil, nil, nil)
			s.Fail(c.faults...)
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := c.call(t.Context(), client)
				if c.want != "" {
					wants(t, err, c.want)
				} else if err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took < c.least || took > c.most {
					t.Errorf("it took %s, want %s to %s", took, c.least, c.most)
				}
			})
			if n := len(s.Requests()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if len(s.RunItems()) > 1 {
				t.Errorf("the run has the item %d times", len(s.RunItems()))
			}
		})
	}
}

// TestDeletedBefore deletes an item whose deletion is carried out, but whose answer is lost.
func TestDeletedBefore(t *testing.T) {
	s, _ := inside(t)
	s.AddDataset("d")
	s.AddItem("d", "a", nil, nil, nil)
	lost := &losing{RoundTripper: s.Transport(), answers: 1}
	client := connect(t, s, lost, langfuse.Config{})
	synctest.Test(t, func(t *testing.T) {
		if err := client.DeleteItem(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		if err := client.DeleteItem(t.Context(), "a"); !errors.Is(err, langfuse.ErrNotFound) {
			t.Errorf("deleted anew: %v", err)
		}
	})
}

// losing loses answers on the way.
type losing struct {
	http.RoundTripper
	answers int
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.RoundTripper.RoundTrip(r)
	if l.answers--; l.answers >= 0 && err == nil {
		return nil, errors.New("connection reset by " + langfusetest.SecretKey)
	}
	return res, err
}

// TestUnreached asks where nobody listens. What never got there may be sent again, whatever it is.
func TestUnreached(t *testing.T) {
	tries := 0
	client, err := langfuse.New(langfuse.Config{
		Host: "http://127.0.0.1:1", PublicKey: langfusetest.PublicKey, SecretKey: langfusetest.SecretKey,
		Transport: function(func(*http.Request) (*http.Response, error) {
			tries++
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := client.AddRunItem(t.Context(), langfuse.NewRunItem{Run: "r", ItemID: "a", TraceID: "t"})
		wants(t, err, `add the item "a" to the run "r": dial tcp: connection refused (4 attempts); check LANGFUSE_HOST`)
	})
	if tries != 4 {
		t.Errorf("%d attempts", tries)
	}
}

type function func(*http.Request) (*http.Response, error)

func (f function) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestLeaving ends the context before, while waiting for an answer, and while waiting for the next attempt.
func TestLeaving(t *testing.T) {
	for name, c := range map[string]struct {
		fault langfusetest.Fault
		after time.Duration
	}{
		"before":           {langfusetest.Fault{}, 0},
		"within an answer": {langfusetest.Fault{Delay: time.Hour}, 10 * time.Second},
		"between attempts": {langfusetest.TooMany("50"), 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s, client := inside(t)
			s.Fail(c.fault)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.after == 0 {
					cancel()
				}
				time.AfterFunc(c.after, cancel)
				start := time.Now()
				n, err := failure(client.Items(ctx, "d", langfuse.ItemsOptions{}))
				if !errors.Is(err, context.Canceled) || n > 0 || time.Since(start) != c.after {
					t.Errorf("after %s: %v", time.Since(start), err)
				}
				wants(t, err, `list the items of the dataset "d": context canceled`)
			})
		})
	}
}

// TestSlowBody reads an answer whose end does not come.
func TestSlowBody(t *testing.T) {
	client, err := langfuse.New(langfuse.Config{
		PublicKey: langfusetest.PublicKey, SecretKey: langfusetest.SecretKey, Attempts: 1, Timeout: 5 * time.Second,
		Transport: function(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 200, Header: http.Header{}, Body: endless{r.Context(), strings.NewReader(`{"data":[`)},
			}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		wants(t, second(failure(client.Datasets(t.Context()))), "the answer was not complete within 5s")
	})
}

type endless struct {
	ctx context.Context
	*strings.Reader
}

func (e endless) Read(p []byte) (int, error) {
	if e.Len() > 0 {
		return e.Reader.Read(p)
	}
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

func (endless) Close() error { return nil }
