// Package telemetrytest has a collector of OpenTelemetry to test against. It reads what it is sent by the published
// protobuf definitions.
package telemetrytest

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it came.
type Span struct {
	TraceID, ID, Parent, Name string
	Kind                      int
	Start, End                time.Time
	Attributes                map[string]any
	Events                    []Event
	// Links are TRACE-SPAN.
	Links   []string
	Failed  bool
	Message string
}

// Event is an event of a span.
type Event struct {
	Name       string
	Attributes map[string]any
}

// Collector is a collector. It is safe for concurrent use.
type Collector struct {
	// URL is what OTEL_EXPORTER_OTLP_ENDPOINT is set to.
	URL string
	// Answer, if set, may answer a request instead; it reports whether it did. It is set before the first request.
	Answer func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	spans    []Span
	resource map[string]any
	headers  []http.Header
	paths    []string
	faults   []string
	server   *httptest.Server
}

// Start starts a collector, which its caller closes.
func Start() *Collector {
	c := &Collector{}
	c.server = httptest.NewServer(c)
	c.URL = c.server.URL
	return c
}

// New starts a collector for a test.
func New(t testing.TB) *Collector {
	c := Start()
	t.Cleanup(c.Close)
	return c
}

// Close ends the collector.
func (c *Collector) Close() { c.server.Close() }

// ServeHTTP takes spans.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.paths, c.headers = append(c.paths, r.Method+" "+r.URL.RequestURI()), append(c.headers, r.Header)
	c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if c.Answer != nil && c.Answer(w, r) {
		return
	}
	var request collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if kind := r.Header.Get("Content-Type"); err == nil && kind != "application/x-protobuf" {
		err = fmt.Errorf("content type %q", kind)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.faults = append(c.faults, err.Error())
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, of := range request.GetResourceSpans() {
		c.resource = values(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, read(s))
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func read(s *traces.Span) Span {
	out := Span{
		TraceID: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
		Parent: hex.EncodeToString(s.GetParentSpanId()), Name: s.GetName(), Kind: int(s.GetKind()),
		Start: time.Unix(0, int64(s.GetStartTimeUnixNano())), End: time.Unix(0, int64(s.GetEndTimeUnixNano())),
		Attributes: values(s.GetAttributes()), Failed: s.GetStatus().GetCode() == traces.Status_STATUS_CODE_ERROR,
		Message: s.GetStatus().GetMessage(),
	}
	for _, e := range s.GetEvents() {
		out.Events = append(out.Events, Event{e.GetName(), values(e.GetAttributes())})
	}
	for _, l := range s.GetLinks() {
		out.Links = append(out.Links, hex.EncodeToString(l.GetTraceId())+"-"+hex.EncodeToString(l.GetSpanId()))
	}
	return out
}

func values(attributes []*common.KeyValue) map[string]any {
	all := map[string]any{}
	for _, a := range attributes {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[a.GetKey()] = v.StringValue
		case *common.AnyValue_BoolValue:
			all[a.GetKey()] = v.BoolValue
		case *common.AnyValue_IntValue:
			all[a.GetKey()] = v.IntValue
		case *common.AnyValue_DoubleValue:
			all[a.GetKey()] = v.DoubleValue
		default:
			all[a.GetKey()] = fmt.Sprintf("%v", v)
		}
	}
	return all
}

// Spans returns what came, in the order of their beginnings.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.spans)
	slices.SortStableFunc(all, func(a, b Span) int { return a.Start.Compare(b.Start) })
	return all
}

// Resource returns the attributes of the process; Paths and Headers are those of the requests, Faults what could not be
// read.
func (c *Collector) Resource() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resource
}

// Requests returns the methods and paths of the requests, and their headers.
func (c *Collector) Requests() ([]string, []http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.paths), slices.Clone(c.headers)
}

// Faults returns what could not be read.
func (c *Collector) Faults() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.faults)
}

// Find returns the spans whose names begin with a text.
func (c *Collector) Find(name string) []Span {
	return slices.DeleteFunc(c.Spans(), func(s Span) bool { return !strings.HasPrefix(s.Name, name) })
}

// Tree writes the spans, each below its parent, with those attributes that are named. Spans without a parent come in
// the order of their beginnings.
func (c *Collector) Tree(attributes ...string) string {
	all := c.Spans()
	known := map[string]bool{}
	for _, s := range all {
		known[s.TraceID+s.ID] = true
	}
	var b strings.Builder
	var write func(s Span, indent string)
	write = func(s Span, indent string) {
		b.WriteString(indent + s.Name + described(s.Attributes, attributes))
		if s.Failed {
			b.WriteString(" FAILED")
		}
		b.WriteString("\n")
		for _, e := range s.Events {
			b.WriteString(indent + "  * " + e.Name + described(e.Attributes, attributes) + "\n")
		}
		for _, child := range all {
			if child.TraceID == s.TraceID && child.Parent == s.ID {
				write(child, indent+"  ")
			}
		}
	}
	for _, s := range all {
		switch {
		case s.Parent == "":
			write(s, "")
		case !known[s.TraceID+s.Parent]:
			write(s, "(elsewhere) ")
		}
	}
	return b.String()
}

func described(all map[string]any, names []string) string {
	var b strings.Builder
	for _, name := range names {
		if v, ok := all[name]; ok {
			fmt.Fprintf(&b, " %s=%v", name, v)
		}
	}
	return b.String()
}
