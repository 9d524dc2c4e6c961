package collect_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/collect"
)

func gather() (c *collect.Collector, lines func() []string) {
	var all []string
	c = collect.New(func(p collect.Piece) {
		all = append(all, strings.Join([]string{string(rune('0' + p.Turn)), p.Kind, string(p.Data)}, " "))
	})
	return c, func() []string { return all }
}

func text(s string) func() []byte { return func() []byte { return []byte(s) } }

func TestScenes(t *testing.T) {
	c, lines := gather()
	ctx := c.In(t.Context())
	collect.Request(ctx, text("card"))
	// a turn is graded while the next one is held
	one, judging := collect.Turn(ctx, 1), collect.Grading(collect.Turn(ctx, 2), 1)
	collect.Note(one, "hello")
	collect.Request(judging, text("good?"))
	collect.Answered(judging, "yes")
	collect.Answered(one, "the record has it")
	two := collect.Turn(ctx, 2)
	collect.Request(two, text("messages"))
	collect.Note(two, "the messages have it")
	collect.Request(collect.Aside(two), text("what would a user say?"))
	collect.Note(collect.Aside(two), "nothing")
	collect.Request(collect.Grading(ctx, 0), text("all good?"))
	if len(lines()) > 0 {
		t.Error("pieces were kept before the end")
	}
	c.Close()
	collect.Put(two, collect.ToolResult, text("late"))
	c.Close()
	want := []string{
		"0 prompt card", "1 prompt hello", "1 judge_prompt good?", "1 judge_reply yes", "2 prompt messages",
		"0 judge_prompt all good?",
	}
	if d := cmp.Diff(want, lines()); d != "" {
		t.Errorf("pieces mismatch (-want +got):\n%s", d)
	}
}

// TestNothing holds that nothing is made where nothing is gathered, and nothing kept of a conversation that is dropped.
func TestNothing(t *testing.T) {
	ctx := collect.Grading(collect.Turn(collect.Aside(t.Context()), 1), 1)
	never := func() []byte { t.Error("a piece was made"); return nil }
	collect.Put(ctx, collect.Exchange, never)
	collect.Request(ctx, never)
	collect.Note(ctx, "x")
	collect.Answered(ctx, "x")
	c, lines := gather()
	collect.Put(c.In(ctx), collect.Prompt, text("x"))
	c.Drop()
	c.Close()
	if len(lines()) > 0 {
		t.Error("a dropped conversation was kept")
	}
}

// TestMuch holds that what waits is bounded.
func TestMuch(t *testing.T) {
	c, lines := gather()
	for range 20 {
		collect.Put(c.In(t.Context()), collect.Prompt, text(strings.Repeat("x", 1<<20)))
	}
	if n := len(lines()); n < 10 {
		t.Errorf("%d of 20 MB were kept before the end", n)
	}
}

// breaking is a body that breaks off.
type breaking struct{ io.Reader }

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
func (breaking) Close() error { return nil }

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestExchanges(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if r.Method == http.MethodGet && (len(r.TransferEncoding) > 0 || r.ContentLength != 0) {
			t.Error("a request without a body was sent with one")
		}
		w.Header()["Date"] = nil
		w.Header().Set("Set-Cookie", "session=x")
		w.Header().Set("X-Api-Key", "x")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	}))
	t.Cleanup(server.Close)
	at := strings.TrimPrefix(server.URL, "http://")
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	broken := tripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("nobody is there") })
	brokenOff := tripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{Status: "200 OK", Header: http.Header{}, Body: breaking{strings.NewReader("half")}}, nil
	})
	for _, c := range []struct {
		name      string
		transport http.RoundTripper
		method    string
		body      io.Reader
		read      bool
		want      string
	}{
		{
			"whole", transport, "POST", strings.NewReader("hi"), true,
			"POST /a?b=c HTTP/1.1\nHost: " + at + "\nAuthorization: [redacted HEADER]\nX-Id: 7\n\nhi\n\n" +
				"HTTP/1.1 418 I'm a teapot\nContent-Length: 15\nContent-Type: text/plain; charset=utf-8\nSet-Cookie: " +
				"[redacted HEADER]\nX-Api-Key: [redacted HEADER]\n\nshort and stout",
		},
		{
			"unread", transport, "GET", http.NoBody, false,
			"GET /a?b=c HTTP/1.1\nHost: " + at + "\nAuthorization: [redacted HEADER]\nX-Id: 7\n\n\n\n" +
				"HTTP/1.1 418 I'm a teapot\nContent-Length: 15\nContent-Type: text/plain; charset=utf-8\nSet-Cookie: " +
				"[redacted HEADER]\nX-Api-Key: [redacted HEADER]\n\n\n\n(the rest was not read)",
		},
		{"unanswered", broken, "GET", nil, false, "GET /a?b=c HTTP/1.1\nHost: " + at +
			"\nAuthorization: [redacted HEADER]\nX-Id: 7\n\n\n\n(no answer: nobody is there)"},
		{"broken off", brokenOff, "GET", nil, true, "GET /a?b=c HTTP/1.1\nHost: " + at + "\nAuthorization: " +
			"[redacted HEADER]\nX-Id: 7\n\n\n\nHTTP/1.1 200 OK\n\nhalf\n\n(the answer broke off: unexpected EOF)"},
	} {
		collector, lines := gather()
		for _, ctx := range []context.Context{
			t.Context(), collect.Grading(collector.In(t.Context()), 1), collector.In(t.Context()),
		} {
			request, err := http.NewRequestWithContext(ctx, c.method, server.URL+"/a?b=c", c.body)
			if err != nil {
				t.Fatal(err)
			}
			if s, ok := c.body.(*strings.Reader); ok {
				_, _ = s.Seek(0, io.SeekStart)
			}
			request.Header.Set("Authorization", "Bearer x")
			request.Header.Set("X-Id", "7")
			answer, err := collect.Exchanges(&http.Client{Transport: c.transport}).Do(request)
			if err != nil {
				continue
			}
			if c.read {
				_, _ = io.ReadAll(answer.Body)
			}
			_ = answer.Body.Close()
		}
		collector.Close()
		if d := cmp.Diff([]string{"0 exchange " + c.want}, []string{
			strings.ReplaceAll(strings.Join(lines(), "|"), "\r\n", "\n"),
		}); d != "" {
			t.Errorf("%s mismatch (-want +got):\n%s", c.name, d)
		}
	}
}
