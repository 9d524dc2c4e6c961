package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

func TestExecute(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	response, answer := d.do("POST", "/execute",
		executionContext("ask", "my order number is 17", `"conversation_id":"c1"`),
		"Content-Type: application/json", "X-Conversation-Id: ignored", "X-Test-Case-Id: t <1>")
	if response.StatusCode != http.StatusOK {
		t.Fatal(answer)
	}
	followsSchema(t, answer)
	r := decoded[flow.Result](t, answer)
	if r.AssistantMessage != "Say goodbye." || !r.FlowCompleted || r.PreviousNodeID != "ask" || *r.NextNodeID != "bye" {
		t.Errorf("answer %s", answer)
	}
	if debug := r.History[1].Debug; debug.ConversationID != "c1" || debug.TestCaseID != "t <1>" {
		t.Errorf("ids %+v", debug)
	}
	for name, value := range map[string]string{
		"X-Trace-Id": r.TraceID, "X-Conversation-Id": "c1", "X-Test-Case-Id": "t <1>",
	} {
		if got := response.Header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	for _, text := range []string{r.TraceID, `"conversation_id":"c1"`, `"test_case_id":"t <1>"`} {
		if !strings.Contains(strings.ReplaceAll(d.log.String(), `\u003c`, "<"), text) &&
			!strings.Contains(d.log.String(), text) {
			t.Errorf("the log lacks %s: %s", text, d.log)
		}
	}
	if strings.Contains(d.log.String(), "order number") {
		t.Errorf("the log tells what was said: %s", d.log)
	}
}

func TestExecuteIsReadable(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	_, answer := d.do("POST", "/execute", executionContext("start", `<b>&"ü"`))
	if !strings.Contains(answer, `<b>&\"ü\"`) || !strings.Contains(answer, `\"order\" <number> & name`) {
		t.Errorf("the answer is escaped: %s", answer)
	}
	followsSchema(t, answer)
}

func TestExecuteRefuses(t *testing.T) {
	d := openDesk(t, llm.Lexical{})
	good := executionContext("ask", "hello")
	inline := `{"id":"x","start":"a","nodes":[{"id":"a","type":"start","next":["nowhere"]},{"id":"b","type":"stop"}]}`
	for name, c := range map[string]struct {
		body    string
		status  int
		code    string
		pointer string
		headers []string
	}{
		"broken":        {`{"flow":`, 400, "invalid_context", "", nil},
		"empty":         {``, 400, "invalid_context", "", nil},
		"trailing":      {good + `{}`, 400, "invalid_context", "", nil},
		"a list":        {`[]`, 400, "invalid_context", "", nil},
		"unknown field": {executionContext("ask", "hello", `"surprise":1`), 400, "invalid_context", "", nil},
		"wrong type": {
			executionContext("ask", "hello", `"dry_run":"yes"`), 400, "invalid_context", "/dry_run", nil,
		},
		"bad limit": {
			executionContext("ask", "hello", `"limits":{"max_tool_iterations":0}`), 400, "invalid_context",
			"/limits/max_tool_iterations", nil,
		},
		"no message": {executionContext("ask", ""), 400, "invalid_context", "/latest_user_message", nil},
		"deep": {
			executionContext("ask", "hello", `"model":`+strings.Repeat(`[`, 100_000)+strings.Repeat(`]`, 100_000)), 400,
			"invalid_context", "", nil,
		},
		"broken flow": {
			strings.Replace(good, `{"ref":"desk"}`, inline, 1), 400, "invalid_context", "/flow/nodes/0/next/0", nil,
		},
		"unknown flow":   {strings.Replace(good, "desk", "dask", 1), 404, "not_found", "/flow/ref", nil},
		"unknown node":   {executionContext("nowhere", "hello"), 404, "not_found", "/current_node_id", nil},
		"completed":      {executionContext("bye", "hello"), 409, "flow_already_completed", "/current_node_id", nil},
		"5 MB":           {executionContext("ask", strings.Repeat("x", 5<<20)), 413, "too_large", "", nil},
		"media type":     {good, 415, "unsupported_media_type", "", []string{"Content-Type: text/plain"}},
		"no media type":  {good, 415, "unsupported_media_type", "", []string{"Content-Type: ;"}},
		"another site's": {good, 403, "forbidden", "", []string{"Sec-Fetch-Site: cross-site"}},
		"from a proxy":   {good, 403, "forbidden", "", []string{"X-Forwarded-For: 127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{t: t, flows: d.flows, url: d.url, client: d.client, log: d.log}
			for _, headers := range [][]string{c.headers, append([]string{"Accept: text/event-stream"}, c.headers...)} {
				p := want[Problem](d, c.status, "POST", "/execute", c.body, headers...)
				if p.Status != c.status || p.Code != c.code || p.Type == "" || p.Title != http.StatusText(c.status) ||
					p.Detail == "" || p.Hint == "" {
					t.Errorf("problem %+v", p)
				}
				if pointer := pointerText(p); strings.TrimSuffix(pointer, "/") != c.pointer {
					t.Errorf("pointer %q, want %q: %s", pointer, c.pointer, p.Detail)
				}
			}
		})
	}
	if p := want[Problem](d, 405, "GET", "/execute", ""); !strings.Contains(p.Hint, "POST") {
		t.Errorf("problem %+v", p)
	}
	want[Problem](d, 404, "GET", "/elsewhere", "")
}

func pointerText(p Problem) string {
	if p.Pointer == nil {
		return ""
	}
	return *p.Pointer
}

// failing is the lexical model up to its n-th call, which goes another way.
func failing(n int, instead modelFunc) llm.Model {
	count := make(chan int, 1)
	count <- 0
	return modelFunc(func(ctx context.Context, r llm.Request) (chat.Reply, error) {
		calls := <-count + 1
		count <- calls
		if calls == n {
			return instead(ctx, r)
		}
		return llm.Lexical{}.Generate(ctx, r)
	})
}

func hang(ctx context.Context, _ llm.Request) (chat.Reply, error) {
	<-ctx.Done()
	return chat.Reply{}, ctx.Err()
}

func TestExecuteModelFails(t *testing.T) {
	broken := func(context.Context, llm.Request) (chat.Reply, error) {
		return chat.Reply{}, &llm.Error{
			Fault: llm.Unavailable, Model: "openai:x", Status: 500, Message: "the server failed",
			RetryAfter: 3 * time.Second,
		}
	}
	slow := func(context.Context, llm.Request) (chat.Reply, error) {
		return chat.Reply{}, &llm.Error{Fault: llm.TimedOut, Model: "openai:x", Message: "no answer"}
	}
	crash := func(context.Context, llm.Request) (chat.Reply, error) { panic("the model fell over") }
	for name, c := range map[string]struct {
		instead modelFunc
		status  int
		code    string
	}{
		"500":    {broken, 502, "model_error"},
		"hangs":  {hang, 504, "turn_timeout"},
		"slow":   {slow, 504, "timeout"},
		"panics": {crash, 500, "internal_error"},
		"unknown": {
			func(context.Context, llm.Request) (chat.Reply, error) { return chat.Reply{}, errors.New("odd") }, 502,
			"model_error",
		},
	} {
		body := executionContext("start", "hello", `"limits":{"turn_timeout_ms":50}`)
		t.Run(name, func(t *testing.T) {
			for calls := 1; calls <= 2; calls++ {
				d := openDesk(t, failing(calls, c.instead))
				p := want[Problem](d, c.status, "POST", "/execute", body)
				if p.Code != c.code {
					t.Errorf("problem %+v", p)
				}
				if c.status == 500 && !strings.Contains(d.log.String(), "the model fell over") {
					t.Errorf("the log does not tell of the panic: %s", d.log)
				}
				if strings.Contains(p.Detail, "fell over") {
					t.Errorf("the client is told of the panic: %s", p.Detail)
				}
			}
		})
		t.Run(name+" in a stream", func(t *testing.T) {
			d := openDesk(t, failing(2, c.instead))
			response, answer := d.do("POST", "/execute", body, "Accept: text/event-stream")
			events := readEvents(t, answer)
			last := events[len(events)-1]
			if response.StatusCode != 200 || last.Type != "error" || last.Status != c.status || last.Code != c.code ||
				events[0].Type != "tool" {
				t.Errorf("%d %s", response.StatusCode, answer)
			}
		})
	}
	d := openDesk(t, failing(1, broken))
	if response, _ := d.do("POST", "/execute",
		executionContext("start", "hello")); response.Header.Get("Retry-After") != "3" {
		t.Errorf("Retry-After %q", response.Header.Get("Retry-After"))
	}
}

func TestClientGoesAway(t *testing.T) {
	for _, accept := range []string{"application/json", "text/event-stream"} {
		begun, ended := make(chan bool), make(chan error, 1)
		d := openDesk(t, modelFunc(func(ctx context.Context, r llm.Request) (chat.Reply, error) {
			close(begun)
			_, err := hang(ctx, r)
			ended <- err
			return chat.Reply{}, err
		}))
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+"/execute",
			strings.NewReader(executionContext("start", "hello")))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", accept)
		go func() { <-begun; cancel() }()
		if response, err := d.client.Do(request); err == nil {
			t.Errorf("an answer: %d", response.StatusCode)
			_ = response.Body.Close()
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the turn ended with %v", err)
		}
	}
}

