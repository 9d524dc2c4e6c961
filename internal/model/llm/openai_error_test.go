package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

func TestStatus(t *testing.T) {
	for _, tc := range []struct {
		status       int
		header, body string
		want         Error
		hint         string
	}{
		{401, "", `{"error":{"message":"bad key ` + testKey + `"}}`, Error{
			Fault: Unauthorized, Message: "refused the key (401): bad key ***",
		}, "OPENAI_API_KEY"},
		{
			403, "", `{"error":"not you"}`, Error{Fault: Unauthorized, Message: "refused the key (403): not you"},
			"OPENAI_API_KEY",
		},
		{404, "", `404 page not found`, Error{
			Fault: Refused, Message: "found nothing there (404): 404 page not found",
		}, `ends in /v1 and that the model "agent"`},
		{400, "", `{"message":"too long"}`, Error{Fault: Refused, Message: "refused the request (400): too long"}, ""},
		{422, "", `{"detail":[{"loc":["body"]}]}`, Error{
			Fault: Refused, Message: `refused the request (422): [{"loc":["body"]}]`,
		}, ""},
		{409, "", ``, Error{Fault: Refused, Message: "refused the request (409): it gave no reason"}, ""},
		{429, "Retry-After: 7", `{"error":{"message":"slow\n down"}}`, Error{
			Fault: RateLimited, RetryAfter: 7 * time.Second, Message: "asks for fewer requests (429): slow down",
		}, "fewer workers"},
		{429, "Retry-After-Ms: 150", ``, Error{
			Fault: RateLimited, RetryAfter: 150 * time.Millisecond,
			Message: "asks for fewer requests (429): it gave no reason",
		}, ""},
		{408, "", `{"error":{"message":"too slow"}}`, Error{
			Fault: Unavailable, Message: "is not available (408): too slow",
		}, ""},
		{500, "", `{"error":{"code":5}}`, Error{Fault: Unavailable, Message: `is not available (500): {"code":5}`}, ""},
		{502, "", "<html>\n<b>Bad\x1b[31m gateway</b>", Error{
			Fault: Unavailable, Message: "is not available (502): <html> <b>Bad[31m gateway</b>",
		}, ""},
		{503, "Retry-After: 120", `[]`, Error{
			Fault: Unavailable, RetryAfter: 2 * time.Minute, Message: "is not available (503): []",
		}, ""},
		{302, "Location: https://me:secret@elsewhere.example/v1?k=secret", ``, Error{
			Fault: Refused, Message: "answered with a redirect (302) to elsewhere.example, which is not followed",
		}, "as the base URL: https://elsewhere.example/v1"},
		{304, "", ``, Error{Fault: Refused, Message: "answered with the redirect 304, which is not followed"}, ""},
		{503, "", strings.Repeat("x", 1000), Error{
			Fault: Unavailable, Message: "is not available (503): " + strings.Repeat("x", 299) + "…",
		}, ""},
	} {
		t.Run(fmt.Sprint(tc.status), func(t *testing.T) {
			base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if name, value, ok := strings.Cut(tc.header, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			})
			_, err := dial(t, base).Generate(t.Context(), say("hi"))
			got := wantError(t, err)
			tc.want.Status, tc.want.Model, tc.want.At = tc.status, "openai:agent", base
			diff(t, "error", tc.want, *got, cmpopts.IgnoreFields(Error{}, "Hint"))
			if !strings.Contains(got.Hint, tc.hint) || strings.Contains(err.Error(), "secret") {
				t.Errorf("hint %q does not say %q", got.Hint, tc.hint)
			}
		})
	}
}

