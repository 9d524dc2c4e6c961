package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/model/llm/llmtest"
)

// vendor is a provider that the test server speaks for.
type vendor struct {
	name  string
	model config.Model
	env   map[string]string
}

// eachVendor runs a test with every provider, once whole and once streamed.
func eachVendor(t *testing.T, answer func(llmtest.Request) llmtest.Answer,
	test func(t *testing.T, s *llmtest.Server, v vendor, m *asking)) {
	for _, name := range llmtest.Vendors() {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/streamed=%t", name, streamed), func(t *testing.T) {
				s := llmtest.New(t, answer)
				v := vendor{name: name, model: modelAt(name, "model-1"), env: s.Environ()}
				if v.model.Provider != name {
					v.model.BaseURL = s.Base(name)
				}
				test(t, s, v, &asking{t, client(t, v.model, v.env, nil), streamed})
			})
		}
	}
}

// modelAt returns a model at a vendor of llmtest.
func modelAt(vendor, name string) config.Model {
	switch vendor {
	case "responses":
		return config.Model{Provider: "openai", Name: name, API: "responses"}
	case "azure-dated":
		return config.Model{Provider: "azure", Name: name, APIVersion: "2024-10-21"}
	case "azure-responses":
		return config.Model{Provider: "azure", Name: name, API: "responses"}
	}
	return config.Model{Provider: vendor, Name: name}
}

