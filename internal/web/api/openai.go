// Package api has the program's HTTP servers: any model as an OpenAI-compatible endpoint, flows and chatbots as agents,
// logged events, and Front, which checks access for the others.
package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// maxRequest bounds the body of one request.
const maxRequest = 32 << 20

// Options are the settings of an endpoint. The zero value answers as soon as the model does.
type Options struct {
	// Latency is added to every reply.
	Latency time.Duration
	// Models are the names that GET /v1/models lists; by default the model's own, if it has one.
	Models []string
}

// OpenAI returns a server of the OpenAI protocol for a model: POST /v1/chat/completions, plain or streamed as SSE,
// GET /v1/models and GET /healthz. An llm.Cast plays the model that a request names.
// An llm.Error is answered with its status and RetryAfter in OpenAI's error form.
// A fault that a script injects (llm.Injected) happens on the wire, so that a client meets the fault itself.
// The server is safe for concurrent use and accepts requests of up to 32 MB.
func OpenAI(model llm.Model, o Options) http.Handler {
	s := &openAI{model: model, options: o}
	if named, ok := model.(interface{ Name() string }); ok && len(o.Models) == 0 {
		s.options.Models = []string{named.Name()}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "not_found", "nothing is served at "+r.Method+" "+r.URL.Path+
			"; use POST /v1/chat/completions")
	})
	return mux
}

type openAI struct {
	model   llm.Model
	options Options
	count   atomic.Int64
}

func (s *openAI) complete(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		writeError(w, status, "invalid_request", "the body cannot be read: "+err.Error())
		return
	}
	asked, request, err := decodeRequest(body)
	request.Node = nodeOf(r)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	model := s.model
	if cast, ok := model.(llm.Cast); ok && asked.Model != "" {
		model = cast.As(asked.Model)
	}
	reply, err := model.Generate(r.Context(), request)
	if llm.Sleep(r.Context(), s.options.Latency) != nil {
		return // the client left
	}
	if err != nil {
		s.fail(w, asked, err)
		return
	}
	s.answer(w, asked, reply)
}

func (s *openAI) answer(w http.ResponseWriter, asked *chatRequest, reply chat.Reply) {
	done := s.completion(asked.Model, reply)
	if asked.Stream {
		stream(w, done, asked.StreamOptions.IncludeUsage)
		return
	}
	writeJSON(w, http.StatusOK, done)
}

func (s *openAI) models(w http.ResponseWriter, _ *http.Request) {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := []entry{}
	for _, name := range s.options.Models {
		list = append(list, entry{ID: name, Object: "model", OwnedBy: "rehearse"})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= maxRequest {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, maxRequest))
	return b.Bytes(), err
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := encode(v)
	if err != nil {
		status, body = http.StatusInternalServerError,
			[]byte(`{"error":{"message":"the reply cannot be written as JSON","type":"server_error"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// encode writes text as it is, without HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
