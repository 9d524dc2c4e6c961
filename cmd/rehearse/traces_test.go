package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/telemetry/telemetrytest"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/api"
)

// parents keeps the traceparents of the requests that a server gets.
type parents struct {
	mu  sync.Mutex
	all []string
}

func (p *parents) before(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.all = append(p.all, r.Header.Get(trace.ParentHeader))
		p.mu.Unlock()
		h.ServeHTTP(w, r)
	})
}

// tracedAsks is a run of a target behind HTTP, which fails at first, with a judge and a user that are models behind
// HTTP.
type tracedAsks struct {
	agent, models parents
	records       []result.Test
	code          int
	said          string
}

const tracedSecret = "sk-9f8e7d6c5b4a39281706"

func tracedRun(t *testing.T, environ ...string) *tracedAsks {
	t.Helper()
	a := &tracedAsks{}
	t.Chdir(t.TempDir())
	script, err := llm.LoadScript("script", []byte(`rules:
- {when: {model: judge}, verdicts: [{criterion: polite, score: 1}]}
- {when: {model: player, user: three}, reply: "[END]"}
- {when: {model: player}, reply: three then}
- {when: {model: bot, user: again}, tool_calls: [{name: look, args: {at: 1}}], reply: sure}
- {when: {model: bot}, reply: hello}
`))
	if err != nil {
		t.Fatal(err)
	}
	models := httptest.NewServer(a.models.before(api.OpenAI(script, api.Options{})))
	t.Cleanup(models.Close)
	asked := 0
	agent := httptest.NewServer(a.agent.before(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"reply": "you wrote ` + tracedSecret + ` ` + strings.ReplaceAll(string(body), `"`, ``) +
			`", "tools": [{"name": "search ` + tracedSecret + `"}]}`))
	})))
	t.Cleanup(agent.Close)
	for name, text := range map[string]string{
		"rehearse.yaml": "targets:\n  shop:\n    kind: http\n    url: " + agent.URL + "/chat\n    body: {message: " +
			"'{{message}}'}\n    answer: {text: $.reply, tool_calls: $.tools}\n    retries: 2\n",
		"suite.yaml": `name: shop
tests:
- id: a
  user: {goal: "say three, then leave", opening: one, max_turns: 4}
  assertions: [{type: rubrics, criteria: [It is polite]}]
- id: b
  input: again
  assertions: [{type: rubrics, criteria: [It is polite]}]
`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env, out := secretsEnv(append(environ, "OPENAI_BASE_URL="+models.URL+"/v1", "OPENAI_API_KEY="+tracedSecret))
	a.code = Main(t.Context(), env, []string{
		"run", "suite.yaml", "--target", "shop", "--target", "openai:bot", "--judge", "openai:judge", "--user",
		"openai:player", "--workers", "1", "--out", "out", "--format", "none",
	})
	a.said = out.String()
	data, err := os.ReadFile(filepath.Join("out", "results.jsonl"))
	if err != nil {
		t.Fatalf("exit code %d: %s", a.code, a.said)
	}
	for line := range strings.Lines(string(data)) {
		var r result.Test
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		a.records = append(a.records, r)
	}
	return a
}

