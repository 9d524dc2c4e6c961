package langfuse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/telemetry"
)

// maxBatch bounds the bytes of spans in a request with several traces: Langfuse's cloud accepts 5 MB.
const maxBatch = 3 << 20

// Export sends traces to the OpenTelemetry endpoint (OTLP over HTTP, as protobuf), many in one request. A trace with a
// known ID replaces the earlier one. Unless all are accepted, the error is a *PushError with the outcome of each trace
// by ID. If Langfuse refuses some spans of a request, it does not name them, and all traces of the request failed.
// Traces that Langfuse could not accept are not sent. Langfuse shows a trace shortly after accepting it.
func (c *Client) Export(ctx context.Context, traces []Trace) error {
	of := c.resource()
	seen := map[string]bool{}
	var list []parcel
	var open *batch
	for _, t := range traces {
		spans, size, err := c.spans(t, of)
		if seen[t.ID] && err == nil {
			err = errTwice
		}
		seen[t.ID] = true
		switch {
		case err != nil:
			list = append(list, parcel{[]string{t.ID}, func() error { return err }})
			open = nil // keeps the order
		case open != nil && open.size+size < maxBatch:
			open.spans, open.size = append(open.spans, spans...), open.size+size
			list[len(list)-1].ids = append(list[len(list)-1].ids, t.ID)
		default:
			b := &batch{spans, size}
			open = b
			list = append(list, parcel{[]string{t.ID}, func() error { return c.export(ctx, b.spans.Snapshots()) }})
		}
	}
	return push("traces", list)
}

// batch is the content of one request.
type batch struct {
	spans tracetest.SpanStubs
	// size is at least the number of bytes that they have as protobuf.
	size int
}

// export sends spans that OpenTelemetry's exporter encodes. do sends the request: attempts, bounds and errors are those
// of every request.
func (c *Client) export(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	r := request{what: "send traces", method: http.MethodPost, path: []string{"otel", "v1", "traces"}, retry: true}
	send := func(encoded *http.Request) (*http.Response, error) {
		var err error
		if r.body, err = io.ReadAll(encoded.Body); err != nil {
			return nil, err
		}
		r.header = encoded.Header
		var d delivery
		if err := c.do(encoded.Context(), r, &d); err != nil {
			return nil, err
		}
		if n := d.GetRejectedSpans(); n != 0 {
			return nil, c.malformed(r, fmt.Sprintf("%d of %d spans were refused: %s", n, len(spans),
				clip(orNothing(c.secrets.scrub(d.GetErrorMessage())), maxMessage)))
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	}
	exporter, err := telemetry.NewExporter(c.base+"/api/public/otel/v1/traces", httpclient.Client(roundTripper(send)),
		otlptracehttp.WithHeaders(map[string]string{
			"X-Langfuse-Ingestion-Version": "4", // without, Langfuse 4 shows them ten minutes later
		}),
		otlptracehttp.WithCompression(otlptracehttp.NoCompression), otlptracehttp.WithMaxRequestSize(0),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}))
	if err == nil {
		err = exporter.ExportSpans(ctx, spans)
	}
	failed, ok := errors.AsType[*url.Error](err)
	switch {
	case ok: // the error of send, which the HTTP client wraps
		return failed.Err
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%s: %s: %w", c.where, r.what, ctx.Err())
	case err != nil:
		return c.invalid(r.what, "%s", clip(c.secrets.scrub(err.Error()), maxMessage))
	}
	return nil
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// delivery is the answer to spans: how many were refused, and why; nil for none. Langfuse answers JSON, other receivers
// of OTLP protobuf.
type delivery struct {
	*collector.ExportTracePartialSuccess
}

// UnmarshalBinary reads an ExportTraceServiceResponse.
func (d *delivery) UnmarshalBinary(data []byte) error {
	var answer collector.ExportTraceServiceResponse
	err := proto.Unmarshal(data, &answer)
	d.ExportTracePartialSuccess = answer.GetPartialSuccess()
	return err
}

// UnmarshalJSON reads an ExportTraceServiceResponse, or what early versions of Langfuse 3 answer with status 200, too:
// the errors of what they made of the spans.
func (d *delivery) UnmarshalJSON(data []byte) error {
	var answer collector.ExportTraceServiceResponse
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, &answer); err != nil {
		return err
	}
	var early struct {
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(data, &early); err != nil {
		return err
	}
	d.ExportTracePartialSuccess = answer.GetPartialSuccess()
	if n := len(early.Errors); n > 0 {
		d.ExportTracePartialSuccess = &collector.ExportTracePartialSuccess{
			RejectedSpans: int64(n), ErrorMessage: early.Errors[0].Message,
		}
	}
	return nil
}

func (*delivery) lacks() string { return "" }

func (c *Client) resource() *resource.Resource {
	of := []attribute.KeyValue{attribute.String("service.name", "rehearse")}
	if c.environment != "" {
		of = append(of, attribute.String("langfuse.environment", c.environment))
	}
	return resource.NewSchemaless(of...)
}

// spans returns the spans of a trace, and at least the number of bytes that they have as protobuf. They are snapshots:
// a tracer would make ids itself, sample, and cut by the variables of OpenTelemetry.
func (c *Client) spans(t Trace, of *resource.Resource) (all tracetest.SpanStubs, size int, err error) {
	what := "send the trace " + quote(t.ID)
	root, err := t.root()
	if err != nil {
		return nil, 0, c.invalid(what, "%s", err)
	}
	id, _ := trace.TraceIDFromHex(t.ID) // root checks the ids
	for _, s := range t.Spans {
		var a attributes
		a.shared(t, root)
		a.own(s)
		if s.ID == root.ID {
			a.ofRoot(t, root)
		}
		if a.err != nil {
			return nil, 0, c.invalid(what, "%s", a.err)
		}
		own, _ := trace.SpanIDFromHex(s.ID)
		parent, _ := trace.SpanIDFromHex(s.ParentID)
		in := trace.SpanContextConfig{TraceID: id, SpanID: own, TraceFlags: trace.FlagsSampled}
		span := tracetest.SpanStub{
			Name: valid(s.Name), SpanKind: trace.SpanKindInternal,
			StartTime: s.Start, EndTime: s.End, Attributes: a.list,
			SpanContext: trace.NewSpanContext(in), Parent: trace.NewSpanContext(in).WithSpanID(parent),
			Resource: of, InstrumentationScope: instrumentation.Scope{Name: "rehearse"},
		}
		if s.Failure != "" {
			span.Status = sdk.Status{Code: codes.Error, Description: valid(s.Failure)}
		}
		all = append(all, span)
		const fixed = 128 // ids, times, kind, flags and lengths
		size += a.size + len(span.Name) + len(span.Status.Description) + fixed
	}
	return all, size, nil
}