func client(t testing.TB, m config.Model, env map[string]string, warn func(string)) *llm.Client {
	t.Helper()
	transport := httpclient.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	c, err := llm.NewClient(m, llm.Options{
		Getenv: func(name string) string { return env[name] }, Transport: transport, Warn: warn,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// asking asks a model whole or streamed.
type asking struct {
	t        *testing.T
	model    *llm.Client
	streamed bool
}

// ask returns the reply. What was streamed must be its text.
func (a *asking) ask(r llm.Request) (chat.Reply, error) {
	a.t.Helper()
	if !a.streamed {
		return a.model.Generate(a.t.Context(), r)
	}
	var tokens strings.Builder
	reply, err := a.model.Stream(a.t.Context(), r, func(text string) { tokens.WriteString(text) })
	if err == nil && tokens.String() != reply.Text {
		a.t.Errorf("streamed %q of %q", tokens.String(), reply.Text)
	}
	if err == nil && (reply.FirstText > 0) != (reply.Text != "") {
		a.t.Errorf("the first text of %q came after %v", reply.Text, reply.FirstText)
	}
	return reply, err
}

func (a *asking) mustAsk(r llm.Request) chat.Reply {
	a.t.Helper()
	reply, err := a.ask(r)
	if err != nil {
		a.t.Fatal(err)
	}
	return reply
}

func says(text string) func(llmtest.Request) llmtest.Answer {
	return func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: text} }
}

func user(text string) llm.Request {
	return llm.Request{Messages: []chat.Message{chat.NewMessage(chat.User, text)}}
}

func same(t *testing.T, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, options...); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// usageOf is what an answer of a vendor counts; Anthropic does not tell the tokens of thoughts apart.
func usageOf(v vendor) chat.Usage {
	u := chat.Usage{
		InputTokens: llmtest.InputTokens, OutputTokens: llmtest.OutputTokens, CachedTokens: llmtest.CachedTokens,
		ReasoningTokens: llmtest.ThoughtsTokens,
	}
	if v.model.Provider == "anthropic" {
		u.ReasoningTokens = 0
	}
	return u
}

func TestVendorsText(t *testing.T) {
	eachVendor(t, says("Grüezi, 你好!"), func(t *testing.T, s *llmtest.Server, v vendor, m *asking) {
		r := llm.Request{Temperature: new(0.5), TopP: new(0.9), MaxTokens: 77, Messages: []chat.Message{
			chat.NewMessage(chat.System, "Be kind."), chat.NewMessage(chat.User, "Hi"),
			chat.NewMessage(chat.Assistant, "Hello"),
			{Role: chat.User, Content: chat.Content{Blocks: []chat.Block{
				{Type: "text", Value: "Look: "}, {Type: "image", Value: "data:image/png;base64,iVBORw0KGgo="},
				{Type: "image", Value: "https://pictures.example/a.png"},
			}}},
		}}
		got := m.mustAsk(r)
		want := chat.Reply{
			Text: "Grüezi, 你好!", FinishReason: "stop", Usage: usageOf(v), Cost: chat.Cost{Unknown: true}, Attempts: 1,
			Model: "model-1",
		}
		same(t, "reply", want, got, cmpopts.IgnoreFields(chat.Reply{}, "Latency", "FirstText"))
		asked := s.Requests()[0]
		same(t, "asked", llmtest.Request{
			Model: "model-1", System: "Be kind.", Texts: []string{"Hi", "Hello", "Look: "}, Temperature: new(0.5),
			MaxTokens: 77, Stream: m.streamed, Images: 2,
		}, asked, cmpopts.IgnoreFields(llmtest.Request{}, "Header", "Raw"), cmpopts.EquateEmpty())
	})
}

// weather has the model call tools in two rounds.
func weather(thought string) func(llmtest.Request) llmtest.Answer {
	return func(a llmtest.Request) llmtest.Answer {
		call := func(name, args string) chat.ToolCall { return chat.ToolCall{Name: name, Args: json.RawMessage(args)} }
		switch {
		case len(a.Results) == 0:
			return llmtest.Answer{Text: "Let me see.", Thought: thought, Calls: []chat.ToolCall{
				call("get_weather", `{"city":"Bern"}`), call("get_time", `{}`),
			}}
		case len(a.Results) == 2:
			return llmtest.Answer{Thought: thought, Calls: []chat.ToolCall{call("get_weather", `{"city":"Basel"}`)}}
		}
		return llmtest.Answer{Text: "Done: " + a.Results[0].Text, Thought: thought}
	}
}

var tools = []llm.Tool{
	{
		Name: "get_weather", Description: "Tells the weather",
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	},
	{Name: "get_time"},
}

func TestVendorsTools(t *testing.T) {
	for _, thought := range []string{"", "What do they want?"} {
		eachVendor(t, weather(thought), func(t *testing.T, s *llmtest.Server, v vendor, m *asking) {
			r := user("Weather?")
			r.Tools = tools
			results := map[string]string{"get_weather": "rain", "get_time": `{"now": "noon"}`}
			for round := range 3 {
				reply := m.mustAsk(r)
				var calls []string
				for _, call := range reply.ToolCalls {
					calls = append(calls, call.Name+string(call.Args))
				}
				switch round {
				case 0:
					same(t, "calls", []string{`get_weather{"city":"Bern"}`, "get_time{}"}, calls)
					same(t, "text", "Let me see.", reply.Text)
				case 1:
					same(t, "calls", []string{`get_weather{"city":"Basel"}`}, calls)
				default:
					if !strings.Contains(reply.Text, "Done: ") || !strings.Contains(reply.Text, "rain") {
						t.Errorf("said %q", reply.Text)
					}
				}
				same(t, "finish reason", map[bool]string{true: "tool_calls", false: "stop"}[round < 2],
					reply.FinishReason)
				r.Messages = append(r.Messages, reply.Message())
				for _, call := range reply.ToolCalls {
					r.Messages = append(r.Messages, chat.Message{
						Role: chat.Tool, ToolCallID: call.ID, Content: chat.Content{Text: results[call.Name]},
					})
				}
			}
			same(t, "tools", []string{"get_weather", "get_time"}, s.Requests()[0].Tools)
		})
	}
}

// Thoughts without calls are no text, and nothing comes back of them.
func TestVendorsThoughts(t *testing.T) {
	answer := func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Thought: "Hm.", Text: "Yes"} }
	eachVendor(t, answer, func(t *testing.T, _ *llmtest.Server, _ vendor, m *asking) {
		reply := m.mustAsk(user("Well?"))
		same(t, "text", "Yes", reply.Text)
		r := user("Well?")
		r.Messages = append(r.Messages, reply.Message(), chat.NewMessage(chat.User, "Sure?"))
		m.mustAsk(r)
	})
}

