package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func script(t testing.TB, yaml string) *llm.Scripted {
	t.Helper()
	s, err := llm.LoadScript("demo.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve starts an endpoint and returns its address with a client that leaves no connection behind.
func serve(t testing.TB, model llm.Model, o Options) (address string, client *http.Client) {
	t.Helper()
	s := httptest.NewServer(OpenAI(model, o))
	t.Cleanup(s.Close)
	transport := httpclient.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	return s.URL, &http.Client{Transport: transport}
}

func send(t *testing.T, client *http.Client, method, url, body string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(data)
}

func diffJSON(t *testing.T, what, want, got string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &b); err != nil {
		t.Fatalf("%s: %v in %s", what, err, got)
	}
	ignore := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == `["created"]` }, cmp.Ignore())
	if d := cmp.Diff(a, b, ignore); d != "" {
		t.Errorf("%s mismatch (-want +got):\n%s", what, d)
	}
}

const shop = `
name: shop
rules:
  - when: {user: weather}
    reply: Let me see.
    tool_calls: [{name: get_weather, args: {city: Bern}}]
  - when: {user: 'busy', model: '^judge$'}
    fault: {status: 429, retry_after: 1500ms, body: slow down}
  - when: {user: raw}
    fault: {status: 418, body: '{"error":{"message":"teapot","custom":1}}'}
  - when: {user: stop}
    fault: malformed
  - when: {user: hello}
    reply: one two three four five six seven eight nine
`

func TestCompletion(t *testing.T) {
	address, client := serve(t, script(t, shop), Options{})
	response, body := send(t, client, "POST", address+"/v1/chat/completions",
		`{"model":"agent","messages":[{"role":"user","content":"hello"}],"user":"x"}`)
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("status %d, %s", response.StatusCode, response.Header)
	}
	diffJSON(t, "text", `{"id":"chatcmpl-1","object":"chat.completion","created":0,"model":"agent",
		"choices":[{"index":0,"message":{"role":"assistant","content":"one two three four five six seven eight nine"},"finish_reason":"stop"}],
		"usage":{"prompt_tokens":1,"completion_tokens":9,"total_tokens":10}}`, body)
	_, body = send(t, client, "POST", address+"/v1/chat/completions",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"the weather"},
		{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`)
	diffJSON(t, "tool call", `{"id":"chatcmpl-2","object":"chat.completion","created":0,"model":"",
		"choices":[{"index":0,"message":{"role":"assistant","content":"Let me see.",
			"tool_calls":[{"id":"call_1_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Bern\"}"}}]},"finish_reason":"tool_calls"}],
		"usage":{"prompt_tokens":4,"completion_tokens":5,"total_tokens":9}}`, body)
}

func TestStream(t *testing.T) {
	address, client := serve(t, script(t, shop), Options{})
	for ask, want := range map[string]struct {
		text   string
		calls  int
		finish string
		least  int
	}{
		"hello":   {"one two three four five six seven eight nine", 0, "stop", 6},
		"weather": {"Let me see.", 1, "tool_calls", 5},
	} {
		response, body := send(t, client, "POST", address+"/v1/chat/completions",
			`{"model":"agent","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"`+ask+`"}]}`)
		if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("content type %q", got)
		}
		var text, finish, last string
		var calls, events int
		var used *usage
		lines := bufio.NewScanner(strings.NewReader(body))
		for lines.Scan() {
			if lines.Text() == "" {
				continue
			}
			last = strings.TrimPrefix(lines.Text(), "data: ")
			if last == "[DONE]" {
				break
			}
			events++
			var chunk completion
			if err := json.Unmarshal([]byte(last), &chunk); err != nil || chunk.Object != "chat.completion.chunk" {
				t.Fatalf("%v in %s", err, last)
			}
			if chunk.Usage != nil {
				used = chunk.Usage
				continue
			}
			delta := chunk.Choices[0].Delta
			if delta.Content != nil {
				text += *delta.Content
			}
			calls += len(delta.ToolCalls)
			if chunk.Choices[0].FinishReason != nil {
				finish = *chunk.Choices[0].FinishReason
			}
		}
		if text != want.text || calls != want.calls || finish != want.finish || last != "[DONE]" ||
			events < want.least || used == nil {
			t.Errorf("%s: text %q, %d calls, %d events, finish %q, usage %v, last %q", ask, text, calls, events, finish,
				used, last)
		}
	}
}