func TestBrokenAnswers(t *testing.T) {
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}
	body := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { reply(w, text) }
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		fault   Fault
		message string
	}{
		{"no choices", body(`{"choices":[]}`), Malformed, "the answer has no choices"},
		{"an empty object", body(`{}`), Malformed, "the answer has no choices"},
		{"not JSON", body("<html>no</html>"), Malformed, "the answer is not JSON: <html>no</html>"},
		{"a stream that nobody asked for", body("data: {}\n\n"), Malformed, "the answer is not JSON: data: {}"},
		{"empty", body(""), Malformed, "the answer is empty"},
		{
			"another shape", body(`{"choices":"none"}`), Malformed,
			"the answer is not what the protocol says: choices is a string",
		},
		{
			"no content", body(`{"choices":[{"message":{"role":"assistant"},"finish_reason":"stop"}]}`), Malformed,
			"the answer has neither content nor tool calls: message.content is null or absent (finish_reason stop)",
		},
		{
			"null for content", body(`{"choices":[{"message":{"content":null,"tool_calls":[]}}]}`), Malformed,
			"the answer has neither content nor tool calls: message.content is null or absent",
		},
		{
			"content that was filtered away",
			body(`{"choices":[{"message":{"content":null},"finish_reason":"content_filter"}]}`), Malformed,
			"the answer has neither content nor tool calls: message.content is null or absent (finish_reason " +
				"content_filter)",
		},
		{
			"no UTF-8", body("{\"choices\":[{\"message\":{\"content\":\"caf\xe9\"}}]}"), Malformed,
			"the answer is not UTF-8 text",
		},
		{
			"content that is no text", body(`{"choices":[{"message":{"content":5}}]}`), Malformed,
			"the answer is not what the protocol says: its content is not text",
		},
		{"no object", body(`[]`), Malformed, "the answer is not what the protocol says: it is a array"},
		{
			"an error with a good status", body(`{"error":{"message":"oops","code":"x"}}`), Malformed,
			"the answer holds an error instead of a reply: oops",
		},
		{
			"a status in a good status", body(`{"error":{"message":"busy","code":429}}`), RateLimited,
			"asks for fewer requests (429): busy",
		},
		{"cut", raw(head + "Content-Length: 200\r\n\r\n" + hello[:60]), Unreachable, brokenOff},
		{"cut between chunks", raw(head + "Transfer-Encoding: chunked\r\n\r\n4\r\n{\"ch\r\n"), Unreachable, brokenOff},
		{"cut without a length", raw(head + "Connection: close\r\n\r\n" + hello[:60]), Unreachable, brokenOff},
		{"cut in the header", raw("HTTP/1.1 200 OK\r\n"), Unreachable, brokenOff},
		{"no answer", raw(""), Unreachable, brokenOff},
		{
			"an error that is cut", raw("HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\n{"), Unavailable,
			"is not available (503): it gave no reason",
		},
		{"not HTTP", raw("SSH-2.0-OpenSSH\r\n"), Unreachable, "no connection: net/http: " +
			"HTTP/1.x transport connection broken: malformed HTTP response \"SSH-2.0-OpenSSH\""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := dial(t, serve(t, tc.handler)).Generate(t.Context(), say("hi"))
			e := wantError(t, err)
			diff(t, "fault", tc.fault, e.Fault)
			diff(t, "message", tc.message, e.Message)
		})
	}
}

func TestHugeAnswers(t *testing.T) {
	for _, status := range []int{200, 500} {
		var written atomic.Int64
		base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			block := make([]byte, 1<<20)
			for range 64 {
				n, err := w.Write(block)
				if written.Add(int64(n)); err != nil {
					return
				}
			}
		})
		_, err := dial(t, base).Generate(t.Context(), say("hi"))
		e := wantError(t, err)
		if status == 200 {
			diff(t, "message", "the answer is larger than 8 MB", e.Message)
			diff(t, "fault", Malformed, e.Fault)
		} else {
			diff(t, "fault", Unavailable, e.Fault)
		}
		if n := written.Load(); n > 20<<20 {
			t.Errorf("%d bytes were read of an answer with status %d", n, status)
		}
	}
}

