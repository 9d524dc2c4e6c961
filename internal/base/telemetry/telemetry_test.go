package telemetry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/base/telemetry"
	"github.com/rehearse-dev/rehearse/internal/base/telemetry/telemetrytest"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opened returns traces of an environment, and what they warn of.
func opened(t *testing.T, environment map[string]string) (*telemetry.Traces, *[]string) {
	t.Helper()
	var warned []string
	traces := telemetry.OpenTraces(telemetry.Options{
		LookupEnv: func(name string) (string, bool) { v, ok := environment[name]; return v, ok },
		Version:   "1.2.3", Mask: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") },
		Warn: func(text string) { warned = append(warned, text) },
	})
	return traces, &warned
}

func span(t *testing.T, traces *telemetry.Traces, name string, attributes ...trace.Attribute) {
	t.Helper()
	_, s := trace.Root(trace.With(t.Context(), traces.Tracer(), nil), name, name, attributes...)
	s.Finish()
}

func TestEnvironment(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  map[string]string
		// path is where spans come; empty for nowhere.
		path, warning string
	}{
		{"nothing", nil, "", ""},
		{"an endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL"}, "/v1/traces", ""},
		{
			"an endpoint with a path", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL/api/public/otel/"},
			"/api/public/otel/v1/traces", "",
		},
		{"an endpoint of traces", map[string]string{
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "URL/in", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
		}, "/in", ""},
		{
			"a user and a query", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "USER/?tenant=a"},
			"/v1/traces?tenant=a", "",
		},
		{"switched off", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_SDK_DISABLED": "TRUE"}, "", ""},
		{
			"grpc", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			"/v1/traces", "at port 4318",
		},
		{"grpc for other signals", map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
			"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
		}, "/v1/traces", ""},
		{
			"no address", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317"}, "",
			"OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https address",
		},
		{"a password in what is no address", map[string]string{
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "ftp://me:hunter2@x",
		}, "", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not"},
		{"headers", map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "URL",
			"OTEL_EXPORTER_OTLP_HEADERS":  "Authorization=Basic%20aGk=, x-a = b%2Cc ,",
		}, "/v1/traces", ""},
		{"bad headers", map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_EXPORTER_OTLP_HEADERS": "a=b%0d%0aHost: x",
		}, "", "OTEL_EXPORTER_OTLP_HEADERS is not a list"},
		{"an unknown sampler", map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_TRACES_SAMPLER": "xray",
		}, "/v1/traces", "OTEL_TRACES_SAMPLER=xray is unknown"},
		{"no share", map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_TRACES_SAMPLER": "traceidratio",
			"OTEL_TRACES_SAMPLER_ARG": "NaN",
		}, "/v1/traces", "OTEL_TRACES_SAMPLER_ARG is not a number"},
		{
			"always off", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_TRACES_SAMPLER": "always_off"},
			"", "",
		},
		{"a share of nothing", map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
			"OTEL_TRACES_SAMPLER_ARG": "0",
		}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := telemetrytest.New(t)
			urls := strings.NewReplacer("URL", c.URL, "USER", strings.Replace(c.URL, "//", "//me:hunter2@", 1))
			for name, value := range tc.env {
				tc.env[name] = urls.Replace(value)
			}
			traces, warned := opened(t, tc.env)
			span(t, traces, "x")
			traces.Close()
			var want []string
			if tc.path != "" {
				want = []string{"POST " + tc.path}
			}
			paths, headers := c.Requests()
			if d := cmp.Diff(want, paths); d != "" {
				t.Errorf("requests (-want +got):\n%s", d)
			}
			if said := strings.Join(*warned, "\n"); !strings.Contains(said, tc.warning) ||
				tc.warning == "" && said != "" || strings.Contains(said, "hunter2") {
				t.Errorf("it warned %q", said)
			}
			if tc.name == "a user and a query" && headers[0].Get("Authorization") != "Basic bWU6aHVudGVyMg==" {
				t.Errorf("headers %v", headers[0])
			}
			if tc.name == "headers" &&
				(headers[0].Get("Authorization") != "Basic aGk=" || headers[0].Get("x-a") != "b,c") {
				t.Errorf("headers %v", headers[0])
			}
		})
	}
}

