package mcp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/mcp"
)

// host starts a host that ends with the test.
func host(t *testing.T) *mcp.Host {
	t.Helper()
	h, err := mcp.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

// plain is what a little agent sees of an answer.
type plain struct {
	Status int
	Result struct {
		Content []struct{ Text string }
		IsError bool
		Tools   []struct{ Name string }
	}
	Error *struct {
		Code    int
		Message string
	}
}

func (p plain) text() string {
	switch {
	case p.Error != nil:
		return fmt.Sprintf("%d %s", p.Error.Code, p.Error.Message)
	case len(p.Result.Content) == 0:
		return fmt.Sprintf("status %d", p.Status)
	case p.Result.IsError:
		return "failed: " + p.Result.Content[0].Text
	}
	return p.Result.Content[0].Text
}

// post sends a request without a session. Change changes it before.
func post(t *testing.T, url, body string, change func(*http.Request)) plain {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(request)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	p := plain{Status: response.StatusCode}
	_ = json.Unmarshal(data, &p) // a status without JSON says enough
	return p
}

func calling(name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args)
}

func namesOf(calls []chat.ToolCall) (names []string) {
	for _, c := range calls {
		names = append(names, c.Name+" "+string(c.Args)+" "+string(c.Result)+" "+c.Source)
	}
	return names
}