// TestParentIsTheSpan: each request to a target, a judge and a user, also one that is tried again, bears the trace of
// its conversation and the span of that very request.
func TestParentIsTheSpan(t *testing.T) {
	c := telemetrytest.New(t)
	a := tracedRun(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	if a.code > result.ExitFailed || strings.Contains(a.said, "traces") {
		t.Fatalf("exit code %d:\n%s", a.code, a.said)
	}
	byParent := map[string]telemetrytest.Span{}
	for _, s := range c.Spans() {
		byParent["00-"+s.TraceID+"-"+s.ID+"-01"] = s
	}
	seen := map[string]int{}
	for prefix, requests := range map[string][]string{"rehearse.send": a.agent.all, "chat ": a.models.all} {
		for _, parent := range requests {
			s, ok := byParent[parent]
			if !ok || !strings.HasPrefix(s.Name, prefix) {
				t.Errorf("a request has the parent %q, the span %q", parent, s.Name)
			}
			delete(byParent, parent)
			role, _ := s.Attributes[trace.Role].(string)
			seen[s.Name+" "+role]++
		}
	}
	for _, s := range byParent {
		if strings.HasPrefix(s.Name, "chat ") || s.Name == trace.Send {
			t.Errorf("the span %s has no request", s.Name)
		}
	}
	for _, name := range []string{"chat judge judge", "chat player user", "chat bot target", "rehearse.send "} {
		if seen[name] == 0 {
			t.Errorf("there is no %s in %v", name, slices.Collect(maps.Keys(seen)))
		}
	}
	failed := 0
	for _, s := range c.Find(trace.Send) {
		if s.Failed {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d sends failed, want the first one", failed)
	}
	for _, r := range a.records {
		if err := traced(c.Spans(), &r); err != nil {
			t.Errorf("test %s with %s: %v", r.TestID, r.Target, err)
		}
	}
	said, err := json.Marshal(c.Spans())
	if err != nil || strings.Contains(string(said), tracedSecret) {
		t.Errorf("the spans tell the secret: %v", err)
	}
	for _, word := range []string{"you wrote", "say three", "polite", "hello"} {
		if strings.Contains(string(said), word) {
			t.Errorf("the spans tell what was said: %q", word)
		}
	}
	if len(c.Find("execute_tool search ***")) == 0 && len(c.Find("execute_tool search")) == 0 {
		t.Error("no tool was called")
	}
}

// TestTracedText: with REHEARSE_TRACE_TEXT=1 spans have what was said, without secrets.
func TestTracedText(t *testing.T) {
	c := telemetrytest.New(t)
	tracedRun(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "REHEARSE_TRACE_TEXT=1")
	said, err := json.Marshal(c.Spans())
	if err != nil || strings.Contains(string(said), tracedSecret) {
		t.Errorf("the spans tell the secret: %v", err)
	}
	for _, word := range []string{`{\"type\":\"text\",\"content\":\"hello\"}`, "It is polite", "503"} {
		if !strings.Contains(string(said), word) {
			t.Errorf("the spans do not tell %s", word)
		}
	}
}

// TestParentWithoutCollector: requests bear the trace of their conversation, each a span of its own, when nothing is
// collected.
func TestParentWithoutCollector(t *testing.T) {
	a := tracedRun(t)
	known := map[string]bool{}
	for _, r := range a.records {
		known[trace.ID(r.ConversationID)] = true
	}
	spans := map[string]bool{}
	for _, parent := range slices.Concat(a.agent.all, a.models.all) {
		parts := strings.Split(parent, "-")
		if len(parts) != 4 || !known[parts[1]] || spans[parts[2]] || parts[3] != "01" {
			t.Errorf("a request has the parent %q", parent)
			continue
		}
		spans[parts[2]] = true
	}
}

// TestDeadCollector: a collector that cannot be reached, does not answer or refuses is one warning, and changes nothing
// else.
func TestDeadCollector(t *testing.T) {
	hanging := make(chan struct{})
	defer close(hanging)
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"refuses": func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		},
		"hangs":   func(_ http.ResponseWriter, r *http.Request) bool { <-hanging; return true },
		"is away": nil,
	} {
		t.Run(name, func(t *testing.T) {
			c := telemetrytest.Start()
			if c.Answer = answer; answer == nil {
				c.Close()
			}
			began := time.Now()
			a := tracedRun(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
			if a.code > result.ExitFailed || strings.Count(a.said, "cannot send traces to "+c.URL) != 1 ||
				strings.Count(a.said, c.URL) != 1 {
				t.Errorf("exit code %d:\n%s", a.code, a.said)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the run took %s", took)
			}
		})
	}
}
