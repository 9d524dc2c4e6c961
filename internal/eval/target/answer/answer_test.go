package answer

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// spec reads answer, stream and session from a document.
func spec(t *testing.T, yaml string) *Spec {
	t.Helper()
	s, err := read(yaml)
	if err != nil {
		t.Fatalf("%s: %v", yaml, err)
	}
	return s
}

func read(yaml string) (*Spec, error) {
	v, err := source.ParseYAML("rehearse.yaml", []byte(yaml))
	if err != nil {
		return nil, err
	}
	r := &source.Reader{File: "rehearse.yaml"}
	var keys struct {
		Keys
		Session *Pick `key:"session"`
	}
	if v.Kind != source.Null {
		source.Decode(r.Node(v, ""), &keys)
	}
	s := keys.Spec()
	s.Session = keys.Session
	return &s, r.Problems.InOrder().Err()
}

// streamed reads a stream and what its events say.
func streamed(s *Spec, r io.Reader, f Format, limit, earlier int, spoke func()) (Found, error) {
	events, err := s.Events(r, f, limit, spoke)
	if err != nil {
		return Found{}, err
	}
	return s.Found(events, earlier)
}

// shown is a reply in short: the text, the calls, and all that is set.
func shown(f Found) string {
	r := f.Reply
	parts := []string{r.Text}
	for _, c := range r.ToolCalls {
		parts = append(parts, "call "+c.ID+":"+c.Name+string(c.Args)+string(c.Result))
	}
	for _, part := range [][2]string{
		{"node", r.Node}, {"finish", r.FinishReason}, {"trace", r.TraceID}, {"session", f.Session},
		{"state", string(r.State)},
	} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	if !r.Usage.Unknown {
		data, _ := json.Marshal(r.Usage)
		parts = append(parts, string(data))
	}
	if !r.Cost.Unknown {
		data, _ := json.Marshal(r.Cost)
		parts = append(parts, "$"+string(data))
	}
	if r.Ended {
		parts = append(parts, "ended")
	}
	return strings.Join(parts, "|")
}

func check(t *testing.T, about string, f Found, err error, want string) {
	t.Helper()
	got := shown(f)
	if err != nil {
		got = "error: " + err.Error()
	}
	if wanted, ok := strings.CutPrefix(want, "error: "); ok && strings.HasPrefix(got, "error: ") &&
		strings.Contains(got, wanted) {
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: %s", about, d)
	}
}

