package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

const nodeFlow = `
id: desk
version: 1
start: start
nodes:
  - {id: start, type: start, prompt: Greet the user., next: [ask]}
  - id: ask
    type: conversation
    prompt: Ask for the "order" <number> & name.
    options:
      - {id: given, label: an order number was given, examples: [my order number is 17], next: bye}
  - {id: bye, type: stop, prompt: Say goodbye.}
`

const machine = `
flow:
  name: Rsvp
  version: 2.1.0
  initial_state: ask_name
  states:
    ask_name: {type: data_collection, field: name, message: {text: What is your name?, quick_replies: [Ada]}, metadata: {progress: 0.5},
               validation: {min_length: 2, error_message: Too short.}}
    confirm: {type: confirmation, message: "Is {name} coming?", metadata: {progress: 0.9}}
    done: {type: end, message: See you.}
  transitions:
    - {from: ask_name, to: confirm, condition: always}
    - {from: confirm, to: done, condition: {type: contains, value: "yes"}}
`

// modelFunc is a model made of a function.
type modelFunc func(ctx context.Context, r llm.Request) (chat.Reply, error)

func (f modelFunc) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) { return f(ctx, r) }

func library(t testing.TB) *flow.Library {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"desk.yaml": nodeFlow, "rsvp.yaml": machine} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := flow.OpenLibrary(source.Files{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// desk is a server of flows in a test.
type desk struct {
	t      testing.TB
	flows  *Flows
	url    string
	client *http.Client
	log    *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func openDesk(t testing.TB, model llm.Model, change ...func(*FlowsConfig)) *desk {
	t.Helper()
	log := &lockedBuffer{}
	logger := slog.New(slog.NewJSONHandler(log, nil))
	c := FlowsConfig{Log: logger}
	c.Engine = flow.New(flow.Config{
		Model: model, Flows: library(t), Log: logger, Named: func(name string) (llm.Model, error) {
			return nil, &llm.Error{Model: name, Message: "there is no such model"}
		},
	})
	for _, f := range change {
		f(&c)
	}
	d := &desk{t: t, flows: NewFlows(c), log: log}
	web := httptest.NewServer(Front(d.flows.table().handler(), FrontConfig{Log: logger}))
	transport := httpclient.Transport()
	d.url, d.client = web.URL, &http.Client{Transport: transport}
	t.Cleanup(web.Close)
	t.Cleanup(transport.CloseIdleConnections)
	return d
}

// do sends a request; headers are "Name: value".
func (d *desk) do(method, path, body string, headers ...string) (*http.Response, string) {
	d.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := d.client.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return response, string(data)
}

// want sends a request and decodes the answer, whose status must be this.
func want[T any](d *desk, status int, method, path, body string, headers ...string) T {
	d.t.Helper()
	response, answer := d.do(method, path, body, headers...)
	if response.StatusCode != status {
		d.t.Fatalf("%s %s: status %d, want %d: %s", method, path, response.StatusCode, status, answer)
	}
	media := "application/json"
	if status >= 400 {
		media = "application/problem+json"
	}
	if got := response.Header.Get("Content-Type"); got != media {
		d.t.Errorf("%s %s: content type %q, want %q", method, path, got, media)
	}
	return decoded[T](d.t, answer)
}

func decoded[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// executionContext is a context at a node, with more members.
func executionContext(node, message string, more ...string) string {
	quoted, _ := json.Marshal(message)
	return `{"flow":{"ref":"desk"},"current_node_id":"` + node + `","latest_user_message":` + string(quoted) +
		`,"history":[],"memory":{"turn_index":0}` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// followsSchema holds an answer against the published schema of results.
func followsSchema(t testing.TB, answer string) {
	t.Helper()
	published, err := os.ReadFile("../../agent/flow/schema/execution_result.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(published))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("result.json", schema); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.MustCompile("result.json").Validate(doc); err != nil {
		t.Errorf("the result does not follow its schema: %v\n%s", err, answer)
	}
}