// TestSpans: what is sent says what a span holds, without secrets and as valid protobuf whatever stands in it.
func TestSpans(t *testing.T) {
	c := telemetrytest.New(t)
	traces, warned := opened(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_SERVICE_NAME": "shop tests",
	})
	ctx, run := trace.Start(trace.With(t.Context(), traces.Tracer(), nil), "run")
	ctx, root := trace.Root(trace.Sharing(ctx, trace.A("shared", "yes hunter2")), "c1", "root \xff hunter2",
		trace.A("n", 3), trace.A("f", 0.5), trace.A("b", true), trace.A("empty", ""))
	_, child := trace.Start(ctx, "child")
	child.Event("event", trace.A("text", "hunter2 \xc3"))
	child.Fail("not told")
	child.Finish()
	child.Finish()
	child.Set(trace.A("late", true))
	root.Set(trace.A("long", strings.Repeat("é", 1<<20)), trace.A("n", 4))
	root.Finish()
	run.Finish()
	traces.Close()
	if len(c.Faults()) > 0 || len(*warned) > 0 {
		t.Fatalf("faults %v, warnings %v", c.Faults(), *warned)
	}
	spans := c.Spans()
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	r, rt, ch := spans[0], spans[1], spans[2]
	if rt.TraceID != trace.ID("c1") || rt.Parent != "" || ch.TraceID != rt.TraceID || ch.Parent != rt.ID ||
		r.TraceID == rt.TraceID {
		t.Errorf("the spans are %+v", spans)
	}
	if d := cmp.Diff([]string{r.TraceID + "-" + r.ID}, rt.Links); d != "" {
		t.Errorf("links: %s", d)
	}
	if long, _ := rt.Attributes["long"].(string); len(long) > 1<<10 || len(long) < 1000 {
		t.Errorf("an attribute has %d bytes", len(long))
	}
	delete(rt.Attributes, "long")
	if d := cmp.Diff(map[string]any{"shared": "yes ***", "n": int64(4), "f": 0.5, "b": true, "empty": ""},
		rt.Attributes); d != "" || rt.Name != "root \uFFFD ***" {
		t.Errorf("name %q, attributes: %s", rt.Name, d)
	}
	want := telemetrytest.Event{Name: "event", Attributes: map[string]any{"text": "*** \uFFFD"}}
	if d := cmp.Diff([]telemetrytest.Event{want}, ch.Events); d != "" || !ch.Failed || ch.Message != "" ||
		ch.Attributes["late"] != nil {
		t.Errorf("failed %v %q, events: %s", ch.Failed, ch.Message, d)
	}
	if d := cmp.Diff(map[string]any{"service.name": "shop tests", "service.version": "1.2.3"}, c.Resource()); d != "" {
		t.Errorf("resource: %s", d)
	}
}

// TestMany: everything is sent before the process ends, in several requests, each span once.
func TestMany(t *testing.T) {
	c := telemetrytest.New(t)
	var requests atomic.Int64
	c.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		if requests.Add(1) == 2 { // once it is too busy
			w.Header().Set("Retry-After", "0.01")
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	}
	traces, warned := opened(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL})
	for i := range 20_000 {
		span(t, traces, fmt.Sprint(i))
	}
	traces.Close()
	seen := map[string]bool{}
	for _, s := range c.Spans() {
		seen[s.Name] = true
	}
	if n := len(c.Spans()); n != 20_000 || len(seen) != n || len(*warned) > 0 || requests.Load() < 4 {
		t.Errorf("%d spans came, %d of them different, in %d requests; it warned %v", n, len(seen),
			requests.Load(), *warned)
	}
}