func TestErrors(t *testing.T) {
	address, client := serve(t, script(t, shop), Options{})
	user := func(text string) string {
		return `{"model":"judge","messages":[{"role":"user","content":"` + text + `"}]}`
	}
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		want, retryAfter         string
	}{
		{
			"a status", "POST", "/v1/chat/completions", user("busy"), 429,
			`{"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":"rate_limited"}}`, "2 1500",
		},
		{
			"a status with its own body", "POST", "/v1/chat/completions", user("raw"), 418,
			`{"error":{"message":"teapot","custom":1}}`, " ",
		},
		{
			"no rule", "POST", "/v1/chat/completions", user("what"), 400,
			`{"error":{"message":"scripted:judge at demo.yaml: no rule matches the user message \"what\" (add a rule or a default to demo.yaml)","type":"invalid_request_error","param":null,"code":"refused"}}`, " ",
		},
		{"not JSON", "POST", "/v1/chat/completions", "{", 400, `{"error":{"message":"the body is not a chat completion request: unexpected end of JSON input","type":"invalid_request_error","param":null,"code":"invalid_request"}}`, " "},
		{
			"no messages", "POST", "/v1/chat/completions", "{}", 400,
			`{"error":{"message":"the request has no messages","type":"invalid_request_error","param":null,"code":"invalid_request"}}`, " ",
		},
		{
			"bad content", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":5}]}`, 400,
			`{"error":{"message":"messages[0]: content is neither text nor a list of parts with text or image_url","type":"invalid_request_error","param":null,"code":"invalid_request"}}`, " ",
		},
		{
			"a bad part", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"video"}]}]}`,
			400, `{"error":{"message":"messages[0]: content is neither text nor a list of parts with text or image_url","type":"invalid_request_error","param":null,"code":"invalid_request"}}`, " ",
		},
		{"another path", "POST", "/chat/completions", "{}", 404, `{"error":{"message":"nothing is served at POST /chat/completions; use POST /v1/chat/completions","type":"invalid_request_error","param":null,"code":"not_found"}}`, " "},
		{
			"another method", "GET", "/v1/chat/completions", "", 404,
			`{"error":{"message":"nothing is served at GET /v1/chat/completions; use POST /v1/chat/completions","type":"invalid_request_error","param":null,"code":"not_found"}}`, " ",
		},
		{
			"too large", "POST", "/v1/chat/completions", `{"x":"` + strings.Repeat("x", maxRequest) + `"}`, 413,
			`{"error":{"message":"the body cannot be read: http: request body too large","type":"invalid_request_error","param":null,"code":"invalid_request"}}`, " ",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			response, body := send(t, client, tc.method, address+tc.path, tc.body)
			if response.StatusCode != tc.status {
				t.Errorf("status %d, want %d", response.StatusCode, tc.status)
			}
			diffJSON(t, "body", tc.want, body)
			if got := response.Header.Get("Retry-After") + " " +
				response.Header.Get("Retry-After-Ms"); got != tc.retryAfter {
				t.Errorf("Retry-After %q, want %q", got, tc.retryAfter)
			}
		})
	}
}

type broken struct{ err error }

func (b broken) Generate(context.Context, llm.Request) (chat.Reply, error) {
	return chat.Reply{}, b.err
}

// Errors of models that are no scripts get the status by which a client sees the same fault.
func TestErrorsOfOtherModels(t *testing.T) {
	for fault, want := range map[llm.Fault]int{
		llm.Unauthorized: 401, llm.RateLimited: 429, llm.Unavailable: 503, llm.TimedOut: 504, llm.Unreachable: 502,
		llm.Malformed: 502, llm.Refused: 400, llm.Unrecorded: 400, "": 500,
	} {
		err := error(&llm.Error{Fault: fault, Model: "m", Message: "failed"})
		if fault == "" {
			err = errors.New("failed")
		}
		address, client := serve(t, broken{err}, Options{})
		response, body := send(t, client, "POST", address+"/v1/chat/completions",
			`{"messages":[{"role":"user","content":"x"}]}`)
		if response.StatusCode != want || !strings.Contains(body, "failed") {
			t.Errorf("%s: status %d, want %d; %s", fault, response.StatusCode, want, body)
		}
	}
}

func TestMalformed(t *testing.T) {
	address, client := serve(t, script(t, shop), Options{})
	response, body := send(t, client, "POST", address+"/v1/chat/completions",
		`{"messages":[{"role":"user","content":"stop"}]}`)
	if response.StatusCode != 200 || json.Valid([]byte(body)) || body == "" {
		t.Errorf("status %d, body %q", response.StatusCode, body)
	}
}

func TestModelsAndHealth(t *testing.T) {
	address, client := serve(t, script(t, shop), Options{})
	_, body := send(t, client, "GET", address+"/v1/models", "")
	diffJSON(t, "models", `{"object":"list","data":[{"id":"shop","object":"model","created":0,"owned_by":"rehearse"}]}`,
		body)
	if response, _ := send(t, client, "GET", address+"/healthz", ""); response.StatusCode != 200 {
		t.Errorf("health status %d", response.StatusCode)
	}
	address, client = serve(t, broken{}, Options{Models: []string{"a", "b"}})
	_, body = send(t, client, "GET", address+"/v1/models", "")
	diffJSON(t, "models", `{"object":"list","data":[{"id":"a","object":"model","created":0,"owned_by":"rehearse"},{"id":"b","object":"model","created":0,"owned_by":"rehearse"}]}`, body)
	address, client = serve(t, broken{}, Options{})
	_, body = send(t, client, "GET", address+"/v1/models", "")
	diffJSON(t, "models", `{"object":"list","data":[]}`, body)
}

// The wire itself, without a client that could hide anything.
func TestCutsOnTheWire(t *testing.T) {
	address, _ := serve(t, script(t, `
