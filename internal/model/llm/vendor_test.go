package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// OLLAMA_HOST may leave out scheme, host and port, and may name where the server listens.
func TestOllamaHost(t *testing.T) {
	for value, want := range map[string]string{
		"":                         "http://localhost:11434/v1",
		"gpu":                      "http://gpu:11434/v1",
		"gpu:8080":                 "http://gpu:8080/v1",
		":8080":                    "http://127.0.0.1:8080/v1",
		"0.0.0.0":                  "http://127.0.0.1:11434/v1",
		"[::1]:9000":               "http://[::1]:9000/v1",
		"http://gpu":               "http://gpu:80/v1",
		"https://gpu.example":      "https://gpu.example:443/v1",
		"https://gpu.example/llm/": "https://gpu.example:443/llm/v1",
	} {
		got, _ := Address(config.Model{Provider: "ollama"}, Options{
			Getenv: env(map[string]string{"OLLAMA_HOST": value}),
		})
		if got != want {
			t.Errorf("OLLAMA_HOST=%q: got %s, want %s", value, got, want)
		}
	}
}

// A key goes in the provider's own header, and to nobody else; a token of Azure is a bearer token.
func TestKeyHeaders(t *testing.T) {
	keys := map[string]string{
		"OPENAI_API_KEY": "k-openai", "AZURE_OPENAI_API_KEY": "k-azure", "ANTHROPIC_API_KEY": "k-anthropic",
		"GOOGLE_API_KEY": "k-google", "GROQ_API_KEY": "k-groq", "MINE": "k-mine", "TOKEN": "k-token",
	}
	for _, tc := range []struct {
		model             config.Model
		header, want, now string
	}{
		{config.Model{Provider: "openai"}, "Authorization", "Bearer k-openai", "/chat/completions"},
		{config.Model{Provider: "groq"}, "Authorization", "Bearer k-groq", "/chat/completions"},
		{config.Model{Provider: "groq", APIKeyEnv: "MINE"}, "Authorization", "Bearer k-mine", "/chat/completions"},
		{config.Model{Provider: "ollama"}, "", "", "/chat/completions"},
		{config.Model{Provider: "azure"}, "Api-Key", "k-azure", "/openai/v1/chat/completions"},
		{
			config.Model{Provider: "azure", TokenEnv: "TOKEN"}, "Authorization", "Bearer k-token",
			"/openai/v1/chat/completions",
		},
		{config.Model{Provider: "azure", API: "responses"}, "Api-Key", "k-azure", "/openai/v1/responses"},
		{
			config.Model{Provider: "azure", API: "responses", APIVersion: "2025-04-01-preview"}, "Api-Key", "k-azure",
			"/openai/responses?api-version=2025-04-01-preview",
		},
		{
			config.Model{Provider: "azure", APIVersion: "2024-10-21"}, "Api-Key", "k-azure",
			"/openai/deployments/m%2F1/chat/completions?api-version=2024-10-21",
		},
		{config.Model{Provider: "anthropic"}, "X-Api-Key", "k-anthropic", "/v1/messages"},
		{config.Model{Provider: "google"}, "X-Goog-Api-Key", "k-google", "/v1beta/m/1:generateContent"},
	} {
		var got http.Header
		var at string
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got, at = r.Header, r.URL.RequestURI()
			reply(w, hello)
		})
		tc.model.Name, tc.model.BaseURL = "m/1", strings.TrimSuffix(base, "/v1")
		c, err := NewClient(tc.model, Options{Getenv: env(keys), Transport: transport(t)})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Generate(t.Context(), say("hi")) // what it makes of the answer is another test's
		diff(t, tc.model.Provider+" asks at", tc.now, at)
		for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key"} {
			want := ""
			if name == tc.header {
				want = tc.want
			}
			diff(t, tc.model.Provider+" "+name, want, got.Get(name))
		}
	}
}

func TestTokenOfAnotherProvider(t *testing.T) {
	_, err := NewClient(config.Model{Provider: "anthropic", Name: "m", TokenEnv: "TOKEN"}, Options{Getenv: env(nil)})
	diff(t, "message", "anthropic takes no token", wantError(t, err).Message)
}

// Embeddings of Google have a format of their own; Anthropic has none.
func TestEmbeddingsOfProviders(t *testing.T) {
	var at string
	var asked struct {
		Requests []struct {
			Model   string `json:"model"`
			Content struct {
				Parts []struct{ Text string } `json:"parts"`
			} `json:"content"`
		} `json:"requests"`
	}
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		at = r.URL.Path
		data, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(data, &asked); err != nil {
			t.Error(err)
		}
		reply(w, `{"embeddings":[{"values":[1,2]},{"values":[3,4]}]}`)
	})
	o := Options{Getenv: env(map[string]string{"GEMINI_API_KEY": "k"}), Transport: transport(t)}
	e, err := NewEmbedder(config.Model{
		Provider: "google", Name: "gemini-embedding-001", BaseURL: strings.TrimSuffix(base, "/v1"),
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "vectors", [][]float64{{1, 2}, {3, 4}}, vectors)
	diff(t, "path", "/v1beta/models/gemini-embedding-001:batchEmbedContents", at)
	if len(asked.Requests) != 2 || asked.Requests[1].Model != "models/gemini-embedding-001" ||
		asked.Requests[1].Content.Parts[0].Text != "b" {
		t.Errorf("asked %+v", asked)
	}
	_, err = NewEmbedder(config.Model{Provider: "anthropic", Name: "m", BaseURL: "http://h"}, o)
	diff(t, "message", "anthropic has no embedding models", wantError(t, err).Message)
}

// Google says in the body how long to wait.
func TestRetryOfGoogle(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`)
	})
	c, err := NewClient(config.Model{Provider: "google", Name: "m", BaseURL: base}, Options{
		Getenv: env(nil), Transport: transport(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Generate(t.Context(), say("hi"))
	failed := wantError(t, err)
	diff(t, "wait", 34.5, failed.RetryAfter.Seconds())
	diff(t, "message", "asks for fewer requests (429): quota", failed.Message)
}

// A query that the base URL has stays.
func TestAddressWithQuery(t *testing.T) {
	base, err := url.Parse("https://h/v1?team=a")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "address", "https://h/v1/x:y?team=a&alt=sse",
		(&endpoint{base: base}).address(requestPath{"x:y", "alt=sse"}))
}
