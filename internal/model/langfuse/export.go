package langfuse

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// maxBatch bounds the bytes of spans in a request with several traces: Langfuse's cloud accepts 5 MB.
const maxBatch = 3 << 20

// Export sends traces to the OpenTelemetry endpoint (OTLP over HTTP, in JSON), many in one request. A trace with a known ID replaces the
// earlier one. Unless all are accepted, the error is a *PushError with the outcome of each trace by ID. Traces that Langfuse could not
// accept are not sent. Langfuse shows a trace shortly after accepting it.
func (c *Client) Export(ctx context.Context, traces []Trace) error {
	seen := map[string]bool{}
	var list []parcel
	var open *batch
	for _, t := range traces {
		spans, err := c.spans(t)
		if seen[t.ID] && err == nil {
			err = errTwice
		}
		seen[t.ID] = true
		switch {
		case err != nil:
			list = append(list, parcel{[]string{t.ID}, func() error { return err }})
			open = nil // keeps the order
		case open != nil && len(open.spans)+len(spans) < maxBatch:
			open.spans = append(append(open.spans, ','), spans...)
			list[len(list)-1].ids = append(list[len(list)-1].ids, t.ID)
		default:
			b := &batch{spans}
			open = b
			list = append(list, parcel{[]string{t.ID}, func() error { return c.export(ctx, b) }})
		}
	}
	return push("traces", list)
}

// batch is the content of one request.
type batch struct {
	// spans are JSON, with commas between.
	spans []byte
}

var spansTaken = http.Header{"X-Langfuse-Ingestion-Version": {"4"}} // without, Langfuse 4 shows them ten minutes later

func (c *Client) export(ctx context.Context, b *batch) error {
	resource := attributes{}
	resource.text("service.name", "rehearse")
	resource.text("langfuse.environment", c.environment)
	head, err := json.Marshal(resource.list)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	body.WriteString(`{"resourceSpans":[{"resource":{"attributes":`)
	body.Write(head)
	body.WriteString(`},"scopeSpans":[{"scope":{"name":"rehearse"},"spans":[`)
	body.Write(b.spans)
	body.WriteString(`]}]}]}`)
	r := request{
		what: "send traces", method: http.MethodPost, path: []string{"otel", "v1", "traces"}, retry: true,
		header: spansTaken, body: body.Bytes(),
	}
	var taken partial
	if err := c.do(ctx, r, &taken); err != nil {
		return err
	}
	if n := string(taken.PartialSuccess.RejectedSpans); n != "" && n != "0" && n != `"0"` && n != "null" {
		return c.malformed(r, "some spans were refused: "+clip(orNothing(c.secrets.scrub(taken.PartialSuccess.ErrorMessage)), maxMessage))
	}
	return nil
}

// partial is an ExportTraceServiceResponse.
type partial struct {
	PartialSuccess struct {
		RejectedSpans json.RawMessage `json:"rejectedSpans"` // a number, or one in quotation marks
		ErrorMessage  string          `json:"errorMessage"`
	} `json:"partialSuccess"`
}

func (partial) lacks() string { return "" }

// otlpSpan is a span as OTLP writes it in JSON.
type otlpSpan struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	ParentID   string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
	Status     *otlpStatus `json:"status,omitempty"`
}

type otlpStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// spans writes the spans of a trace, with commas between.
func (c *Client) spans(t Trace) ([]byte, error) {
	what := "send the trace " + quote(t.ID)
	root, err := t.root()
	if err != nil {
		return nil, c.invalid(what, "%s", err)
	}
	var all [][]byte
	for _, s := range t.Spans {
		var a attributes
		a.shared(t, root)
		a.own(s)
		if s.ID == root.ID {
			a.ofRoot(t, root)
		}
		if a.err != nil {
			return nil, c.invalid(what, "%s", a.err)
		}
		const internal, failed = 1, 2
		span := otlpSpan{t.ID, s.ID, s.ParentID, s.Name, internal, nanos(s.Start), nanos(s.End), a.list, nil}
		if s.Failure != "" {
			span.Status = &otlpStatus{failed, s.Failure}
		}
		data, err := c.encode(what, span)
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return bytes.Join(all, []byte{','}), nil
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