// Calls join the turn under way, by a client with a session and by single requests; others are refused.
func TestConversation(t *testing.T) {
	h := host(t)
	var refused []string
	c := h.Open(toolSet(t, orders), func(name string) { refused = append(refused, name) })
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: c.URL()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	defer http.DefaultClient.CloseIdleConnections()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 { // also before the first turn
		t.Fatalf("tools: %+v, %v", list, err)
	}
	early := post(t, c.URL(), calling("ping", "{}"), nil)
	c.Begin()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{
		Name: "get_order", Arguments: map[string]any{"id": "1"},
	})
	if err != nil || result.IsError {
		t.Errorf("call: %+v, %v", result, err)
	}
	second := post(t, c.URL(), calling("get_order", `{"id":"1"}`), nil) // another session counts on
	_, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "teleport"})
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); !ok || refusal.Code != -32602 ||
		!strings.Contains(refusal.Message, "teleport") {
		t.Errorf("an unknown tool: %v", err)
	}
	unfit := post(t, c.URL(), calling("get_order", `{"id":"<3>"}`), nil)
	first := c.End()
	between := post(t, c.URL(), calling("teleport", "{}"), nil)
	c.Begin()
	busy := post(t, c.URL(), calling("get_order", `{"id":"2"}`), nil)
	last := c.End()
	c.Close()
	late := post(t, c.URL(), calling("ping", "{}"), nil)

	const noTurn = "-32600 no turn is under way: tools can be called from the user's message to its reply"
	for _, tc := range []struct {
		want string
		got  plain
	}{
		{noTurn, early},
		{"shipped", second},
		{`failed: the tool get_order has no result for {"id":"<3>"}`, unfit},
		{noTurn, between},
		{"failed: busy", busy},
		{"-32600 no conversation is held here: it is over, or the address is wrong", late},
	} {
		if tc.got.text() != tc.want {
			t.Errorf("got %q, want %q", tc.got.text(), tc.want)
		}
	}
	if diff := cmp.Diff([]string{
		`get_order {"id":"1"} {"status":"new"} mcp`, `get_order {"id":"1"} "shipped" mcp`,
		`teleport {} {"error":"unknown tool \"teleport\""} mcp`,
		`get_order {"id":"<3>"} {"error":"the tool get_order has no result for {\"id\":\"\u003c3\u003e\"}"} mcp`,
	}, namesOf(first.Calls)); diff != "" {
		t.Errorf("first turn (-want +got):\n%s", diff)
	}
	if first.Fault != `unknown tool "teleport"` || last.Fault != "" {
		t.Errorf("faults: %q, %q", first.Fault, last.Fault)
	}
	if diff := cmp.Diff([]string{`get_order {"id":"2"} {"error":"busy"} mcp`}, namesOf(last.Calls)); diff != "" {
		t.Errorf("second turn (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ping", "teleport"}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// Another attempt of a turn begins anew: the calls of the one before do not count, and their results are given again.
func TestAnotherAttempt(t *testing.T) {
	c := host(t).Open(toolSet(t, orders), nil)
	c.Again() // without a turn
	c.Begin()
	post(t, c.URL(), calling("get_order", `{"id":"1"}`), nil)
	post(t, c.URL(), calling("teleport", `{}`), nil)
	c.Again()
	post(t, c.URL(), calling("get_order", `{"id":"1"}`), nil)
	turn := c.End()
	if diff := cmp.Diff([]string{`get_order {"id":"1"} {"status":"new"} mcp`}, namesOf(turn.Calls)); diff != "" ||
		turn.Fault != "" {
		t.Errorf("%s (-want +got):\n%s", turn.Fault, diff)
	}
}

// A call that waits for its result when its turn ends, or begins anew, is refused and has no result.
func TestCallAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(*mcp.Host, *mcp.Conversation){
		"end":   func(_ *mcp.Host, c *mcp.Conversation) { c.End() },
		"again": func(_ *mcp.Host, c *mcp.Conversation) { c.Again() },
		"close": func(h *mcp.Host, _ *mcp.Conversation) { _ = h.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t)
			c := h.Open(toolSet(t,
				"- {name: slow, results: [{result: 1, delay: 1h}]}\n- {name: quick, results: [{result: 1}]}"), nil)
			c.Begin()
			answer := make(chan plain)
			go func() { answer <- post(t, c.URL(), calling("slow", "{}"), nil) }()
			for c.Calls() == 0 {
				post(t, c.URL(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil)
			}
			if got := post(t, c.URL(), calling("quick", "{}"), nil).text(); got != "1" { // it waits for no other call
				t.Errorf("got %q", got)
			}
			end(h, c)
			if got := (<-answer).text(); got != "-32600 the turn of this call is over" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Only programs of this machine are answered, at addresses that they were told; what they send is bounded.
func TestHostRefuses(t *testing.T) {
	h := host(t)
	c := h.Open(toolSet(t, orders), nil)
	c.Begin()
	origin := strings.TrimSuffix(c.URL(), c.URL()[strings.Index(c.URL(), mcp.Path):])
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	named := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for name, tc := range map[string]struct {
		url, body string
		change    func(*http.Request)
		status    int
	}{
		"here":                     {c.URL(), calling("ping", "{}"), nil, 200},
		"localhost":                {c.URL(), calling("ping", "{}"), named("localhost:1234"), 200},
		"its own page":             {c.URL(), calling("ping", "{}"), header("Origin", origin), 200},
		"JSON alone":               {c.URL(), calling("ping", "{}"), header("Accept", "application/json"), 200},
		"another name":             {c.URL(), calling("ping", "{}"), named("evil.example"), 403},
		"a name like this machine": {c.URL(), calling("ping", "{}"), named("localhost.evil.example:80"), 403},
		"another address":          {c.URL(), calling("ping", "{}"), named("192.0.2.1"), 403},
		"a page of another site":   {c.URL(), calling("ping", "{}"), header("Origin", "https://evil.example"), 403},
		"a page without an origin": {c.URL(), calling("ping", "{}"), header("Origin", "null"), 403},
		"another port's page":      {c.URL(), calling("ping", "{}"), header("Origin", "http://127.0.0.1:1"), 403},
		"no conversation":          {origin + mcp.Path, calling("ping", "{}"), nil, 404},
		"nothing":                  {origin + mcp.Path + "/", calling("ping", "{}"), nil, 404},
		"a guess":                  {origin + mcp.Path + "/AAAA", calling("ping", "{}"), nil, 404},
		"a form":                   {c.URL(), calling("ping", "{}"), header("Content-Type", "text/plain"), 415},
		"a stream":                 {c.URL(), "", func(r *http.Request) { r.Method = http.MethodGet }, 405},
		"a large body":             {c.URL(), calling("ping", `{"a":"`+strings.Repeat("x", 1<<20)+`"}`), nil, 413},
		"no JSON":                  {c.URL(), "{", nil, 400},
		"no parameters":            {c.URL(), `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, nil, 400},
	} {
		if got := post(t, tc.url, tc.body, tc.change); got.Status != tc.status {
			t.Errorf("%s: got %d, want %d: %s", name, got.Status, tc.status, got.text())
		}
	}
	if turn := c.End(); len(turn.Calls) != 4 || turn.Fault != "" {
		t.Errorf("calls: %v, fault %q", namesOf(turn.Calls), turn.Fault)
	}
}

// A turn has so many calls and no more: what is not recorded makes the turn a fault.
func TestCallsOfATurnAreBounded(t *testing.T) {
	c := host(t).Open(toolSet(t, orders), nil)
	c.Begin()
	var batch bytes.Buffer
	for i := range 1001 {
		fmt.Fprintf(&batch, `,{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ping"}}`, i+1)
	}
	post(t, c.URL(), "["+batch.String()[1:]+"]", func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2025-03-26")
	})
	turn := c.End()
	if len(turn.Calls) != 1000 ||
		turn.Fault != `"ping" is one call too many: a turn may have 1000 calls and 8 MB of arguments` {
		t.Errorf("%d calls, fault %q", len(turn.Calls), turn.Fault)
	}
	c.Begin()
	for range 9 {
		post(t, c.URL(), calling("ping", `{"a":"`+strings.Repeat("x", 1<<20-1000)+`"}`), nil)
	}
	if turn := c.End(); len(turn.Calls) != 8 || !strings.Contains(turn.Fault, `"ping" is one call too many`) {
		t.Errorf("%d calls, fault %q", len(turn.Calls), turn.Fault)
	}
}

// Conversations never mix.
func TestConversationsAreApart(t *testing.T) {
	h := host(t)
	set := toolSet(t, "- {name: count, results: [{times: 10, result: ok}]}")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			c := h.Open(set, nil)
			defer c.Close()
			for turn := range 2 {
				c.Begin()
				for n := range 5 {
					if got := post(t, c.URL(), calling("count", fmt.Sprintf(`{"of":"%d/%d/%d"}`, i, turn, n)), nil).
						text(); got != "ok" {
						t.Errorf("got %q", got)
					}
				}
				got := namesOf(c.End().Calls)
				for n, call := range got {
					if want := fmt.Sprintf(`count {"of":"%d/%d/%d"} "ok" mcp`, i, turn, n); call != want {
						t.Errorf("got %s, want %s", call, want)
					}
				}
				if len(got) != 5 {
					t.Errorf("%d calls", len(got))
				}
			}
		})
	}
	all.Wait()
}
