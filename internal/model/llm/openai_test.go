package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// conversation has one of everything that a message can hold.
var conversation = Request{
	Messages: []chat.Message{
		chat.NewMessage(chat.System, "Be <brief> & kind."),
		chat.NewMessage(chat.User, "Weather in Bern?\n\tNow."),
		{Role: chat.Assistant, ToolCalls: []chat.ToolCall{
			{ID: "c1", Name: "weather", Args: json.RawMessage(`{"city": "Bern"}`), LatencyMS: 3},
			{ID: "c2", Name: "clock"},
			{ID: "c3", Name: "odd", Args: json.RawMessage(`"{broken"`)},
		}},
		{Role: chat.Tool, ToolCallID: "c1", Content: chat.Content{Text: `{"sky":"blue"}`}},
		chat.NewMessage(chat.Assistant, ""),
		{Role: chat.User, Content: chat.Content{Blocks: []chat.Block{
			{Type: "text", Value: "Look:"}, {Type: "file", Value: "a,b\n1,2"},
			{Type: "image", Value: "data:image/png;base64,AA=="},
		}}},
	},
}

const conversationJSON = `[
	{"role":"system","content":"Be <brief> & kind."},
	{"role":"user","content":"Weather in Bern?\n\tNow."},
	{"role":"assistant","content":null,"tool_calls":[
		{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Bern\"}"}},
		{"id":"c2","type":"function","function":{"name":"clock","arguments":"{}"}},
		{"id":"c3","type":"function","function":{"name":"odd","arguments":"{broken"}}]},
	{"role":"tool","tool_call_id":"c1","content":"{\"sky\":\"blue\"}"},
	{"role":"assistant","content":""},
	{"role":"user","content":[{"type":"text","text":"Look:"},{"type":"text","text":"a,b\n1,2"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]`

const responsesJSON = `[
	{"role":"system","content":"Be <brief> & kind."},
	{"role":"user","content":"Weather in Bern?\n\tNow."},
	{"type":"function_call","call_id":"c1","name":"weather","arguments":"{\"city\": \"Bern\"}"},
	{"type":"function_call","call_id":"c2","name":"clock","arguments":"{}"},
	{"type":"function_call","call_id":"c3","name":"odd","arguments":"{broken"},
	{"type":"function_call_output","call_id":"c1","output":"{\"sky\":\"blue\"}"},
	{"role":"assistant","content":""},
	{"role":"user","content":[{"type":"input_text","text":"Look:"},{"type":"input_text","text":"a,b\n1,2"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}]`

func everything() Request {
	r := conversation
	r.Temperature, r.TopP, r.Seed, r.MaxTokens = new(0.0), new(0.5), new(7), 100
	r.Tools = []Tool{
		{
			Menu: NewMenu("x", []Option{{ID: "a"}}, ""), Name: "weather", Description: "tells",
			Parameters: json.RawMessage(`{"type":"object"}`),
		},
		{Name: "clock"},
	}
	r.ToolChoice = "weather"
	r.Schema = &Schema{Name: "verdict", JSON: json.RawMessage(`{"type":"object","properties":{}}`)}
	return r
}

