package target

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// Each preset asks as its servers want it, in two turns, and reads all that they say.
func TestPresets(t *testing.T) {
	for name, tc := range map[string]struct {
		yaml    string
		answers []string
		kind    string
		seen    []string
		replies []string
	}{
		"openai": {
			"{url: URL/v1, preset: openai, with: {model: m}, body: {temperature: 0}, headers: {Authorization: " +
				"Bearer K}}",
			[]string{
				`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
				`{"choices":[{"message":{"content":"two"},"finish_reason":"stop"}]}`,
			},
			"application/json",
			[]string{
				`/v1/chat/completions {"model":"m","messages":[{"role":"user","content":"one"}],"temperature":0}`,
				`/v1/chat/completions {"model":"m","messages":[{"role":"user","content":"one"},{"role":"assistant","content":""},{"role":"user","content":"two"}],"temperature":0}`,
			},
			[]string{`"" f{"a":1} tool_calls {"input_tokens":3,"output_tokens":4}`, `"two" stop null`},
		},
		"openai with the whole path": {
			"{url: URL/chat/completions, preset: openai, with: {model: m}}",
			[]string{`{"choices":[{"message":{"content":"x"}}]}`},
			"application/json",
			[]string{`/chat/completions {"model":"m","messages":[{"role":"user","content":"one"}]}`},
			[]string{`"x"  null`},
		},
		"responses": {
			"{url: URL, preset: responses, with: {model: m}}",
			[]string{
				`{"id":"r1","error":null,"output":[{"type":"reasoning"},{"type":"function_call","name":"f","arguments":"{}","call_id":"c"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"on"},{"type":"output_text","text":"e"}]}],"usage":{"input_tokens":1,"output_tokens":2}}`,
				`{"id":"r2","output":[{"type":"message","content":[{"type":"output_text","text":"two"}]}]}`,
			},
			"application/json",
			[]string{
				`/responses {"model":"m","input":"one"}`,
				`/responses {"model":"m","input":"two","previous_response_id":"r1"}`,
			},
			[]string{`"one" f{}  {"input_tokens":1,"output_tokens":2}`, `"two"  null`},
		},
		"ai-sdk": {
			"{url: URL/api/chat, preset: ai-sdk}",
			[]string{"data: {\"type\":\"start\"}\n\n" +
				"data: {\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"Hi \"}\n\ndata: " +
				"{\"type\":\"tool-input-available\",\"toolCallId\":\"c\",\"toolName\":\"f\",\"input\":{\"a\":1}}\n\n" +
				"data: {\"type\":\"text-delta\",\"delta\":\"you\"}\n\ndata: {\"type\":\"finish\"}\n\ndata: [DONE]\n\n"},
			"text/event-stream",
			[]string{`/api/chat {"id":"C","trigger":"submit-message","messages":[{"id":"C-1","role":"user","parts":[{"type":"text","text":"one"}]}]}`},
			[]string{`"Hi you" f{"a":1}  null`},
		},
		"ai-sdk that fails": {
			"{url: URL, preset: ai-sdk}",
			[]string{"data: {\"type\":\"error\",\"errorText\":\"no credit\"}\n\ndata: [DONE]\n\n"},
			"text/event-stream",
			nil,
			[]string{"error: the agent reports an error: no credit"},
		},
		"ai-sdk that fails without a word": {
			"{url: URL, preset: ai-sdk}",
			[]string{"data: {\"type\":\"text-delta\",\"delta\":\"Hi\"}\n\n" +
				"data: {\"type\":\"error\",\"errorText\":\"\"}\n\ndata: [DONE]\n\n"},
			"text/event-stream", nil, []string{"error: the agent reports an error: the stream says that it failed"},
		},
		"ai-sdk that breaks off": {
			"{url: URL, preset: ai-sdk}", []string{"data: {\"type\":\"text-delta\",\"delta\":\"Hi\"}\n\n"},
			"text/event-stream", nil, []string{"error: broke off"},
		},
		"an error of ai-sdk without a text": {
			"{url: URL, preset: ai-sdk}",
			[]string{
				"data: {\"type\":\"text-delta\",\"delta\":\"Hi\"}\n\ndata: {\"type\":\"error\"}\n\ndata: [DONE]\n\n",
			},
			"text/event-stream",
			nil,
			[]string{"error: the stream says that it failed"},
		},
		"ai-sdk given up": {
			"{url: URL, preset: ai-sdk}",
			[]string{
				"data: {\"type\":\"text-delta\",\"delta\":\"Hi\"}\n\ndata: {\"type\":\"abort\"}\n\ndata: [DONE]\n\n",
			},
			"text/event-stream",
			nil,
			[]string{"error: abort"},
		},
		"an error of rasa": {
			"{url: URL, preset: rasa}", []string{`{"version":"3","status":"failure","message":"no model"}`},
			"application/json", nil, []string{"error: no model"},
		},
		"langgraph": {
			"{url: URL, preset: langgraph}",
			[]string{
				`{"thread_id":"t1"}`,
				`{"messages":[{"type":"human","content":"one"},{"type":"ai","content":"","tool_calls":[{"name":"f","args":{"a":1},"id":"c"}]},{"type":"ai","content":[{"type":"text","text":"first"}]}]}`,
				`{"messages":[{"type":"ai","content":"","tool_calls":[{"name":"f","args":{"a":1},"id":"c"}]},{"type":"ai","content":"second","tool_calls":[{"name":"g","args":{},"id":"d"}]}]}`,
			},
			"application/json",
			[]string{
				`/threads {}`,
				`/threads/t1/runs/wait {"assistant_id":"agent","input":{"messages":[{"role":"user","content":"one"}]}}`,
				`/threads/t1/runs/wait {"assistant_id":"agent","input":{"messages":[{"role":"user","content":"two"}]}}`,
			},
			[]string{`"first" f{"a":1}  null`, `"second" g{}  null`},
		},
		"langgraph that fails": {
			"{url: URL, preset: langgraph}",
			[]string{`{"thread_id":"t1"}`, `{"__error__":{"error":"ValueError","message":"no credit"}}`},
			"application/json",
			nil,
			[]string{"error: the agent reports an error: no credit"},
		},
		"langgraph that adds nothing": {
			"{url: URL, preset: langgraph}",
			[]string{
				`{"thread_id":"t1"}`, `{"messages":[{"type":"ai","content":"old"},{"type":"human","content":"one"}]}`,
			},
			"application/json",
			nil,
			[]string{"error: no reply at $.messages[-1].content"},
		},
		"langgraph that waits for a human": {
			"{url: URL, preset: langgraph}",
			[]string{`{"thread_id":"t1"}`, `{"__interrupt__":[{"value":"Which one?"}]}`},
			"application/json",
			nil,
			[]string{"error: no reply at $.messages[-1].content: the answer has __interrupt__"},
		},
		"rasa with another answer": {
			"{url: URL, preset: rasa}", []string{`{}`}, "application/json", nil,
			[]string{"error: no reply at $[*].text"},
		},
		"rasa without a text": {
			"{url: URL, preset: rasa}", []string{`[{"recipient_id":"C","image":"i.png"}]`}, "application/json", nil,
			[]string{"error: no reply at $[*].text: the answer is a list of 1"},
		},
		"rasa": {
			"{url: URL, preset: rasa}",
			[]string{`[{"recipient_id":"C","text":"a"},{"text":"b"}]`, `[]`},
			"application/json",
			[]string{
				`/webhooks/rest/webhook {"sender":"C","message":"one"}`,
				`/webhooks/rest/webhook {"sender":"C","message":"two"}`,
			},
			[]string{`"a\n\nb"  null`, `""  null`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				data, _ := io.ReadAll(r.Body)
				seen = append(seen, r.URL.Path+" "+string(data))
				w.Header().Set("Content-Type", tc.kind)
				_, _ = io.WriteString(w, tc.answers[min(len(seen), len(tc.answers))-1])
			})
			messages := []string{"one", "two"}[:len(tc.replies)]
			replies, _, err := converse(t, openHTTP(t, tc.yaml, url, httpParts()), runner.Opening{ConversationID: "C"},
				messages...)
			if wanted, ok := strings.CutPrefix(tc.replies[0], "error: "); ok {
				if err == nil || !strings.Contains(err.Error(), wanted) {
					t.Errorf("got %v, want %s", err, wanted)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.seen, seen); d != "" {
				t.Error(d)
			}
			var got []string
			for _, r := range replies {
				got = append(got, inShort(r))
			}
			if d := cmp.Diff(tc.replies, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func inShort(r chat.Reply) string {
	s := fmt.Sprintf("%q", r.Text)
	for _, c := range r.ToolCalls {
		s += " " + c.Name + string(c.Args)
	}
	usage, _ := json.Marshal(r.Usage)
	return s + " " + r.FinishReason + " " + string(usage)
}

// The address of a target says its kind, and what every kind has for replays is kept.
func TestKindsByAddress(t *testing.T) {
	f, _, err := load(t, Kinds(), `
targets:
  plain: {url: "http://x/chat", complete_when: 'state == "done"', state_of: state, data_of: data}
  short: https://x/chat
  served: {kind: http, url: "http://x/execute", flow_id: tea, complete_when: {judge: it is settled}}
  own: {kind: execute, url: "http://x/execute", flow_id: tea, headers: {A: b}}
  model: {model: openai:x, state_of: state}
`)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for name, target := range f.Targets {
		kinds[name] = target.Kind
	}
	if d := cmp.Diff(map[string]string{
		"plain": "http", "short": "http", "served": "execute", "own": "execute", "model": "model",
	}, kinds); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(config.Completion{When: `state == "done"`, StateOf: "state", DataOf: "data"},
		f.Targets["plain"].Completion); d != "" {
		t.Error(d)
	}
	if f.Targets["served"].Judge != "it is settled" || f.Targets["model"].StateOf != "state" {
		t.Errorf("got %+v, %+v", f.Targets["served"].Completion, f.Targets["model"].Completion)
	}
}

// Every kind and every preset says what it is.
func TestKindsSayWhatTheyAre(t *testing.T) {
	for _, k := range Kinds() {
		if k.Doc == "" {
			t.Errorf("the kind %s does not say what it is", k.Name)
		}
	}
	for _, p := range Presets() {
		if !strings.HasPrefix(p.YAML, "kind: ") {
			t.Errorf("the preset %s has no kind", p.Name)
		}
		if kind := presetKind(p.Name); !strings.HasPrefix(p.YAML, "kind: "+kind+"\n") {
			t.Errorf("the preset %s is not of kind %s", p.Name, kind)
		}
	}
}

// What decides the replies is the definition of a target; limits and prices are not.
func TestDefinitionOfHTTP(t *testing.T) {
	define := func(yaml string) string {
		f, _, err := load(t, Kinds(), "targets: {a: "+yaml+"}")
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(f.Targets["a"])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	plain := define(`{url: "http://x", body: {m: "{{message}}"}}`)
	if same := define(`{url: "http://x", body: {m: "{{message}}"}, concurrency: 2, input_price: 1, output_price: 2, retries: 5}`); same != plain {
		t.Errorf("limits are part of %s", same)
	}
	for _, other := range []string{
		`{url: "http://y", body: {m: "{{message}}"}}`, `{url: "http://x", body: {n: "{{message}}"}}`,
		`{url: "http://x", body: {m: "{{message}}"}, answer: $.a}`,
		`{url: "http://x", body: {m: "{{message}}"}, timeout: 3s}`,
		`{url: "http://x", body: {m: "{{message}}"}, path: /a}`,
		`{url: "http://x", body: {m: "{{message}}"}, query: {a: b}}`,
		`{url: "http://x", body: {m: "{{message}}"}, method: PUT}`,
		`{url: "http://x", body: {m: "{{message}}"}, headers: {A: b}}`,
		`{url: "http://x", body: {m: "{{message}}"}, headers: {Accept: null}}`,
		`{url: "http://x", body: {m: "{{message}}"}, stream: sse}`,
		`{url: "http://x", body: {m: "{{message}}"}, cookies: false}`,
		`{url: "http://x", body: {m: "{{message}}"}, open: {path: /a}}`,
		`{url: "http://x", body: {m: "{{message}}"}, close: {path: /a}}`,
		`{url: "http://x", body: {m: "{{message}}"}, session: {cookie: a}}`,
		`{url: "http://x", body: {m: "{{message}}"}, idempotent: true}`,
		`{url: "http://x", body: {m: "{{message}}"}, max_bytes: 5}`,
		`{url: "http://x", body: {m: "{{message}}"}, with: {a: 1}}`,
	} {
		if define(other) == plain {
			t.Errorf("%s is defined as without its difference", other)
		}
	}
}