func TestVendorsToolChoice(t *testing.T) {
	words := map[string]map[string]string{
		"anthropic": {"auto": "auto", "none": "none", "required": "any", "get_time": "get_time"},
		"google":    {"auto": "AUTO", "none": "NONE", "required": "ANY", "get_time": "ANY get_time"},
	}
	eachVendor(t, says("ok"), func(t *testing.T, s *llmtest.Server, v vendor, m *asking) {
		for i, choice := range []string{"auto", "none", "required", "get_time"} {
			r := user("hi")
			r.Tools, r.ToolChoice = tools, choice
			m.mustAsk(r)
			want, ok := words[v.name][choice]
			switch {
			case !ok && choice != "get_time":
				want = choice
			case !ok && !strings.Contains(string(s.Requests()[i].Raw), `"name":"get_time"},"type":"function"`) &&
				v.model.API != "responses":
				t.Errorf("the tool is not chosen in %s", s.Requests()[i].Raw)
			}
			same(t, "choice "+choice, want, s.Requests()[i].ToolChoice)
		}
	})
}

func TestVendorsSchema(t *testing.T) {
	schema := &llm.Schema{
		Name: "verdict", JSON: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`),
	}
	eachVendor(t, says(`{"ok":true}`), func(t *testing.T, s *llmtest.Server, v vendor, m *asking) {
		r := user("Answer in JSON.")
		r.Schema = schema
		reply := m.mustAsk(r)
		same(t, "text", `{"ok":true}`, reply.Text)
		same(t, "finish reason", "stop", reply.FinishReason)
		same(t, "calls", 0, len(reply.ToolCalls))
		want := string(schema.JSON)
		if v.name == "deepseek" { // which can promise JSON only
			want = "{}"
		}
		same(t, "schema", want, string(s.Requests()[0].Schema))
		same(t, "requests", 1, len(s.Requests()))
		if v.name == "anthropic" {
			same(t, "choice", "tool", s.Requests()[0].ToolChoice)
		}
	})
}

func TestVendorsFinish(t *testing.T) {
	for _, finish := range []string{"length", "content_filter"} {
		answer := func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "Half a", Finish: finish} }
		eachVendor(t, answer, func(t *testing.T, _ *llmtest.Server, _ vendor, m *asking) {
			reply := m.mustAsk(user("hi"))
			same(t, "finish reason", finish, reply.FinishReason)
			same(t, "text", "Half a", reply.Text)
		})
	}
}

// TestVendorsSilence checks that an empty reply which was filtered or cut off is an error that names the reason, whole
// and streamed.
func TestVendorsSilence(t *testing.T) {
	for _, finish := range []string{"stop", "length", "content_filter"} {
		answer := func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Finish: finish} }
		eachVendor(t, answer, func(t *testing.T, _ *llmtest.Server, v vendor, m *asking) {
			reply, err := m.ask(user("hi"))
			if finish != "stop" {
				if err == nil || !strings.Contains(err.Error(), finish) {
					t.Errorf("got %+v, %v, want an error with %s", reply, err, finish)
				}
			} else if v.name == "anthropic" || v.name == "google" { // the others say "", which is a reply
				if err == nil || !strings.Contains(err.Error(), "neither text nor tool calls") {
					t.Errorf("got %+v, %v", reply, err)
				}
			} else if err != nil || reply.FinishReason != finish {
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
}

func TestVendorsSeed(t *testing.T) {
	for _, name := range llmtest.Vendors() {
		eachVendor(t, says("ok"), func(t *testing.T, s *llmtest.Server, v vendor, m *asking) {
			if v.name != name || m.streamed {
				return
			}
			var mu sync.Mutex
			var warnings []string
			m.model = client(t, v.model, v.env, func(text string) {
				mu.Lock()
				defer mu.Unlock()
				warnings = append(warnings, text)
			})
			r := user("hi")
			r.Seed = new(7)
			m.mustAsk(r)
			if name == "anthropic" || name == "deepseek" || v.model.API == "responses" {
				same(t, "warnings", []string{
					v.model.String() + " has no seed: it is left out of the requests",
				}, warnings)
				return
			}
			same(t, "warnings", []string(nil), warnings)
			same(t, "seed", new(7), s.Requests()[0].Seed)
		})
	}
}

func TestVendorsErrors(t *testing.T) {
	for _, tc := range []struct {
		status int
		fault  llm.Fault
		words  string
	}{
		{400, llm.Refused, "refused the request (400): the vendor says no"},
		{429, llm.RateLimited, "asks for fewer requests (429): the vendor says no"},
		{500, llm.Unavailable, "is not available (500): the vendor says no"},
		{529, llm.Unavailable, "is not available (529): the vendor says no"},
	} {
		answer := func(llmtest.Request) llmtest.Answer {
			return llmtest.Answer{
				Status: tc.status, Error: "the vendor says no to " + llmtest.Key,
				Header: http.Header{"Retry-After": {"3"}},
			}
		}
		eachVendor(t, answer, func(t *testing.T, _ *llmtest.Server, v vendor, m *asking) {
			_, err := m.ask(user("hi"))
			var failed *llm.Error
			if !errors.As(err, &failed) {
				t.Fatalf("got %v", err)
			}
			if failed.Fault != tc.fault || failed.Status != tc.status || !strings.HasPrefix(failed.Message, tc.words) ||
				failed.RetryAfter.Seconds() != 3 {
				t.Errorf("got %+v", failed)
			}
			if strings.Contains(err.Error(), llmtest.Key) && v.name != "ollama" { // which has no key
				t.Errorf("the key stands in %v", err)
			}
		})
	}
}

// Without the right key the vendor refuses, and the error names the variable.
func TestVendorsKeys(t *testing.T) {
	eachVendor(t, says("ok"), func(t *testing.T, _ *llmtest.Server, v vendor, m *asking) {
		if v.name == "ollama" {
			return
		}
		variable := strings.ToUpper(v.model.Provider) + "_API_KEY"
		switch v.model.Provider {
		case "azure":
			variable = "AZURE_OPENAI_API_KEY"
		case "google":
			variable = "GEMINI_API_KEY"
		}
		v.env[variable] = "wrong-key-9876"
		m.model = client(t, v.model, v.env, nil)
		_, err := m.ask(user("hi"))
		if err == nil || !strings.Contains(err.Error(), "refused the key (401)") ||
			!strings.Contains(err.Error(), variable) || strings.Contains(err.Error(), "wrong-key") {
			t.Errorf("got %v", err)
		}
	})
}

func TestVendorsCutStream(t *testing.T) {
	answer := func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "Half a reply", Cut: true} }
	eachVendor(t, answer, func(t *testing.T, _ *llmtest.Server, _ vendor, m *asking) {
		if !m.streamed {
			return
		}
		_, err := m.model.Stream(t.Context(), user("hi"), func(string) {})
		var failed *llm.Error
		if !errors.As(err, &failed) || failed.Fault != llm.Unreachable {
			t.Errorf("got %v", err)
		}
	})
}

// Any history that a conversation can have is one that every provider takes: without user messages at its head, with
// calls that have no ID, no answer, or arguments that are no object, with messages that say nothing.
func TestVendorsHistories(t *testing.T) {
	s := llmtest.New(t, says("ok"))
	clients := map[string]*llm.Client{}
	for _, name := range []string{"anthropic", "google"} {
		clients[name] = client(t, config.Model{Provider: name, Name: "m"}, s.Environ(), nil)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := llm.Request{Messages: rapid.Custom(anyHistory).Draw(t, "history")}
		for name, c := range clients {
			if _, err := c.Generate(t.Context(), r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A history in which each call is answered is one that OpenAI's API takes, too, whatever IDs the calls have.
func TestVendorsAnsweredHistories(t *testing.T) {
	s := llmtest.New(t, says("ok"))
	rapid.Check(t, func(t *rapid.T) {
		var messages []chat.Message
		for range rapid.IntRange(1, 6).Draw(t, "turns") {
			messages = append(messages, chat.NewMessage(chat.User, rapid.String().Draw(t, "text")))
			m := chat.Message{Role: chat.Assistant, Content: chat.Content{Text: rapid.String().Draw(t, "reply")}}
			var answers []chat.Message
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				id := rapid.SampledFrom([]string{"", "a", "b", "call-with-a-long-name"}).Draw(t, "id")
				m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: id, Name: "f", Args: json.RawMessage(`{}`)})
				answers = append(answers, chat.Message{
					Role: chat.Tool, ToolCallID: id, Content: chat.Content{Text: "r"},
				})
			}
			messages = append(append(messages, m), answers...)
		}
		messages = append(messages, chat.NewMessage(chat.User, "and now?"))
		for _, name := range llmtest.Vendors() {
			m := modelAt(name, "m")
			m.BaseURL, m.APIKeyEnv = s.Base(name), "KEY"
			c, err := llm.NewClient(m, llm.Options{
				Getenv: func(string) string { return llmtest.Key }, Transport: http.DefaultTransport,
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Generate(t.Context(), llm.Request{Messages: messages}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func anyHistory(t *rapid.T) []chat.Message {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) chat.Message {
		text := rapid.SampledFrom([]string{"", " ", "\n", "hello", "[1, 2]", `{"a": 1}`, "trailing "})
		id := rapid.SampledFrom([]string{"", "a", "b", "ä/ö"})
		m := chat.NewMessage(rapid.SampledFrom([]chat.Role{
			chat.System, chat.User, chat.Assistant, chat.Tool,
		}).Draw(t, "role"), text.Draw(t, "text"))
		switch m.Role {
		case chat.Tool:
			m.ToolCallID = id.Draw(t, "answers")
		case chat.Assistant:
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				args := rapid.SampledFrom([]string{"", `{}`, `{"x":1}`, `[1]`, `"{broken"`, "null"}).Draw(t, "args")
				m.ToolCalls = append(m.ToolCalls, chat.ToolCall{
					ID: id.Draw(t, "id"), Name: "f", Args: json.RawMessage(args),
				})
			}
		case chat.User:
			if rapid.Bool().Draw(t, "blocks") {
				m.Content = chat.Content{Blocks: []chat.Block{
					{Type: "file", Value: text.Draw(t, "file")},
					{Type: "text", Value: m.Content.Text},
				}}
			}
		}
		return m
	}), 0, 12).Draw(t, "messages")
}

// An error in the middle of a stream is the vendor's, with its own words.
func TestVendorsErrorInStream(t *testing.T) {
	for _, tc := range []struct {
		provider, body string
		fault          llm.Fault
		words          string
	}{
		{
			"anthropic", "event: error\n" +
				"data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
			llm.Unavailable, "is not available (529): Overloaded",
		},
		{
			"google",
			"data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n\n",
			llm.Unavailable, "is not available (503): The model is overloaded.",
		},
		{
			"openrouter", "data: {\"error\":{\"code\":502,\"message\":\"Provider disconnected\"},\"choices\":[]}\n\n",
			llm.Unavailable, "is not available (502): Provider disconnected",
		},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(tc.body))
		}))
		defer server.Close()
		c := client(t, config.Model{Provider: tc.provider, Name: "m", BaseURL: server.URL}, map[string]string{}, nil)
		_, err := c.Stream(t.Context(), user("hi"), func(string) {})
		var failed *llm.Error
		if !errors.As(err, &failed) || failed.Fault != tc.fault || failed.Message != tc.words {
			t.Errorf("%s: got %v", tc.provider, err)
		}
	}
}
