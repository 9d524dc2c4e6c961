// Package llmtest is a server that speaks the formats of model providers, and refuses what they refuse: unknown fields,
// roles out of order, calls without an answer. It is written from the providers' published interfaces and not from
// package llm, which is tested against it.
package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Request is what a request asks, read from any format.
type Request struct {
	Model, System string
	// Texts are the user's and the assistant's texts, in order.
	Texts []string
	// Results are the answers to the calls of the last message of the model, by the name of the tool.
	Results []Result
	// Tools are the names of the tools that are offered, without the one by which a reply of a schema is forced.
	Tools      []string
	ToolChoice string
	// Schema is that of the reply; nil for free text.
	Schema      json.RawMessage
	Temperature *float64
	Seed        *int
	MaxTokens   int
	Stream      bool
	Images      int
	Header      http.Header
	// Raw is the body.
	Raw []byte
}

// Result is the answer to a tool call.
type Result struct{ Name, Text string }

// Answer is what the model answers.
type Answer struct {
	Text  string
	Calls []chat.ToolCall
	// Thought comes before the rest. It has to come back, signed, with the results of calls.
	Thought string
	// Finish is stop, length or content_filter; empty stands for stop, or tool_calls with calls.
	Finish string
	// Status is that of a refusal, with Error as what the provider says of it; 0 is a success.
	Status int
	Error  string
	Header http.Header
	// Cut ends a stream in the middle.
	Cut bool
}

// What every answer counts.
const (
	// InputTokens are those of the request, with the cached ones.
	InputTokens = 120
	// CachedTokens are those of the request that the provider had.
	CachedTokens = 40
	// OutputTokens are those of the answer, with those of thoughts.
	OutputTokens = 30
	// ThoughtsTokens are those of thoughts.
	ThoughtsTokens = 10
)

// Server is a model at all providers. It is safe for concurrent use.
type Server struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(Request) Answer
	asked  []Request
	// signed are the thoughts that were given with calls and have to come back, by the ID or name of the first call.
	signed map[string]string
	// responses and conversations are the IDs that OpenAI's responses know.
	responses map[string]bool
	n         int
}

// New starts a server, whose answers the function gives. The test ends it.
func New(t testing.TB, answer func(Request) Answer) *Server {
	t.Helper()
	s := Start(answer)
	t.Cleanup(s.Close)
	return s
}

// Start starts a server, whose answers the function gives. The caller closes it.
func Start(answer func(Request) Answer) *Server {
	s := &Server{answer: answer, signed: map[string]string{}, responses: map[string]bool{}}
	mux := http.NewServeMux()
	for _, name := range Vendors() {
		v := vendors()[name]
		mux.Handle("POST /"+name+"/", http.StripPrefix("/"+name,
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, v) })))
	}
	s.Server = httptest.NewServer(mux)
	return s
}

// Vendors are the providers that the server speaks for. Each has its base address below the server's: see Base.
func Vendors() []string {
	return []string{
		"openai", "responses", "azure", "azure-dated", "azure-responses", "anthropic", "google", "ollama", "openrouter",
		"groq", "mistral", "deepseek", "together", "xai",
	}
}

// Base returns the base URL of a vendor.
func (s *Server) Base(name string) string {
	switch name {
	case "azure", "azure-dated", "azure-responses", "anthropic", "google":
		return s.URL + "/" + name
	}
	return s.URL + "/" + name + "/v1"
}

// Environ returns the variables with the addresses and the keys of the server, as a process has them in its
// environment.
func (s *Server) Environ() map[string]string {
	env := map[string]string{
		"AZURE_OPENAI_ENDPOINT": s.Base("azure"), "AZURE_OPENAI_API_KEY": Key,
		"ANTHROPIC_BASE_URL": s.Base("anthropic"), "ANTHROPIC_API_KEY": Key, "GOOGLE_GEMINI_BASE_URL": s.Base("google"),
		"GEMINI_API_KEY": Key, "OLLAMA_HOST": strings.TrimSuffix(s.Base("ollama"), "/v1"),
	}
	for _, name := range []string{"openai", "openrouter", "groq", "mistral", "deepseek", "together", "xai"} {
		env[strings.ToUpper(name)+"_BASE_URL"], env[strings.ToUpper(name)+"_API_KEY"] = s.Base(name), Key
	}
	return env
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.asked...)
}

// Key is the key that the server wants.
const Key = "llmtest-key-0123456789"

// vendor is how a provider is spoken to.
type vendor struct {
	name string
	// path is where requests go; MODEL in it stands for the model's name. query is what they need.
	path, query string
	// keyHeader carries the key; empty for a provider without keys.
	keyHeader string
	headers   map[string]string
	format    format
}

// format reads requests and writes answers.
type format interface {
	// read returns what a request asks, or what is wrong with it.
	read(s *Server, v vendor, path string, body []byte) (Request, error)
	// write answers.
	write(s *Server, v vendor, w http.ResponseWriter, asked Request, a Answer)
	// refuse writes an error as the provider does.
	refuse(w http.ResponseWriter, status int, message string)
}