func TestWhole(t *testing.T) {
	const js = "application/json; charset=utf-8"
	for _, tc := range []struct{ spec, media, body, want string }{
		{"answer: $.reply.text", js, `{"reply":{"text":"hi"}}`, "hi"},
		{"answer: reply.text", js, `{"reply":{"text":"hi"}}`, "hi"},
		{"answer: {text: $.n}", js, `{"n":1.50}`, "1.50"},
		{"answer: {text: $.n}", js, `{"n":12345678901234567890}`, "12345678901234567890"},
		{"answer: {text: $.n}", js, `{"n":false}`, "false"},
		{"answer: $.t", js, `{"t":""}`, ""},
		{"answer: $.t", js, `{"t":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}`, "ab"},
		{"answer: $.t", js, `{"t":null,"u":1}`, "error: no reply at $.t: the answer has t, u"},
		{"answer: $.x", js, `[1,2]`, "error: no reply at $.x: the answer is a list of 2"},
		{"answer: $.t", js, `{"t":{"inner":1}}`, "error: no reply at $.t: the answer has t"},
		{"answer: $.t", js, `{"t":[]}`, "error: no reply at $.t"},
		{"answer: $.t", js, `oops <b>`, "error: the answer is not JSON: oops <b>"},
		{"answer: $.t", "text/plain", `oops`, "error: not JSON: oops"},
		{"answer: $.t", js, `{"t":"hel`, "error: broke off"},
		{"answer: $.t", js, `{"t":1} x`, "error: not JSON"},
		{"answer: $", "text/plain", "plain words", "plain words"},
		{
			"answer: {text: {path: '$[*].text', join: \"\\n\", or: ''}}", js,
			`[{"text":"a"},{"image":"x"},{"text":"b"}]`, "a\nb",
		},
		{"answer: {text: {path: '$[*].text', join: \"\\n\", or: ''}}", js, `[]`, ""},
		{"answer: {text: {path: '$[*].text', or: ''}}", js, `{}`, "error: no reply at $[*].text: the answer"},
		{
			"answer: {text: {path: '$[*].text', or: ''}}", js, `{"status":"failure","reason":"no model"}`,
			"error: no reply at $[*].text: the answer has reason, status",
		},
		{
			"answer: {text: {path: '$[*].text', or: ''}}", js, `[{"image":"x"}]`,
			"error: no reply at $[*].text: the answer is a list of 1",
		},
		{"answer: {text: {path: '$[*].text', or: ''}}", js, `null`, "error: no reply at $[*].text"},
		{"answer: {text: {path: '$.items[*].text', or: none}}", js, `{}`, "none"},
		{
			"answer: '$.messages[-1].content'", js,
			`{"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"mine"}]}`,
			"error: no reply at $.messages[-1].content: the answer has messages",
		},
		{
			"answer: '$.messages[-1].content'", js,
			`{"messages":[{"type":"ai","content":"a"},{"type":"human","content":"mine"}]}`,
			"error: no reply at $.messages[-1].content",
		},
		{
			"answer: '$.messages[-1].content'", js,
			`{"messages":[{"type":"human","content":"mine"},{"type":"ai","content":[{"type":"text","text":"a"}]}]}`,
			"a",
		},
		{"answer: '$.messages[-1].content'", js, `{"messages":[{"content":"a"}]}`, "a"},
		{
			"answer: {text: $.t, error: {path: $.why, if: {$.type: abort}, or: cut}}", js, `{"t":"x","type":"abort"}`,
			"error: the agent reports an error: cut",
		},
		{
			"answer: {text: $.t, error: {path: $.why, if: {$.type: abort}, or: cut}}", js,
			`{"t":"x","type":"abort","why":""}`, "error: the agent reports an error: cut",
		},
		{
			"answer: {text: $.t, error: {path: $.why, if: {$.type: abort}, or: cut}}", js,
			`{"t":"x","type":"abort","why":"time"}`, "error: the agent reports an error: time",
		},
		{"answer: {text: $.t, error: {path: $.why, if: {$.type: abort}, or: cut}}", js, `{"t":"x","type":"text"}`, "x"},
		{
			"answer: {text: $.t, error: {path: $.why, if: {$.type: abort}, or: cut}}", js,
			`{"t":"x","type":"abort","why":false}`, "x",
		},
		{"answer: {text: {path: $.t, or: nothing}}", js, `{"t":null}`, "nothing"},
		{"answer: {text: {path: $.t, if: {$.kind: say, n: 1}}}", js, `{"kind":"say","n":1.0,"t":"x"}`, "x"},
		{"answer: {text: {path: $.t, if: {$.kind: say}}}", js, `{"kind":"think","t":"x"}`, "error: no reply at $.t"},
		{"answer: {text: {path: $.t, if: {$.done: null}}}", js, `{"done":null,"t":"x"}`, "x"},
		{"answer: {text: '$.l[?@.role == \"ai\"].t'}", js, `{"l":[{"role":"u","t":"q"},{"role":"ai","t":"x"}]}`, "x"},
		{
			"answer: {text: $.t, error: $.err}", js, `{"t":"x","err":{"message":"out of\n stock"}}`,
			"error: the agent reports an error: out of stock",
		},
		{"answer: {text: $.t, error: $.err}", js, `{"t":"x","err":0}`, "error: the agent reports an error: 0"},
		{"answer: {text: $.t, error: $.err}", js, `{"t":"x","err":false}`, "x"},
		{"answer: {text: $.t, error: $.err}", js, `{"t":"x","err":""}`, "x"},
		{"answer: {text: $.t, error: $.err}", js, `{"t":"x","err":null}`, "x"},
		{
			"answer: {text: $.t, node: $.n, finish_reason: $.f, trace_id: $.tr}\nsession: $.s", js,
			`{"t":"x","n":"pay","f":"STOP","tr":"7","s":42}`, "x|node pay|finish STOP|trace 7|session 42",
		},
		{"answer: {text: $.t, state: $.s}", js, `{"t":"x","s":{"a":[1.0,"<"]}}`, `x|state {"a":[1.0,"<"]}`},
		{
			"answer: {text: $.t, usage: {input_tokens: $.i, output_tokens: $.o}, cost_usd: $.c}", js,
			`{"t":"x","i":3,"o":4,"c":0.5}`, `x|{"input_tokens":3,"output_tokens":4}|$0.5`,
		},
		{
			"answer: {text: $.t, usage: {input_tokens: $.i, output_tokens: $.o}, cost_usd: $.c}", js,
			`{"t":"x","i":3,"c":"0.5"}`, `x`,
		},
		{"answer: {text: $.t, usage: {input_tokens: $.i, output_tokens: $.o}}", js, `{"t":"x","i":-3,"o":2}`, `x`},
		{
			"answer: {text: $.t, usage: {input_tokens: '$.l[*].i', output_tokens: $.o}}", js,
			`{"t":"x","l":[{"i":3},{"i":4}],"o":0}`, `x|{"input_tokens":7,"output_tokens":0}`,
		},
		{"answer: {text: $.t, end: $.over}", js, `{"t":"x","over":true}`, "x|ended"},
		{"answer: {text: $.t, end: $.over}", js, `{"t":"x","over":"later"}`, "x"},
		{"answer: {text: $.t, end: {if: {$.status: closed}}}", js, `{"t":"x","status":"closed"}`, "x|ended"},
		{"answer: {text: $.t, end: {if: {$.status: closed}}}", js, `{"t":"x","status":"open"}`, "x"},

		{
			"answer: {text: $.t, node: {path: $.n, or: start}, finish_reason: {path: $.f, or: stop}, state: " +
				"{path: $.s, or: {a: 1}}, cost_usd: {path: $.c, or: 0.5}, usage: {input_tokens: {path: $.i, or: 3}, " +
				"output_tokens: {path: $.o, or: 4}}, end: {path: $.e, or: true}}", js, `{"t":"x","o":5}`,
			`x|node start|finish stop|state {"a":1}|{"input_tokens":3,"output_tokens":5}|$0.5|ended`,
		},
		{
			"answer: {text: $.t, node: {path: $.n, or: start}, end: {path: $.e, or: true}}", js,
			`{"t":"x","n":"","e":false}`, `x`,
		},
		{
			"answer: {text: $.t, error: {path: $.e, if: {$.k: error}, or: it failed}}", js, `{"t":"x","k":"error"}`,
			"error: it failed",
		},
		{"answer: {text: $.t, error: {path: $.e, if: {$.k: error}, or: it failed}}", js, `{"t":"x","k":"fine"}`, "x"},
		{"", "text/plain", "<!-- a -->\n<?xml version='1.0'?><!DOCTYPE  html><p>", "error: HTML"},
		{"", "text/plain", " <head>", "error: HTML"},
		{"", "text/plain; charset=UTF-16LE", "h\x00i\x00", "error: UTF-8"},
		{"", "text/plain; charset=iso-2022-jp", "\x1b$B$\"\x1b(B", "error: UTF-8"},
		{"", "text/plain; charset=iso-8859-1", "hi", "hi"},
		{"", "text/plain", "<header> is an element", "<header> is an element"},
		{"", "text/plain", "<p>One</p>", "<p>One</p>"},
		{
			"answer: {text: $.t, tool_calls: '$.c[*]'}", js,
			`{"t":null,"c":[{"name":"a","args":{"x": 1}},{"name":"b","args":"{\"y\":2}"},{"name":"c"}]}`,
			`|call :a{"x":1}|call :b{"y":2}|call :c{}`,
		},
		{
			"answer: {text: $.t, tool_calls: {path: $.c, name: $.fn.n, args: $.in, id: $.id, result: $.out}}", js,
			`{"t":"ok","c":[{"fn":{"n":"a"},"in":"not json","id":7,"out":[1]}]}`, `ok|call 7:a"not json"[1]`,
		},
		{
			"answer: {text: $.t, tool_calls: $.c}", js, `{"t":"ok","c":[{"tool":"a"}]}`,
			`error: a tool call has no name at $.name: {"tool":"a"}`,
		},
		{
			"answer: {text: $.t, tool_calls: {name: $.n, args: $.a}}", js, `{"t":"ok","n":"a","a":{"x":1}}`,
			`ok|call :a{"x":1}`,
		},
		{"answer: {text: $.t, tool_calls: {name: $.n, args: $.a}}", js, `{"t":"ok"}`, "ok"},
		{
			"answer: {text: $.t, tool_calls: {if: {$.k: tool}, name: $.n}}", js, `{"t":"ok","k":"tool"}`,
			"error: a tool call has no name at $.n",
		},
		{
			"answer: {text: $.t, finish_reason: $.f}", js, `{"t":"","f":"content-filter"}`,
			"error: the reply is empty: it ended with the finish reason content_filter, content-filter",
		},
		{
			"answer: {text: $.t, finish_reason: $.f}", js, `{"f":"SAFETY"}`,
			"error: the reply is empty: it ended with the finish reason content_filter, SAFETY",
		},
		{"answer: {text: $.t, finish_reason: $.f}", js, `{"t":"","f":"stop"}`, "|finish stop"},
		{
			"answer: {text: $.t, finish_reason: $.f, tool_calls: $.c}", js, `{"t":"","f":"length","c":[{"name":"a"}]}`,
			"|call :a{}|finish length",
		},
		{"answer: {text: $.t, tool_calls: $.c}", js, `{"t":null,"c":[]}`, `error: no reply at $.t`},

		{"", "text/plain; charset=utf-8", ` {"reply":"x"} `, ` {"reply":"x"} `},
		{"", "", "plain", "plain"},
		{"", "", "{plain", "error: not JSON"},
		{"", js, `"x"`, "x"},
		{"", js, "\ufeff" + `{"reply":"x"}`, "x"},
		{"", "text/markdown", "# Hi", "# Hi"},
		{"", js, "oops", "error: not JSON: oops"},
		{"", js, "", "error: empty answer"},
		{"", js, " \n", "error: empty answer"},
		{"", "text/html; charset=utf-8", "x", "error: HTML"},
		{"", js, "  <!DOCTYPE html><p>", "error: HTML"},
		{"", "", "<HTML>", "error: HTML"},
		{"", js, "{\"reply\":\"\xff\"}", "error: UTF-8"},
		{"", js, `{"reply":"nul \u0000"}`, "nul \x00"},
		{"", js, strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "error: not JSON"},
		{"stream: {text: $.piece}", js, `{"piece":"one"}`, "one"},
	} {
		f, err := spec(t, tc.spec).ReadAll([]byte(tc.body), tc.media, 0)
		about := tc.spec + " of " + tc.body
		check(t, about[:min(len(about), 200)], f, err, tc.want)
	}
}