func TestUnreachable(t *testing.T) {
	gone := serve(t, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String() + "/v1"
	_ = listener.Close()
	lost := failing{&net.DNSError{Err: "no such host", Name: "models.invalid", IsNotFound: true}}
	for _, tc := range []struct {
		name, base    string
		transport     http.RoundTripper
		message, hint string
	}{
		{"refused", closed, transport(t), "the connection was refused", "is the server running? check OPENAI_BASE_URL"},
		{"no such host", gone, lost, "the host models.invalid was not found", "check the host name"},
		{
			"another reason", gone, failing{errors.New("proxy says no to Bearer " + testKey)},
			"no connection: proxy says no to Bearer ***", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := config.Model{Provider: "openai", Name: "agent", BaseURL: tc.base}
			c, err := NewClient(m, Options{
				Getenv: env(map[string]string{"OPENAI_API_KEY": testKey}), Transport: tc.transport,
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Generate(t.Context(), say("hi"))
			e := wantError(t, err)
			diff(t, "fault", Unreachable, e.Fault)
			diff(t, "message", tc.message, e.Message)
			if !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("hint %q does not say %q", e.Hint, tc.hint)
			}
			noSecret(t, e)
		})
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// noSecret looks through everything that an error can be made to print.
func noSecret(t *testing.T, err *Error) {
	t.Helper()
	texts := []string{err.Error(), fmt.Sprintf("%+v", *err), fmt.Sprintf("%#v", *err)}
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
		texts = append(texts, cause.Error(), fmt.Sprintf("%+v", cause))
	}
	for _, text := range texts {
		if strings.Contains(text, testKey) || strings.Contains(text, "pass%2Fword") ||
			strings.Contains(text, "pass/word") {
			t.Errorf("a secret is in %s", text)
		}
	}
}

// A server that repeats the request's credentials must not get them into logs and results.
func TestEchoedSecrets(t *testing.T) {
	for name, body := range map[string]string{
		"in JSON":           `{"error":{"message":"AUTH is wrong, KEY too"}}`,
		"at the 300th char": `{"error":{"message":"` + strings.Repeat("x", 290) + `KEY"}}`,
		"as text":           "header Authorization: AUTH; KEY",
		"as a URL":          "http://host/?key=KEY",
		"in a bad answer":   `{"choices":"AUTH"`,
	} {
		for _, status := range []int{200, 401, 500} {
			t.Run(fmt.Sprintf("%s %d", name, status), func(t *testing.T) {
				base := serve(t, func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(status)
					auth := r.Header.Get("Authorization")
					text := strings.NewReplacer("AUTH", auth, "KEY", strings.TrimPrefix(auth, "Bearer ")).Replace(body)
					_, _ = io.WriteString(w, text)
				})
				_, err := dial(t, strings.Replace(base, "://", "://user:pass%2Fword@", 1)).
					Generate(t.Context(), say("hi"))
				e := wantError(t, err)
				noSecret(t, e)
				if !strings.Contains(e.At, "127.0.0.1") {
					t.Errorf("At is %q", e.At)
				}
			})
		}
	}
}

func TestForeignCredentials(t *testing.T) {
	var s secrets
	for in, want := range map[string]string{
		"Authorization: Basic dXNlcjpwYXNz rejected":   "Authorization: Basic *** rejected",
		`{"authorization":"Bearer abcdef123456"}`:      `{"authorization":"Bearer ***"}`,
		"token bearer abcdef123456!":                   "token bearer ***!",
		"Incorrect key sk-proj-abcdefgh_123 provided.": "Incorrect key *** provided.",
		"The bearer was missing.":                      "The bearer was missing.",
	} {
		diff(t, in, want, s.scrub(in))
	}
}

func TestNewClient(t *testing.T) {
	for _, tc := range []struct {
		name          string
		model         config.Model
		env           map[string]string
		at            string
		message, hint string
	}{
		{
			"a key for OpenAI", config.Model{}, map[string]string{"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1",
			"", "",
		},
		{"no key for OpenAI", config.Model{}, nil, "", "no API key", "set OPENAI_API_KEY"},
		{
			"a blank key for OpenAI", config.Model{}, map[string]string{"OPENAI_API_KEY": " \n"}, "", "no API key",
			"set OPENAI_API_KEY",
		},
		{
			"no key in the variable that is named", config.Model{APIKeyEnv: "MINE"},
			map[string]string{"OPENAI_API_KEY": "k"}, "", "no API key", "set MINE",
		},
		{
			"no key for OpenAI by its address", config.Model{BaseURL: "https://api.openai.com/v1/"}, nil, "",
			"no API key", "set OPENAI_API_KEY",
		},
		{
			"no key for a local server", config.Model{BaseURL: "http://localhost:8000/v1"}, nil,
			"http://localhost:8000/v1", "", "",
		},
		{"an address from the environment", config.Model{}, map[string]string{
			"OPENAI_BASE_URL": "http://u:p@h:1/v1?k=secret",
		}, "http://h:1/v1", "", ""},
		{
			"the configuration's address first", config.Model{BaseURL: "http://a/v1"},
			map[string]string{"OPENAI_BASE_URL": "http://b/v1"}, "http://a/v1", "", "",
		},
		{
			"ollama", config.Model{Provider: "ollama"}, map[string]string{"OPENAI_BASE_URL": "http://b/v1"},
			"http://localhost:11434/v1", "", "",
		},
		{
			"not an address", config.Model{BaseURL: "localhost:8000/v1"}, nil, "",
			"the base URL is not an http or https address", "write it like https",
		},
		{
			"another API", config.Model{BaseURL: "http://a/v1", API: "chat"}, nil, "", `unknown API "chat"`,
			"use chat_completions or responses",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.model.Provider, tc.model.Name = orElse(tc.model.Provider, "openai"), "m"
			c, err := NewClient(tc.model, Options{Getenv: env(tc.env), Transport: failing{}})
			if tc.message == "" {
				if err != nil {
					t.Fatal(err)
				}
				diff(t, "At", tc.at, c.At())
				return
			}
			e := wantError(t, err)
			diff(t, "message", tc.message, e.Message)
			if !strings.HasPrefix(e.Hint, tc.hint) {
				t.Errorf("hint %q does not begin with %q", e.Hint, tc.hint)
			}
		})
	}
}

// Neither OpenAI's key nor its address belong to a local server.
func TestOllamaGetsNoKey(t *testing.T) {
	var auth []string
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Values("Authorization")
		reply(w, hello)
	})
	m := config.Model{Provider: "ollama", Name: "llama3", BaseURL: base}
	c, err := NewClient(m, Options{Getenv: env(map[string]string{"OPENAI_API_KEY": testKey}), Transport: transport(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Generate(t.Context(), say("hi")); err != nil {
		t.Fatal(err)
	}
	diff(t, "Authorization", []string(nil), auth)
}

func TestSchemaRefused(t *testing.T) {
	for _, status := range []int{400, 422} {
		var bodies []string
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			if strings.Contains(string(body), "response_format") {
				w.WriteHeader(status)
				return
			}
			reply(w, hello)
		})
		c := dial(t, base)
		for range 2 {
			got, err := c.Generate(t.Context(), everything())
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "attempts", 1, got.Attempts)
		}
		diff(t, "requests", 3, len(bodies)) // with, without, and again without
	}
}