func vendors() map[string]vendor {
	chat := func(name string, f chatFormat) vendor {
		return vendor{name: name, path: "/v1/chat/completions", keyHeader: "Authorization", format: f}
	}
	open := chatFormat{seed: "seed", schemas: true, streamOptions: true}
	ollama := chat("ollama", open)
	ollama.keyHeader = ""
	all := []vendor{
		chat("openai", chatFormat{seed: "seed", schemas: true, streamOptions: true}),
		{name: "responses", path: "/v1/responses", keyHeader: "Authorization", format: responsesFormat{}},
		{
			name: "azure", path: "/openai/v1/chat/completions", keyHeader: "api-key",
			format: chatFormat{seed: "seed", schemas: true, streamOptions: true},
		},
		{
			name: "azure-dated", path: "/openai/deployments/MODEL/chat/completions", query: "api-version=2024-10-21",
			keyHeader: "api-key", format: chatFormat{seed: "seed", schemas: true, streamOptions: true},
		},
		{name: "azure-responses", path: "/openai/v1/responses", keyHeader: "api-key", format: responsesFormat{}},
		{
			name: "anthropic", path: "/v1/messages", keyHeader: "x-api-key",
			headers: map[string]string{"anthropic-version": "2023-06-01"}, format: anthropicFormat{},
		},
		{name: "google", path: "/v1beta/models/MODEL:", keyHeader: "x-goog-api-key", format: googleFormat{}},
		ollama,
		chat("openrouter", chatFormat{seed: "seed", schemas: true, streamOptions: true, thoughts: "reasoning_details"}),
		chat("groq", open),
		chat("mistral", chatFormat{seed: "random_seed", schemas: true, shortIDs: true}),
		chat("deepseek", chatFormat{streamOptions: true, thoughts: "reasoning_content"}),
		chat("together", open),
		chat("xai", chatFormat{seed: "seed", schemas: true, streamOptions: true, thoughtsBeside: true}),
	}
	byName := map[string]vendor{}
	for _, v := range all {
		byName[v.name] = v
	}
	return byName
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, v vendor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	refuse := func(status int, message string) { v.format.refuse(w, status, message) }
	if key := strings.TrimPrefix(r.Header.Get(v.keyHeader), "Bearer "); v.keyHeader != "" && key != Key {
		refuse(http.StatusUnauthorized, "invalid key "+key)
		return
	}
	for name, value := range v.headers {
		if r.Header.Get(name) != value {
			refuse(http.StatusBadRequest, name+": header is required")
			return
		}
	}
	if above, ok := strings.CutSuffix(v.path, "responses"); ok && r.URL.Path == above+"conversations" {
		s.n++
		id := fmt.Sprintf("conv_%d", s.n)
		s.responses[id] = true
		writeJSON(w, map[string]any{"id": id, "object": "conversation"})
		return
	}
	before, after, _ := strings.Cut(v.path, "MODEL")
	if !strings.HasPrefix(r.URL.Path, before) || !strings.Contains(r.URL.Path, after) ||
		v.query != "" && r.URL.RawQuery != v.query {
		refuse(http.StatusNotFound, "there is nothing at "+r.URL.String())
		return
	}
	asked, err := v.format.read(s, v, strings.TrimPrefix(r.URL.Path, before)+"?"+r.URL.RawQuery, body)
	if err != nil {
		refuse(http.StatusBadRequest, err.Error())
		return
	}
	asked.Header, asked.Raw = r.Header.Clone(), body
	s.asked = append(s.asked, asked)
	a := s.answer(asked)
	maps.Copy(w.Header(), a.Header)
	if a.Status != 0 {
		refuse(a.Status, a.Error)
		return
	}
	v.format.write(s, v, w, asked, a)
}

// strict decodes JSON and refuses what the fields of into do not have.
func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that leaves is the test's
}

// stream writes server-sent events.
type stream struct {
	w   http.ResponseWriter
	cut bool
}

func newStream(w http.ResponseWriter, a Answer) *stream {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	return &stream{w: w, cut: a.Cut}
}

// send writes an event; nothing more when the stream is cut.
func (s *stream) send(event string, v any) {
	if event != "" {
		fmt.Fprintf(s.w, "event: %s\n", event)
	}
	data, ok := v.(string)
	if !ok {
		encoded, _ := json.Marshal(v) // only plain values are sent
		data = string(encoded)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// pieces cuts a text in two, at a border between characters.
func pieces(text string) []string {
	runes := []rune(text)
	half := len(runes) / 2
	return []string{string(runes[:half]), string(runes[half:])}
}

// id returns a new ID.
func (s *Server) id(prefix string) string {
	s.n++
	return fmt.Sprintf("%s%07d", prefix, s.n)
}

func (a Answer) finish(words map[string]string) string {
	switch {
	case a.Finish != "":
		return words[a.Finish]
	case len(a.Calls) > 0:
		return words["tool_calls"]
	}
	return words["stop"]
}