func TestRequestBody(t *testing.T) {
	configured := func(m *config.Model) {
		m.Temperature, m.TopP, m.Seed, m.MaxTokens = new(0.3), new(0.9), new(1), 50
	}
	responses := func(m *config.Model) { m.API = "responses" }
	for _, tc := range []struct {
		name    string
		change  func(*config.Model)
		request Request
		path    string
		want    string
	}{
		{
			"only what is set", func(*config.Model) {}, conversation, "/v1/chat/completions",
			`{"model":"agent","messages":` + conversationJSON + `}`,
		},
		{
			"everything", configured, everything(), "/v1/chat/completions",
			`{"model":"agent","messages":` + conversationJSON + `,
			"temperature":0,"top_p":0.5,"seed":7,"max_tokens":100,
			"tools":[{"type":"function","function":{"name":"weather","description":"tells","parameters":{"type":"object"}}},{"type":"function","function":{"name":"clock"}}],
			"tool_choice":{"type":"function","function":{"name":"weather"}},
			"response_format":{"type":"json_schema","json_schema":{"name":"verdict","schema":{"type":"object","properties":{}},"strict":true}}}`,
		},
		{
			"the configuration's parameters", configured, say("hi"), "/v1/chat/completions",
			`{"model":"agent","messages":[{"role":"user","content":"hi"}],"temperature":0.3,"top_p":0.9,"seed":1,"max_tokens":50}`,
		},
		{
			"a tool choice by word", func(*config.Model) {},
			Request{Messages: say("hi").Messages, ToolChoice: "required"},
			"/v1/chat/completions",
			`{"model":"agent","messages":[{"role":"user","content":"hi"}],"tool_choice":"required"}`,
		},
		{
			"no tools this time", func(m *config.Model) { m.API = "responses" },
			Request{Messages: say("hi").Messages, ToolChoice: "none", Seed: new(3)},
			"/v1/responses",
			`{"model":"agent","input":[{"role":"user","content":"hi"}],"tool_choice":"none"}`,
		},
		{"no messages", func(*config.Model) {}, Request{}, "/v1/chat/completions", `{"model":"agent","messages":[]}`},
		{
			"responses, only what is set", responses, conversation, "/v1/responses",
			`{"model":"agent","input":` + responsesJSON + `}`,
		},
		{
			"responses, everything", responses, everything(), "/v1/responses",
			`{"model":"agent","input":` + responsesJSON + `,
			"temperature":0,"top_p":0.5,"max_output_tokens":100,
			"tools":[{"type":"function","name":"weather","description":"tells","parameters":{"type":"object"},"strict":false},{"type":"function","name":"clock","strict":false}],
			"tool_choice":{"type":"function","name":"weather"},
			"text":{"format":{"type":"json_schema","name":"verdict","schema":{"type":"object","properties":{}},"strict":true}}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var path, auth, contentType string
			var body []byte
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				path, auth, contentType = r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type")
				body, _ = io.ReadAll(r.Body)
				reply(w, hello)
			})
			_, _ = dial(t, base, tc.change).Generate(t.Context(), tc.request)
			diff(t, "path", tc.path, path)
			diff(t, "authorization", "Bearer "+testKey, auth)
			diff(t, "content type", "application/json", contentType)
			diff(t, "body", decoded(t, []byte(tc.want)), decoded(t, body))
		})
	}
}

// Mistral refuses instructions alone, which a simulated user without an opening begins with.
func TestInstructionsAlone(t *testing.T) {
	only := Request{Messages: []chat.Message{
		chat.NewMessage(chat.System, "rules"), chat.NewMessage(chat.System, "persona"),
	}}
	for _, tc := range []struct {
		provider string
		request  Request
		want     string
	}{
		{"mistral", only, `[{"role":"system","content":"rules"},{"role":"user","content":"persona"}]`},
		{"mistral", Request{Messages: only.Messages[:1]}, `[{"role":"user","content":"rules"}]`},
		{
			"mistral", Request{Messages: append(slices.Clip(only.Messages[:1]), chat.NewMessage(chat.User, "hi"))},
			`[{"role":"system","content":"rules"},{"role":"user","content":"hi"}]`,
		},
		{"mistral", Request{}, `[]`},
		{"openai", only, `[{"role":"system","content":"rules"},{"role":"system","content":"persona"}]`},
	} {
		var body struct{ Messages json.RawMessage }
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			reply(w, hello)
		})
		_, _ = dial(t, base, func(m *config.Model) { m.Provider = tc.provider }).Generate(t.Context(), tc.request)
		diff(t, tc.provider, decoded(t, []byte(tc.want)), decoded(t, body.Messages))
	}
	diff(t, "the caller's messages", chat.System, only.Messages[1].Role)
}

func decoded(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// OpenAI's reasoning models refuse max_tokens, most other servers know nothing else.
func TestMaxTokensForOpenAI(t *testing.T) {
	body, err := encodeChat(config.Model{Name: "gpt-5"}, Request{MaxTokens: 9}, dialect{maxCompletion: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	data, err := encodeJSON(body)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "body", decoded(t, []byte(`{"model":"gpt-5","messages":[],"max_completion_tokens":9}`)), decoded(t, data))
}

func TestReply(t *testing.T) {
	responses := func(m *config.Model) { m.API = "responses" }
	usage := chat.Usage{InputTokens: 12, OutputTokens: 3}
	for _, tc := range []struct {
		name   string
		change func(*config.Model)
		body   string
		want   chat.Reply
	}{
		{"text", nil, hello, chat.Reply{
			Text: "Hello!", FinishReason: "stop", Usage: usage, Cost: chat.Cost{USD: 54e-6}, Attempts: 1,
		}},
		{
			"tool calls", nil,
			`{"choices":[{"message":{"content":null,"tool_calls":[
				{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}},
				{"id":"b","function":{"name":"g","arguments":{"y":2}}},
				{"id":"c","function":{"name":"h","arguments":""}},
				{"id":"d","function":{"name":"i","arguments":"{oops"}},
				{"id":"e","function":{"name":"j"}}]}}]}`,
			chat.Reply{Attempts: 1, ToolCalls: []chat.ToolCall{
				{ID: "a", Name: "f", Args: json.RawMessage(`{"x": 1}`)},
				{ID: "b", Name: "g", Args: json.RawMessage(`{"y":2}`)},
				{ID: "c", Name: "h", Args: json.RawMessage(`{}`)},
				{ID: "d", Name: "i", Args: json.RawMessage(`"{oops"`)},
				{ID: "e", Name: "j", Args: json.RawMessage(`{}`)},
			}},
		},
		{
			"content parts", nil,
			`{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}`,
			chat.Reply{Text: "ab", Attempts: 1},
		},
		{
			"a refusal", nil, `{"choices":[{"message":{"content":null,"refusal":"I can't."}}]}`,
			chat.Reply{Text: "I can't.", Attempts: 1},
		},
		{
			"an empty reply", nil, `{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`,
			chat.Reply{FinishReason: "stop", Attempts: 1},
		},
		{
			"an unknown end", nil, `{"choices":[{"message":{"content":"a"},"finish_reason":"abort"}]}`,
			chat.Reply{Text: "a", FinishReason: "other", Attempts: 1},
		},
		{
			"the word of another provider", nil,
			`{"choices":[{"message":{"content":"a"},"finish_reason":"MAX_TOKENS"}]}`,
			chat.Reply{Text: "a", FinishReason: "length", Attempts: 1},
		},
		{
			"responses", responses,
			`{"output":[{"type":"reasoning","summary":[]},
				{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi "},{"type":"output_text","text":"you"}]},
				{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}],"usage":{"input_tokens":12,"output_tokens":3}}`,
			chat.Reply{
				Text: "Hi you", Usage: usage, Cost: chat.Cost{USD: 54e-6}, Attempts: 1,
				ToolCalls: []chat.ToolCall{{ID: "a", Name: "f", Args: json.RawMessage(`{"x":1}`)}},
			},
		},
		{
			"responses, a refusal", responses,
			`{"output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}`,
			chat.Reply{Text: "No.", Attempts: 1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base := serve(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, tc.body) })
			c := dial(t, base, func(m *config.Model) {
				m.Price = config.Price{Input: new(2.0), Output: new(10.0)}
			}, func(m *config.Model) {
				if tc.change != nil {
					tc.change(m)
				}
			})
			got, err := c.Generate(t.Context(), say("hi"))
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Usage.Unknown, tc.want.Cost.Unknown = tc.want.Usage.Total() == 0, tc.want.Usage.Total() == 0
			if got.Latency <= 0 || got.Latency > time.Minute {
				t.Errorf("latency %v", got.Latency)
			}
			diff(t, "reply", tc.want, got, cmpopts.IgnoreFields(chat.Reply{}, "Latency"), cmpopts.EquateApprox(1e-9, 0))
		})
	}
}