func TestByName(t *testing.T) {
	for body, want := range map[string]string{
		`{"text":"b","reply":"a"}`:                                     "a",
		`{"message":{"content":"deep"},"result":"near"}`:               "near",
		`{"message":{"content":"deep"},"status":"ok"}`:                 "deep",
		`{"choices":[{"message":{"role":"assistant","content":"x"}}]}`: "x",
		`{"choices":[{"text":"first"},{"text":"last"}]}`:               "last",

		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"x"},{"role":"tool","content":"t"}]}`:                 "x",
		`{"messages":[{"type":"human","content":"q"},{"type":"ai","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`: "ab",

		`{"messages":[{"role":"user","content":"q"}]}`:                 "error: no reply at any of reply, response",
		`{"content":[{"type":"text","text":"a"},{"type":"tool_use"}]}`: "a",

		`{"output":[{"type":"reasoning"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]},{"type":"function_call"}]}`: "x",

		`[{"recipient_id":"u","text":"a"},{"text":"b"}]`: "a\n\nb",
		`["a","b"]`: "a\n\nb",
		`{"replies":0,"messages":[{"text":"a"},{"text":"b"}]}`:                                                                 "a\n\nb",
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}]}`:   "a\n\nb",
		`{"messages":[{"role":"assistant","content":"old"},{"role":"user","content":"q"},{"role":"assistant","content":"b"}]}`: "b",
		`{"messages":[{"type":"ai","content":"a"},{"type":"tool","content":"t"},{"type":"ai","content":"b"}]}`:                 "b",
		`{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}`:                                            "error: the reply is empty: it ended with the finish reason content_filter",
		`{"choices":[{"message":{"content":null},"finish_reason":"content_filter"}]}`:                                          "error: the reply is empty: it ended with the finish reason content_filter",
		`{"reply":" ","stopReason":"MAX_TOKENS"}`:                                                                              "error: the reply is empty: it ended with the finish reason length, MAX_TOKENS",
		`{"reply":"","meta":{"stop_reason":"end_turn"}}`:                                                                       "|finish end_turn",
		`{"reply":"cut","finishReason":"length"}`:                                                                              "cut|finish length",
		`{"result":42}`: "42",
		`{"result":true,"data":{"text":"words"}}`:                     "words",
		`{"reply":null,"text":"x"}`:                                   "x",
		`{"reply":""}`:                                                "",
		`{"data":{"data":{"data":{"data":{"data":"five"}}}}}`:         "five",
		`{"data":{"data":{"data":{"data":{"data":{"data":"six"}}}}}}`: "error: no reply at",
		`{"id":1,"status":"ok"}`: "error: the answer has id, " +
			"status (say where it is, with `answer` of the target; `rehearse init` with --agent looks deeper",
		`{}`: "error: the answer is an object without keys",
	} {
		f, err := (&Spec{}).ReadAll([]byte(body), "application/json", 0)
		check(t, body, f, err, want)
	}
}

func TestStreams(t *testing.T) {
	for _, tc := range []struct {
		spec, body, want string
	}{
		{
			"stream: {format: sse, text: $.d}",
			"data: {\"d\":\"Hel\"}\n\n: ping\n\nevent: x\ndata: {\"e\":1}\n\ndata: {\"d\":\"lo\"}\n\n", "Hello",
		},
		{
			"stream: {format: sse, text: $.d, end: {event: done}}",
			"data: {\"d\":\"a\"}\n\nevent: done\ndata: {\"d\":\"b\"}\n\ndata: {\"d\":\"c\"}\n\n", "ab",
		},
		{"stream: {format: sse, text: $.d, end: {event: done}}", "data: {\"d\":\"a\"}\n\n", "error: broke off"},
		{
			"stream: {format: sse, text: $.d, end: {if: {$.type: end}}}",
			"data: {\"d\":\"a\"}\n\ndata: {\"type\":\"end\"}\n\ndata: {\"d\":\"c\"}\n\n", "a",
		},
		{
			"stream: {format: sse, text: $.d, end: {data: FIN}}",
			"data: {\"d\":\"a\"}\n\ndata: FIN\n\ndata: {\"d\":\"c\"}\n\n", "a",
		},
		{
			"stream: {format: sse, text: $.d, end: {event: done}}",
			"data: {\"d\":\"a\"}\n\ndata: [DONE]\n\ndata: {\"d\":\"c\"}\n\n", "a",
		},
		{"stream: {format: sse, text: {path: $.d, event: [token, word], join: ' '}}", "event: token\n" +
			"data: {\"d\":\"a\"}\n\nevent: other\ndata: {\"d\":\"x\"}\n\nevent: word\ndata: {\"d\":\"b\"}\n\n", "a b"},
		{
			"stream: {format: sse, text: $.d}\nanswer: {text: $.full}",
			"data: {\"d\":\"a\"}\n\ndata: {\"full\":\"all of it\"}\n\ndata: {\"d\":\"c\"}\n\n", "all of it",
		},
		{
			"stream: sse\nanswer: {text: $.t, state: $.s}\nsession: $.id",
			"data: {\"t\":\"one\",\"s\":1,\"id\":\"i\"}\n\ndata: {\"t\":\"two\",\"s\":2}\n\n", "two|session i|state 2",
		},
		{
			"stream: {format: sse, text: $.d, error: $.error}",
			"data: {\"d\":\"a\"}\n\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n", "error: overloaded",
		},
		{
			"stream: {format: sse, error: {path: $.m, event: error}}", "event: error\ndata: {\"m\":\"bad\"}\n\n",
			"error: bad",
		},
		{
			"stream: {format: sse, text: $.d}\nanswer: {tool_calls: $.call}",
			"data: {\"call\":{\"name\":\"a\"}}\n\ndata: {\"call\":{\"name\":\"b\"}}\n\n", "|call :a{}|call :b{}",
		},
		{"stream: {format: sse, text: $.d}", "data: {\"x\":1}\n\n", "error: no reply at $.d: the answer has x"},
		{"stream: {format: sse, text: $.d}", "data: ping\n\n", "error: not JSON: ping"},
		{"stream: {format: sse, text: $.d}", "data: {\"d\":\"a\"}", "a"},
		{"stream: {format: sse, text: $.d}", "data: {\"d\":\"a\"}\n\ndata: {\"d\":\"b", "error: broke off"},
		{
			"stream: {format: sse, text: $}", "data: Hello\n\ndata:  world\n\ndata: 2\n\ndata: [DONE]\n\n",
			"Hello world2",
		},
		{
			"stream: sse", "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n" +
				"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n",
			"error: the reply is empty: it ended with the finish reason content_filter",
		},
		{
			"stream: {format: sse, text: $.d}\nanswer: {tool_calls: {event: tool, name: $.n, args: $.a}}",
			"data: {\"d\":\"Hi\"}\n\nevent: tool\ndata: {\"n\":\"a\",\"a\":{}}\n\n", "Hi|call :a{}",
		},
		{"stream: sse", "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n" +
			"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"token\":5}\n\ndata: [DONE]\n\n", "Hi"},
		{
			"stream: {format: sse, text: $.d, end: {event: done}}",
			"data: {\"d\":\"a\"}\n\nevent: done\ndata:\n\ndata: {\"d\":\"b\"}\n\n", "a",
		},
		// What was said before an error is no whole reply, also where no pick says what an error is.
		{
			"stream: sse", "data: {\"delta\":\"Hel\"}\n\nevent: error\ndata: {\"message\":\"overloaded\"}\n\n",
			"error: overloaded",
		},
		{
			"stream: {format: sse, text: $.d}", "data: {\"d\":\"Hel\"}\n\nevent: error\ndata: overloaded\n\n",
			"error: overloaded",
		},
		{
			"stream: {format: sse, text: $.d}",
			"data: {\"d\":\"Hel\"}\n\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n", "error: overloaded",
		},
		{
			"stream: jsonl", "{\"delta\":\"Hel\"}\n{\"type\":\"error\",\"message\":\"overloaded\"}\n",
			"error: overloaded",
		},
		{"stream: {format: sse, text: $.d}", "data: {\"d\":\"Hel\"}\n\ndata: {\"error\":null}\n\n" +
			"data: {\"tool\":\"x\",\"error\":\"none\"}\n\ndata: {\"d\":\"lo\"}\n\n", "Hello"},
		{
			"stream: {format: sse, text: {path: $.d, event: error}}", "event: error\ndata: {\"d\":\"Hello\"}\n\n",
			"Hello",
		},
		{
			"stream: {format: sse, text: $.d, error: $.e}",
			"data: {\"d\":\"Hello\"}\n\nevent: error\ndata: {\"m\":1}\n\n", "Hello",
		},
		// An event that is only the beginning of an object was some of the reply.
		{
			"stream: sse", "data: {\"delta\":\"Hel\"}\n\ndata: {\"delta\":\"lo\n\ndata: {\"delta\":\"!\"}\n\n",
			"error: not JSON: {\"delta\":\"lo",
		},
		{"stream: {format: sse, text: $.d}", "data: {\"d\":\"Hel\"}\n\ndata: {\"d\":\"lo\n\n", "error: not JSON"},
		{"stream: {format: sse, text: $}", "data: {\"a\":1}\n\ndata: {\"b\n\ndata: x\n\n", "{\"bx"},
		{"stream: sse", "data: a\xff\n\n", "error: UTF-8"},
		{"stream: sse", "", "error: empty answer"},
		{"stream: sse", ": nothing\n\n", "error: empty answer"},
		{"stream: sse", "<html><body>", "error: HTML"},
		{"stream: sse", "data:" + strings.Repeat("x", 400) + "\n\n", "error: larger than 300 bytes"},
		{"stream: sse", strings.Repeat("data: x\n\n", 400), "error: larger than 300 bytes"},

		{"stream: {format: jsonl, text: $.d}", "{\"d\":\"a\"}\n\n  {\"d\":\"b\"}\r\n", "ab"},
		{"stream: {format: jsonl, text: $.d}", "{\"d\":\"a\"}\n{\"d\":\"b\"}", "ab"},
		{"stream: {format: jsonl, text: $.d}", "{\"d\":\"a\"}\n{\"d\":\"b", "error: broke off"},
		{"stream: {format: jsonl, text: $.d}", "{\"d\":\"a\"}\noops\n", "error: not JSON: oops"},
		{"stream: {format: jsonl, text: $.d, end: {data: FIN}}", "{\"d\":\"a\"}\nFIN\n{\"d\":\"b\"}\n", "a"},
		{"stream: {format: jsonl, text: $.d}", "{\"d\":\"a\"}\n[DONE]\noops", "a"},
		{"stream: jsonl", "{\"delta\":\"a\"}\n{\"delta\":\"b\"}\n", "ab"},
		{"stream: {format: jsonl, text: $}", "hello\nthere\n", "hellothere"},
	} {
		s := spec(t, tc.spec)
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(tc.body), "by bytes": iotest.OneByteReader(strings.NewReader(tc.body)),
		} {
			f, err := streamed(s, r, s.Stream.Format, 300, 0, nil)
			about := tc.spec + " of " + tc.body
			check(t, about[:min(len(about), 200)]+" "+name, f, err, tc.want)
		}
	}
}

// Of calls that an answer repeats, those of earlier turns are left out.
func TestCumulative(t *testing.T) {
	s := spec(t, "answer: {text: $.t, tool_calls: {path: '$.c[*]', cumulative: true}}\nstream: {format: jsonl}")
	first, err := s.ReadAll([]byte(`{"t":"x","c":[{"name":"a"},{"name":"b"}]}`), "", 0)
	check(t, "first", first, err, "x|call :a{}|call :b{}")
	second, err := s.ReadAll([]byte(`{"t":"x","c":[{"name":"a"},{"name":"b"},{"name":"a"}]}`), "", first.Calls)
	check(t, "second", second, err, "x|call :a{}")
	third, err := s.ReadAll([]byte(`{"t":"x","c":[]}`), "", second.Calls)
	check(t, "third", third, err, "x")
	if third.Calls != 3 {
		t.Errorf("%d calls are known, want 3", third.Calls)
	}
	inEvents, err := streamed(s,
		strings.NewReader("{\"c\":[{\"name\":\"a\"}]}\n{\"c\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"t\":\"y\"}\n"),
		JSONL, 1000, 1, nil)
	check(t, "streamed", inEvents, err, "y|call :b{}")
}

// A reply is heard of with its first piece, and nothing is read behind the last event.
func TestFirstTextAndNothingBehind(t *testing.T) {
	s := spec(t, "stream: {format: sse, text: $.d, end: {event: done}}")
	spoke := 0
	reading := io.MultiReader(strings.NewReader(
		"data: {\"d\":\"\"}\n\ndata: {\"d\":\"a\"}\n\ndata: {\"d\":\"b\"}\n\nevent: done\ndata: {}\n\n"), failing{t})
	f, err := streamed(s, reading, SSE, 1000, 0, func() { spoke++ })
	check(t, "stream", f, err, "ab")
	if spoke != 1 {
		t.Errorf("spoke %d times", spoke)
	}
	_, err = streamed(s, io.MultiReader(strings.NewReader("data: {\"d\":\"a\"}\n\n"),
		iotest.ErrReader(io.ErrUnexpectedEOF)), SSE, 1000, 0, nil)
	if !errors.Is(err, ErrBrokeOff) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ t *testing.T }

func (f failing) Read([]byte) (int, error) {
	f.t.Error("something was read behind the last event")
	return 0, io.EOF
}

func TestFaultsOfSpecs(t *testing.T) {
	for yaml, want := range map[string]string{
		"answer: 'steps[*'":                               `rehearse.yaml:1:9: answer: "steps[*" is not a JSONPath`,
		"answer: {text: ''}":                              "answer.text: \"\" is not a JSONPath: it is empty",
		"answer: {txt: $.a}":                              `answer.txt: unknown key "txt" (did you mean "text"?)`,
		"answer: {text: {path: $.a, joins: x}}":           "unknown key",
		"answer: {text: {path: $.a, if: {'$[': 1}}}":      `"$[" is not a JSONPath`,
		"answer: {tool_calls: {path: $.c, name: '$['}}":   "is not a JSONPath",
		"answer: {usage: $.u}":                            "expected a mapping",
		"answer: {text: {}}":                              "the pick is empty",
		"stream: sees":                                    "unknown value",
		"stream: {format: sse, end: {}}":                  "nothing tells the last event",
		"stream: {format: sse, end: {event: x, then: y}}": "unknown key",
		"session: [a]":                                    "expected text",
	} {
		if _, err := read(yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", yaml, err, want)
		}
	}
	if _, err := read("answer: {text: 'a[', node: 'b['}"); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not both problems are told: %v", err)
	}
}

func TestReadAll(t *testing.T) {
	if data, err := ReadAll(strings.NewReader("123"), 3); string(data) != "123" || err != nil {
		t.Errorf("got %s, %v", data, err)
	}
	if _, err := ReadAll(io.MultiReader(strings.NewReader(strings.Repeat("x", 5<<20)), neverEnds{}),
		4<<20); !errors.Is(err, ErrLarge) || !strings.Contains(err.Error(), "larger than 4 MB") {
		t.Errorf("got %v", err)
	}
	if _, err := ReadAll(iotest.ErrReader(io.ErrUnexpectedEOF), 3); !errors.Is(err, ErrBrokeOff) {
		t.Errorf("got %v", err)
	}
}

type neverEnds struct{}

func (neverEnds) Read(p []byte) (int, error) { return len(p), nil }

// Whatever an agent sends, reading it ends without a panic, and what is found can be written down.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"reply":[{"type":"text","text":"x"}],"c":[{"name":"a","args":"{"}],"s":{"a":1e999}}`))
	f.Add([]byte("data: {\"d\":1}\n\ndata: [DONE]\n\n"))
	specs := make([]*Spec, 0, 3)
	for _, yaml := range []string{
		"", "answer: {text: $..text, state: $, tool_calls: {path: '$.c[*]', result: $.r}, usage: {input_tokens: " +
			"$..i, output_tokens: $..o}}", "stream: {format: sse, text: $.d, end: {if: {'$[?@.a == @.b]': 1}}}",
	} {
		s, err := read(yaml)
		if err != nil {
			f.Fatal(err)
		}
		specs = append(specs, s)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, s := range specs {
			for _, one := range []func() (Found, error){
				func() (Found, error) { return s.ReadAll(body, "application/json", 1) },
				func() (Found, error) { return streamed(s, strings.NewReader(string(body)), SSE, 1<<20, 0, nil) },
				func() (Found, error) { return streamed(s, strings.NewReader(string(body)), JSONL, 1<<20, 0, nil) },
			} {
				found, err := one()
				if err != nil {
					continue
				}
				if _, err := json.Marshal(found.Reply); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// Where nothing says how answers are read, an error that an answer admits is no reply, whatever words it has.
func TestAdmittedErrors(t *testing.T) {
	bare := &Spec{}
	for body, want := range map[string]string{
		`{"status": "error", "message": "could not"}`:         "could not",
		`{"success": false, "message": "could not"}`:          "could not",
		`{"ok": false, "text": "no"}`:                         "no",
		`{"reply": "half of", "error": {"message": "broke"}}`: "broke",
		`{"reply": "fine", "error": null, "status": "ok"}`:    "",
		`{"reply": "fine", "success": true}`:                  "",
	} {
		found, err := bare.ReadAll([]byte(body), "application/json", 0)
		if want == "" && (err != nil || found.Reply.Text != "fine") ||
			want != "" && (!errors.Is(err, ErrAgent) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v, %v", body, found, err)
		}
	}
	for _, events := range [][]Event{
		{{"", `{"delta": "ok"}`}, {"error", `{"message": "broke"}`}},
		{{"", `{"delta": "ok"}`}, {"", `{"error": {"message": "broke"}}`}},
		{{"error", "broke"}},
	} {
		if found, err := bare.Found(events, 0); !errors.Is(err, ErrAgent) || !strings.Contains(err.Error(), "broke") {
			t.Errorf("%v: %+v, %v", events, found, err)
		}
	}
	picked := &Spec{Text: &Pick{Path: "$.message"}}
	if err := picked.admits(event{"error", map[string]any{"error": true}}); err != nil {
		t.Errorf("where the reply is picked, the author says what an error is: %v", err)
	}
}