func TestTrustedParameters(t *testing.T) {
	var asked []llm.Request
	d := openDesk(t, modelFunc(func(ctx context.Context, r llm.Request) (chat.Reply, error) {
		asked = append(asked, r)
		return llm.Lexical{}.Generate(ctx, r)
	}))
	body := executionContext("start", "hello",
		`"model":{"temperature":0,"top_p":0.5,"seed":7,"max_tokens":9,"enable_tracing":true}`,
		`"memory_pipeline":{"enabled":false}`)
	_, answer := d.do("POST", "/internal/agent/test", body)
	followsSchema(t, answer)
	if r := asked[0]; *r.Temperature != 0 || *r.TopP != 0.5 || *r.Seed != 7 || r.MaxTokens != 9 {
		t.Errorf("asked %+v", r)
	}
	if !strings.Contains(answer, `"prompt_snapshot":[{"role":"system"`) {
		t.Errorf("no snapshot: %s", answer)
	}
	asked = nil
	_, answer = d.do("POST", "/execute", body)
	if r := asked[0]; r.Temperature != nil || r.TopP != nil || r.Seed != nil || r.MaxTokens != 0 ||
		strings.Contains(answer, "prompt_snapshot") {
		t.Errorf("/execute honours the model block: %+v %s", r, answer)
	}
	p := want[Problem](d, 400, "POST", "/internal/agent/test",
		executionContext("start", "hello", `"model":{"name":"other"}`))
	if pointerText(p) != "/model/name" || !strings.Contains(p.Detail, "no such model") {
		t.Errorf("problem %+v", p)
	}
}

