package target

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// instantly answers each request without a network.
type instantly string

func (a instantly) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(a))), ContentLength: int64(len(a)), Request: r,
	}, nil
}

const benchAnswer = `{"reply":{"text":"Your order 98765 has been shipped and will arrive on Monday."},"steps":[{"tool":"get_order","input":{"id":"98765"}}],"usage":{"in":120,"out":30}}`

// BenchmarkHTTP is a turn of an agent behind HTTP; beside BenchmarkBareClient it says what the target adds.
func BenchmarkHTTP(b *testing.B) {
	f, _, err := load(b, Kinds(), `targets:
  a: {url: "http://agent.example/chat", answer: {text: $.reply.text, tool_calls: {path: "$.steps[*]", name: tool, args: input}, usage: {input_tokens: usage.in, output_tokens: usage.out}}}`)
	if err != nil {
		b.Fatal(err)
	}
	p := httpParts()
	p.Client = httpclient.Client(instantly(benchAnswer))
	opened, err := Open(f.Targets["a"], p)
	if err != nil {
		b.Fatal(err)
	}
	session, err := opened.Open(b.Context(), runner.Opening{Test: &suite.Test{ID: "a"}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := session.Send(b.Context(), chat.Content{Text: "Where is my order 98765?"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareClient sends the same request and decodes the same answer.
func BenchmarkBareClient(b *testing.B) {
	client := httpclient.Client(instantly(benchAnswer))
	b.ReportAllocs()
	for b.Loop() {
		body, _ := json.Marshal(map[string]string{"message": "Where is my order 98765?", "session_id": "C"})
		response, err := client.Post("http://agent.example/chat", "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		var got map[string]any
		if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
			b.Fatal(err)
		}
		_ = response.Body.Close()
	}
}