// TestFailures checks that every span arrives or is counted in a warning, and that no warning repeats what a collector
// writes.
func TestFailures(t *testing.T) {
	status := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { http.Error(w, "the key hunter2 is unknown", code) }
	}
	answer := func(body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { _, _ = w.Write([]byte(body)) }
	}
	refuse := func(w http.ResponseWriter) { // partial_success: {rejected_spans: 2, error_message: "hunter2"}
		_, _ = w.Write([]byte{0x0a, 0x0b, 0x08, 0x02, 0x12, 0x07, 'h', 'u', 'n', 't', 'e', 'r', '2'})
	}
	for _, tc := range []struct {
		name  string
		spans int
		// first answers the first request; the collector takes all others.
		first    func(w http.ResponseWriter)
		warnings []string
	}{
		{"refused in part", 3, refuse, []string{"it refused 2 spans"}},
		{"refused, then taken", 600, refuse, []string{"it refused 2 spans", "2 spans not sent to"}},
		{
			"refused in part, in JSON", 3, answer(`{"partialSuccess": {"rejectedSpans": "2"}}`),
			[]string{"it refused 2 spans"},
		},
		{"another server", 1, answer("<html>log in</html>"), []string{"it answers 200 OK with a body that is not"}},
		{"a part of an answer", 1, func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "9")
			answer("\x0a")(w)
		}, []string{"unexpected EOF"}},
		{"an error", 1, status(401), []string{"it answers 401 Unauthorized"}},
		{"an error, then taken", 600, status(400), []string{"it answers 400 Bad Request", "spans not sent to"}},
		{"more than wait", 40_000, nil, []string{"spans not sent to"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := telemetrytest.New(t)
			ended := make(chan struct{})
			var requests atomic.Int64
			c.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
				if requests.Add(1) > 1 {
					return false
				}
				if tc.first == nil { // it answers once all spans have ended
					<-ended
					return false
				}
				tc.first(w)
				return true
			}
			traces, warned := opened(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL})
			for range tc.spans {
				span(t, traces, "x")
			}
			close(ended)
			traces.Close()
			if len(*warned) != len(tc.warnings) || strings.Contains(fmt.Sprint(*warned), "hunter2") {
				t.Fatalf("it warned %q", *warned)
			}
			for i, w := range *warned {
				if !strings.Contains(w, tc.warnings[i]) {
					t.Errorf("it warned %q, want %q", w, tc.warnings[i])
				}
			}
			if len(tc.warnings) > 1 && strings.HasPrefix(tc.warnings[0], "it refused") {
				return // the collector has taken the others of that request, and does not list them
			}
			var lost int
			_, _ = fmt.Sscanf(strings.ReplaceAll((*warned)[len(*warned)-1], ",", ""), "%d span", &lost)
			if n := len(c.Spans()); lost > 0 && n+lost != tc.spans {
				t.Errorf("%d spans came and %d were counted as lost, of %d", n, lost, tc.spans)
			}
		})
	}
}

// TestBeside: spans of visitors go to both places, but once where both are the same.
func TestBeside(t *testing.T) {
	one, two := telemetrytest.New(t), telemetrytest.New(t)
	env := func(name string) (string, bool) {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": one.URL}[name], true
	}
	o := telemetry.Options{LookupEnv: env, Warn: func(text string) { t.Error(text) }}
	all := telemetry.OpenTraces(o)
	place := func(c *telemetrytest.Collector) telemetry.Resource {
		u, err := url.Parse(c.URL + "/v1/traces")
		if err != nil {
			t.Fatal(err)
		}
		return telemetry.Resource{URL: u, Headers: [][2]string{{"Authorization", "Basic x"}}}
	}
	visitors := telemetry.OpenWith(o, place(two), all)
	if telemetry.OpenWith(o, place(one), all) != all {
		t.Error("the same place is opened twice")
	}
	ctx := trace.With(t.Context(), all.Tracer(), visitors.Tracer())
	for _, in := range []context.Context{ctx, trace.ForVisitor(ctx)} {
		_, s := trace.Start(in, "turn")
		s.Finish()
	}
	visitors.Close()
	all.Close()
	if a, b := len(one.Spans()), len(two.Spans()); a != 2 || b != 1 {
		t.Errorf("%d and %d spans came", a, b)
	}
}
