package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

const (
	helloStream = ": keep-alive\n\n" +
		`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}` +
		"\n\n" + `data: {"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}` + "\n\n" +
		"event: message\r\ndata:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo!\"}},{\"index\":1,\"delta\":{\"content\":\"other\"}}]}\r\n\r\n" +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	usageEvent = `data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}` + "\n\n"
	doneEvent  = "data: [DONE]\n\n"
)

func delta(fields string) string { return `data: {"choices":[{"delta":{` + fields + `}}]}` + "\n\n" }

func TestStreamedReply(t *testing.T) {
	usage := chat.Usage{InputTokens: 12, OutputTokens: 3}
	args := func(text string) json.RawMessage { return json.RawMessage(text) }
	for _, tc := range []struct {
		name, body string
		tokens     []string
		want       chat.Reply
	}{
		{
			"text", helloStream + usageEvent + doneEvent, []string{"Hel", "lo!"},
			chat.Reply{Text: "Hello!", Usage: usage, Cost: chat.Cost{USD: 54e-6}, FinishReason: "stop"},
		},
		{
			"without usage", helloStream + doneEvent, []string{"Hel", "lo!"},
			chat.Reply{Text: "Hello!", FinishReason: "stop"},
		},
		{
			"without the last event", helloStream + usageEvent, []string{"Hel", "lo!"},
			chat.Reply{Text: "Hello!", Usage: usage, Cost: chat.Cost{USD: 54e-6}, FinishReason: "stop"},
		},
		{
			"something after the last event", helloStream + doneEvent + "data: oops\n\n", []string{"Hel", "lo!"},
			chat.Reply{Text: "Hello!", FinishReason: "stop"},
		},
		{"an empty text", delta(`"content":""`) + doneEvent, nil, chat.Reply{}},
		{
			"cut by length", delta(`"content":"a"`) +
				"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n" + doneEvent,
			[]string{"a"}, chat.Reply{Text: "a", FinishReason: "length"},
		},
		{
			"tool calls, interleaved", delta(`"content":"Let me see."`) +
				delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]`) +
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}},{"index":3,"id":"b","function":{"name":"g","arguments":"{oops"}}]`) +
				delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":" 1}"}}]`) + doneEvent,
			[]string{"Let me see."},
			chat.Reply{Text: "Let me see.", ToolCalls: []chat.ToolCall{
				{ID: "a", Name: "f", Args: args(`{"x": 1}`)},
				{ID: "b", Name: "g", Args: args(`"{oops"`)},
			}},
		},
		{
			"tool calls without an index",
			delta(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"y":2}}}]`) + delta(
				`"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{"}},{"function":{"arguments":"}"}}]`) +
				doneEvent, nil, chat.Reply{ToolCalls: []chat.ToolCall{
				{ID: "a", Name: "f", Args: args(`{"y":2}`)},
				{ID: "b", Name: "g", Args: args(`{}`)},
			}},
		},
		{
			"a refusal", delta(`"refusal":"I "`) + delta(`"refusal":"can't."`) + doneEvent, []string{"I can't."},
			chat.Reply{Text: "I can't."},
		},
		{"parts", delta(`"content":[{"type":"text","text":"a"}]`) + doneEvent, []string{"a"}, chat.Reply{Text: "a"}},
		{
			"several lines of data", "data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"a\"}}]}\n\n" + doneEvent,
			[]string{"a"}, chat.Reply{Text: "a"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base := serve(t, func(w http.ResponseWriter, _ *http.Request) { writeSSE(w, tc.body) })
			c := dial(t, base, func(m *config.Model) { m.Price = config.Price{Input: new(2.0), Output: new(10.0)} })
			tokens, got, err := collect(t.Context(), c, say("hi"))
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Attempts = 1
			tc.want.Usage.Unknown, tc.want.Cost.Unknown = tc.want.Usage.Total() == 0, tc.want.Usage.Total() == 0
			diff(t, "tokens", tc.tokens, tokens)
			diff(t, "reply", tc.want, got, cmpopts.IgnoreFields(chat.Reply{}, "Latency", "FirstText"),
				cmpopts.EquateApprox(1e-9, 0))
		})
	}
}

func TestStreamErrors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		tokens int
		want   string
		fault  Fault
	}{
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			writeSSE(w, helloStream[:len(helloStream)-100])
		}, 1, brokenOff, Unreachable},
		{"cut between events", func(w http.ResponseWriter, _ *http.Request) {
			writeSSE(w, delta(`"content":"Hel"`))
		}, 1, brokenOff, Unreachable},
		{"cut in an event", func(w http.ResponseWriter, _ *http.Request) {
			writeSSE(w, `data: {"choices":[{"delta":{"con`)
		}, 0, brokenOff, Unreachable},
		{"empty", func(w http.ResponseWriter, _ *http.Request) { writeSSE(w, "") }, 0, brokenOff, Unreachable},
		{"not JSON", func(w http.ResponseWriter, _ *http.Request) {
			writeSSE(w, delta(`"content":"x"`)+"data: oops\n\n")
		}, 1, "the answer is not JSON: oops", Malformed},
		{
			"an error", func(w http.ResponseWriter, _ *http.Request) {
				writeSSE(w, `data: {"error":{"message":"too much `+testKey+`","code":"server_error"}}`+"\n\n")
			}, 0, "failed to answer: too much ***", Unavailable,
		},
		{"a status", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"slow down"}}`)
		}, 0, "asks for fewer requests (429): slow down", RateLimited},
		{
			"no stream, no JSON", func(w http.ResponseWriter, _ *http.Request) { reply(w, "<html>") }, 0,
			"the answer is not JSON: <html>", Malformed,
		},
		{"a huge line", func(w http.ResponseWriter, _ *http.Request) {
			writeSSE(w, delta(`"content":"x"`)+"data: "+strings.Repeat("x", maxEvent))
		}, 1, errEventTooLarge.Error(), Malformed},
		{"a huge stream", func(w http.ResponseWriter, _ *http.Request) {
			writeSSE(w, strings.Repeat(delta(`"x":"`+strings.Repeat("x", 1<<19)+`"`), 40))
		}, 0, errTooLarge.Error(), Malformed},
		{"too many calls", func(w http.ResponseWriter, _ *http.Request) {
			writeSSE(w, strings.Repeat(delta(`"tool_calls":[{"id":"a","function":{"name":"f"}}]`), 129))
		}, 0, "the answer is not what the protocol says: it calls more than 128 tools", Malformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tokens, _, err := collect(t.Context(), dial(t, serve(t, tc.answer)), say("hi"))
			e := wantError(t, err)
			diff(t, "message", tc.want, e.Message)
			diff(t, "fault", tc.fault, e.Fault)
			diff(t, "tokens", tc.tokens, len(tokens))
		})
	}
}

func TestStreamRequest(t *testing.T) {
	var bodies []string
	var accept string
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies, accept = append(bodies, string(body)), r.Header.Get("Accept")
		if bytes.Contains(body, []byte("response_format")) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		writeSSE(w, helloStream+doneEvent)
	})
	r := say("hi")
	r.Temperature, r.ToolChoice, r.Schema = new(0.0), "none", &Schema{Name: "s", JSON: json.RawMessage("{}")}
	c := dial(t, base)
	for range 2 {
		if tokens, _, err := collect(t.Context(), c, r); err != nil || len(tokens) != 2 {
			t.Fatal(tokens, err)
		}
	}
	diff(t, "accept", "text/event-stream", accept)
	diff(t, "requests, the schema being refused once", 3, len(bodies))
	diff(t, "body", decoded(t,
		[]byte(`{"model":"agent","messages":[{"role":"user","content":"hi"}],"temperature":0,"tool_choice":"none",
		"stream":true,"stream_options":{"include_usage":true}}`)), decoded(t, []byte(bodies[2])))
}

// Servers that don't stream, and the API that isn't streamed, give the text at once.
func TestStreamOfWhole(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "responses") {
			reply(w, `{"output":[{"type":"message","content":[{"type":"output_text","text":"Hello!"}]}]}`)
			return
		}
		reply(w, hello)
	})
	for _, api := range []string{"chat_completions", "responses"} {
		tokens, got, err := collect(t.Context(), dial(t, base, func(m *config.Model) { m.API = api }), say("hi"))
		if err != nil {
			t.Fatal(err)
		}
		diff(t, api, []string{"Hello!"}, tokens)
		diff(t, api, "Hello!", got.Text)
	}
}

// A stream that was read to its end leaves its connection for the next.
func TestStreamKeepsConnection(t *testing.T) {
	seen := map[string]bool{}
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.RemoteAddr] = true
		writeSSE(w, helloStream)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, doneEvent)
	})
	c := dial(t, base)
	for range 3 {
		if _, _, err := collect(t.Context(), c, say("hi")); err != nil {
			t.Fatal(err)
		}
	}
	diff(t, "connections", 1, len(seen))
}

func TestEventsFailure(t *testing.T) {
	broken := errors.New("broken")
	var got []string
	for data, err := range events(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken))) {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, string(data))
	}
	diff(t, "events", []string{"a", "broken"}, got)
}

// Whatever a server streams, the result is an error or a reply that can be written down and whose text is what was
// given out.
func FuzzStream(f *testing.F) {
	f.Add([]byte(helloStream + usageEvent + doneEvent))
	f.Add([]byte(delta(`"tool_calls":[{"index":-1,"id":"a","function":{"name":"f","arguments":{"a":1}}},{"function":{"arguments":"x"}}]`)))
	f.Add([]byte("data\ndata:\ndata: {\"error\":{}}\n\n:\nid: 1\n\n" + doneEvent))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var given strings.Builder
		a := assembly{token: func(text string) { given.WriteString(text) }}
		for data, err := range events(iotest.OneByteReader(bytes.NewReader(stream))) {
			if err == nil {
				err = a.add(data)
			}
			if err != nil {
				return
			}
		}
		reply, err := a.reply()
		if err != nil {
			return
		}
		if strings.TrimSpace(given.String()) != strings.TrimSpace(reply.Text) {
			t.Errorf("gave %q of %q", given.String(), reply.Text)
		}
		if _, err := json.Marshal(reply); err != nil {
			t.Errorf("the reply cannot be encoded: %v", err)
		}
	})
}
