package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

const (
	// most spans wait to be sent, mostText where they have message text and are longer. More are dropped.
	most     = 32 << 10
	mostText = 8 << 10
	// every is how long spans wait for a full request.
	every = 2 * time.Second
	// sendTime bounds one request, and the time in which it is sent again. While the process ends, lastTime
	// bounds the wait for one answer, and ending the wait for all of them.
	sendTime = 10 * time.Second
	lastTime = 3 * time.Second
	ending   = 20 * time.Second
	// maxAnswer is how many bytes of an answer are read.
	maxAnswer = 64 << 10
)

// sender sends the spans that end to one collector, in the background.
type sender struct {
	sdk.SpanProcessor // the batches before exporter
	place             Resource
	resource          *resource.Resource
	exporter          sdk.SpanExporter
	answers           *answers
	// warn gets the first failure, and the next one after a success.
	warn func(string)
	// sending ends with stop, and all requests with it.
	sending context.Context
	stop    context.CancelFunc
	// ended and sent count spans. Those in between are waiting or lost.
	ended, sent atomic.Int64

	mu sync.Mutex
	// failing is true from a failure to the next success.
	failing bool
	// patience calls stop; nil until the process ends.
	patience *time.Timer
}

// newSender returns a sender. Close it.
func newSender(p Resource, of *resource.Resource, version string, withText bool, warn func(string)) (*sender, error) {
	s := &sender{
		place: p, resource: of, warn: warn,
		answers: &answers{Transport: httpclient.Transport(), to: p.URL, agent: "rehearse/" + version},
	}
	client := httpclient.Client(s.answers)
	client.Timeout = sendTime
	headers := map[string]string{}
	for _, h := range p.Headers {
		headers[h[0]] = h[1]
	}
	var err error
	s.exporter, err = NewExporter(p.URL.String(), client, otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: 500 * time.Millisecond, MaxInterval: 5 * time.Second,
			MaxElapsedTime: sendTime,
		}))
	if err != nil {
		return nil, err
	}
	queue := most
	if withText {
		queue = mostText
	}
	s.sending, s.stop = context.WithCancel(context.Background())
	s.SpanProcessor = sdk.NewBatchSpanProcessor(exporter(s.export), sdk.WithMaxQueueSize(queue),
		sdk.WithBatchTimeout(every))
	return s, nil
}

// NewExporter returns an exporter that sends spans as protobuf to an address. It reads the standard variables on its
// own; the address and the client count instead of them. Headers, compression and retries are among the options.
func NewExporter(address string, client *http.Client, options ...otlptracehttp.Option) (sdk.SpanExporter, error) {
	quiet()
	return otlptracehttp.New(context.Background(), append([]otlptracehttp.Option{
		otlptracehttp.WithHTTPClient(client), otlptracehttp.WithEndpointURL(address),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf),
		otlptracehttp.WithTLSClientConfig(nil), // a certificate that the variables name would be an error
	}, options...)...)
}

// exporter is a function as a sdk.SpanExporter.
type exporter func(ctx context.Context, spans []sdk.ReadOnlySpan) error

// ExportSpans implements sdk.SpanExporter.
func (e exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	return e(ctx, spans)
}

// Shutdown implements sdk.SpanExporter.
func (exporter) Shutdown(context.Context) error { return nil }

// OnEnd implements sdk.SpanProcessor. It never waits for the network.
func (s *sender) OnEnd(span sdk.ReadOnlySpan) {
	s.ended.Add(1)
	s.SpanProcessor.OnEnd(located{span, s.resource})
}

// located is a span with the resource of its collector: the spans of visitors go to two, which may differ.
type located struct {
	sdk.ReadOnlySpan
	resource *resource.Resource
}

// Resource implements sdk.ReadOnlySpan.
func (l located) Resource() *resource.Resource { return l.resource }

// export sends spans. It reports failures itself, and returns none.
func (s *sender) export(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.sending, cancel)()
	reason := s.answers.reason(ctx, s.exporter.ExportSpans(ctx, spans))
	s.mu.Lock()
	reported := s.failing
	s.failing = reason != ""
	if !s.failing && s.patience != nil {
		s.patience.Reset(lastTime)
	}
	s.mu.Unlock()
	if s.answers.success {
		s.sent.Add(max(0, int64(len(spans))-s.answers.refused))
	}
	if reason != "" && !reported {
		s.warn(fmt.Sprintf("cannot send traces to %s: %s (results are not affected)", s.place.shown(), reason))
	}
	return nil
}

// close sends the spans that wait, and reports how many were lost. It gives up on a collector that does not answer.
func (s *sender) close() {
	s.mu.Lock()
	s.patience = time.AfterFunc(lastTime, s.stop)
	s.mu.Unlock()
	defer s.patience.Stop()
	defer time.AfterFunc(ending, s.stop).Stop()
	_ = s.Shutdown(context.Background())          // it ends with the requests, which end with stop
	_ = s.exporter.Shutdown(context.Background()) // no request is in flight
	s.stop()
	s.answers.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	if lost := s.ended.Load() - s.sent.Load(); lost > 0 && !s.failing {
		s.warn(text.Plural(int(lost), "span") + " not sent to " + s.place.shown())
	}
}

// answers sends requests to a collector and keeps what it answered last. Requests come one after the other.
type answers struct {
	*http.Transport
	to    *url.URL
	agent string
	// status is empty while there is no answer. success is true of a 2xx answer in the form of OTLP, and refused is the
	// number of spans that it rejects.
	status  string
	success bool
	refused int64
}

// RoundTrip sends a request with the user and the query of the address, which the exporter drops. The answer has no
// body, so that no error repeats what a collector writes.
func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.status, a.success, a.refused = "", false, 0
	r = r.Clone(r.Context())
	r.URL.RawQuery = a.to.RawQuery
	r.Header.Set("User-Agent", a.agent)
	if user := a.to.User; user != nil && r.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
	response, err := a.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body, response.ContentLength = http.NoBody, 0
	a.status, a.success = text.OneLine(response.Status, 100), response.StatusCode/100 == 2
	if !a.success {
		return response, nil
	}
	var answer collector.ExportTraceServiceResponse
	if bytes.HasPrefix(body, []byte("{")) { // some collectors answer JSON
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, &answer)
	} else {
		err = proto.Unmarshal(body, &answer)
	}
	if err != nil { // a login page, perhaps: the spans are unlikely to have arrived
		a.status, a.success = a.status+" with a body that is not OTLP", false
	}
	a.refused = max(0, answer.GetPartialSuccess().GetRejectedSpans())
	return response, nil
}

// reason returns why spans were rejected, given the error of the exporter; empty if they were accepted.
func (a *answers) reason(ctx context.Context, err error) string {
	failed, ok := errors.AsType[*url.Error](err)
	switch {
	case a.success && a.refused > 0:
		return "it refused " + text.Plural(int(a.refused), "span")
	case err == nil && (a.success || a.status == ""):
		return ""
	case a.status != "":
		return "it answers " + a.status
	case ctx.Err() != nil, ok && failed.Timeout():
		return "it does not answer"
	case ok:
		err = failed.Err // the whole repeats the address
	}
	return text.OneLine(err.Error(), 200)
}