rules:
  - when: {user: cut}
    fault: cut_stream
  - when: {user: refuse}
    fault: refuse_connection`), Options{})
	for name, tc := range map[string]struct {
		request     string
		contentType string
	}{
		"plain":   {`{"messages":[{"role":"user","content":"cut"}]}`, "application/json"},
		"stream":  {`{"stream":true,"messages":[{"role":"user","content":"cut"}]}`, "text/event-stream"},
		"refused": {`{"messages":[{"role":"user","content":"refuse"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_, _ = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s",
				len(tc.request), tc.request)
			data, _ := io.ReadAll(conn)
			if tc.contentType == "" {
				if len(data) > 0 {
					t.Errorf("got %q, want nothing", data)
				}
				return
			}
			response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(data))), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if !errors.Is(err, io.ErrUnexpectedEOF) || int64(len(body)) != response.ContentLength/2 || len(body) < 50 {
				t.Errorf("%d of %d bytes, %v", len(body), response.ContentLength, err)
			}
			if got := response.Header.Get("Content-Type"); got != tc.contentType {
				t.Errorf("content type %q", got)
			}
		})
	}
}

// Latency and delay hold a reply back, but not beyond the client's patience.
func TestLatency(t *testing.T) {
	address, client := serve(t, script(t, "default: {reply: x, delay: 20ms}"), Options{Latency: 30 * time.Millisecond})
	start := time.Now()
	send(t, client, "POST", address+"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`)
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Errorf("took %v, want 50ms", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	never := script(t, "default: {fault: timeout}")
	address, client = serve(t, modelFunc(func(asked context.Context, r llm.Request) (chat.Reply, error) {
		cancel() // the client's patience is over once the model is asked
		return never.Generate(asked, r)
	}), Options{})
	request, err := http.NewRequestWithContext(ctx, "POST", address+"/v1/chat/completions",
		strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if response, err := client.Do(request); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", response, err)
		_ = response.Body.Close()
	}
	// Closing the server waits for its handlers: that this test ends shows that the handler noticed.
}
