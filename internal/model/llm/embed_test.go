package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

func embedder(t *testing.T, base string) *EndpointEmbedder {
	t.Helper()
	m := config.Model{Provider: "openai", Name: "small", BaseURL: base, Retries: new(0)}
	e, err := NewEmbedder(m, Options{
		Getenv: env(map[string]string{"OPENAI_API_KEY": testKey}), Transport: transport(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEmbed(t *testing.T) {
	var sizes []int
	e := embedder(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model string   `json:"model"`
			Input []string `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Model != "small" ||
			r.URL.Path != "/v1/embeddings" {
			t.Errorf("%s %+v %v", r.URL.Path, body, err)
		}
		sizes = append(sizes, len(body.Input))
		var items []string
		for i, text := range body.Input { // in another order than asked
			items = append([]string{fmt.Sprintf(`{"index":%d,"embedding":[%s,0.5]}`, i, text)}, items...)
		}
		reply(w, `{"data":[`+strings.Join(items, ",")+`]}`)
	}))
	var texts []string
	for i := range 300 {
		texts = append(texts, fmt.Sprint(i))
	}
	got, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "requests", []int{256, 44}, sizes)
	for i, v := range got {
		diff(t, "vector", []float64{float64(i), 0.5}, v)
	}
	if got, err := e.Embed(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("nothing to embed: %v, %v", got, err)
	}
}

func TestEmbedErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		fault  Fault
	}{
		"a refusal":       {401, `{}`, Unauthorized},
		"not JSON":        {200, `<`, Malformed},
		"too few":         {200, `{"data":[{"index":0,"embedding":[1]}]}`, Malformed},
		"one twice":       {200, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, Malformed},
		"out of range":    {200, `{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`, Malformed},
		"an empty vector": {200, `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]}`, Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			e := embedder(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			_, err := e.Embed(t.Context(), []string{"a", "b"})
			diff(t, "fault", tc.fault, wantError(t, err).Fault)
		})
	}
}

func TestEmbedWithoutIndex(t *testing.T) {
	got, err := decodeEmbeddings([]byte(`{"data":[{"embedding":[1]},{"embedding":[2]}]}`), 2)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "vectors", [][]float64{{1}, {2}}, got)
}