func TestTooManyTurnsAndDrain(t *testing.T) {
	begun, more := make(chan bool), make(chan bool)
	d := openDesk(t, modelFunc(func(ctx context.Context, r llm.Request) (chat.Reply, error) {
		if r.ToolChoice == flow.ProcessNode {
			begun <- true
			<-more
		}
		return llm.Lexical{}.Generate(ctx, r)
	}), func(c *FlowsConfig) { c.MaxTurns = 1 })
	first := make(chan int, 1)
	go func() {
		response, _ := d.do("POST", "/execute", executionContext("start", "hello"))
		first <- response.StatusCode
	}()
	<-begun
	response, answer := d.do("POST", "/execute", executionContext("start", "hello"))
	if response.StatusCode != 503 || response.Header.Get("Retry-After") != "1" ||
		decoded[Problem](t, answer).Code != "overloaded" {
		t.Errorf("%d %s", response.StatusCode, answer)
	}
	drained := make(chan error, 1)
	go func() { drained <- d.flows.Drain(t.Context()) }()
	<-d.flows.stopping
	if p := want[Problem](d, 503, "POST", "/execute", executionContext("start", "hello")); p.Code != "stopping" {
		t.Errorf("problem %+v", p)
	}
	select {
	case err := <-drained:
		t.Errorf("drained before the turn ended: %v", err)
	default:
	}
	close(more)
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if status := <-first; status != 200 {
		t.Errorf("the turn in flight ended with %d", status)
	}
}

// TestTraceparent takes over the trace of a caller that has one.
func TestTraceparent(t *testing.T) {
	for header, want := range map[string]string{
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": "4bf92f3577b34da6a3ce929d0e0e4736",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"nonsense": "",
	} {
		r := httptest.NewRequest(http.MethodPost, "/execute", nil)
		r.Header.Set("traceparent", header)
		r, _ = flowTurn(r, "", "")
		if got := trace.IDOf(r.Context()); want != "" && got != want || len(got) != 32 || strings.Trim(got, "0") == "" {
			t.Errorf("the trace of %q = %q, want %q", header, got, want)
		}
	}
}