func TestArgsRoundTrip(t *testing.T) {
	for _, text := range []string{`{"a":1}`, ` {"a":1}`, `{broken`, `"quoted"`, `[1]`, "null", "line\nbreak", `\`} {
		args := ParseArgs(text)
		if !json.Valid(args) {
			t.Errorf("ParseArgs(%q) = %s, not JSON", text, args)
		}
		diff(t, "FormatArgs", text, FormatArgs(args))
	}
	diff(t, "nothing", "{}", FormatArgs(ParseArgs(" ")))
	diff(t, "nil", "{}", FormatArgs(nil))
}

// Whatever a server sends, the result is an error or a reply that can be written down.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(hello))
	f.Add([]byte(`{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}}]}`))
	f.Add([]byte(`{"output":[{"type":"function_call","arguments":"{"}],"error":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func([]byte) (chat.Reply, error){
			func(body []byte) (chat.Reply, error) { return decodeChat(body, dialect{}) }, decodeResponses, decodeGoogle,
			func(body []byte) (chat.Reply, error) { return decodeAnthropic(Request{}, body) },
		} {
			reply, err := decode(data)
			if err != nil {
				if err.Error() == "" {
					t.Error("an error without words")
				}
				continue
			}
			if _, err := json.Marshal(reply); err != nil {
				t.Errorf("the reply to %q cannot be encoded: %v", data, err)
			}
		}
		serverMessage(data)
	})
}