// A request that is refused for another reason proves nothing about schemas.
func TestSchemaNotToBlame(t *testing.T) {
	requests, refuse := 0, true
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		body, _ := io.ReadAll(r.Body)
		switch {
		case refuse:
			w.WriteHeader(http.StatusBadRequest)
		case !strings.Contains(string(body), "response_format"):
			t.Error("the schema was left out")
		default:
			reply(w, hello)
		}
	})
	c := dial(t, base)
	_, err := c.Generate(t.Context(), everything())
	diff(t, "status", 400, wantError(t, err).Status)
	diff(t, "requests", 2, requests)
	refuse = false
	if _, err := c.Generate(t.Context(), everything()); err != nil {
		t.Fatal(err)
	}
}

func TestUnwritableRequest(t *testing.T) {
	c := dial(t, "http://localhost:1/v1")
	block := say("hi")
	block.Messages[0].Content.Blocks = []chat.Block{{Type: "video"}}
	schema := say("hi")
	schema.Schema = &Schema{Name: "x", JSON: json.RawMessage("{")}
	for _, r := range []Request{block, schema} {
		_, err := c.Generate(t.Context(), r)
		e := wantError(t, err)
		diff(t, "fault", Refused, e.Fault)
		if !strings.HasPrefix(e.Message, "the request cannot be written as JSON: ") {
			t.Errorf("message %q", e.Message)
		}
	}
}

func TestCallerLeaves(t *testing.T) {
	arrived := make(chan struct{})
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := dial(t, base).Generate(ctx, say("hi"))
	if err != context.Canceled { //nolint:errorlint // as it is
		t.Errorf("got %v, want the context's own error", err)
	}
}

func TestQueryKeyInAddress(t *testing.T) {
	address, err := url.Parse("https://host/v1?api-key=abcd1234")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "scrubbed", "called https://host/v1?***",
		newSecrets("", address).scrub("called https://host/v1?api-key=abcd1234"))
}
