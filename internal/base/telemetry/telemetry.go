// Package telemetry sends the spans of a process to a collector, by the standard variables of OpenTelemetry: OTLP over
// HTTP, as protobuf.
package telemetry

import (
	"cmp"
	"net/url"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// Options are where spans are sent and how. LookupEnv is required.
type Options struct {
	LookupEnv func(name string) (string, bool)
	// Version is the program's.
	Version string
	// Mask takes secrets out of spans; nil changes nothing.
	Mask func(text string) string
	// Warn gets each problem once, in a sentence without secrets; nil discards it. It may be called by several
	// goroutines.
	Warn func(text string)
}

// Traces sends the spans of a process. A nil Traces sends none. Close it.
type Traces struct {
	tracer *trace.Tracer
	sender *sender
}

// Resource is a collector: where it takes OTLP over HTTP, and the headers of every request to it.
type Resource struct {
	URL     *url.URL
	Headers [][2]string
	// Resource are more attributes of the process.
	Resource map[string]string
}

// shown returns the address without what may be secret.
func (p Resource) shown() string { return p.URL.Scheme + "://" + p.URL.Host }

// TextEnv is the variable that allows message text in spans.
const TextEnv = "REHEARSE_TRACE_TEXT"

// OpenTraces reads the environment; nil where it names no collector. It sends no request.
func OpenTraces(o Options) *Traces {
	e := environment{o.LookupEnv, once(o.warn)}
	if to := e.place(); to != nil {
		return o.open(e, *to, nil)
	}
	return nil
}

// OpenWith returns traces that go to a collector of their own, and to that of beside, which may be nil and which its
// caller closes. It is nil where the environment switches traces off.
func OpenWith(o Options, p Resource, beside *Traces) *Traces {
	e := environment{o.LookupEnv, func(string) {}} // OpenTraces has reported what is wrong there
	switch {
	case e.disabled():
		return nil
	case beside != nil && beside.sender.place.URL.String() == p.URL.String():
		return beside
	}
	return o.open(e, p, beside)
}

func (o Options) open(e environment, to Resource, beside *Traces) *Traces {
	service, _ := e.get("OTEL_SERVICE_NAME")
	attributes := []attribute.KeyValue{
		attribute.String("service.name", cmp.Or(service, "rehearse")), attribute.String("service.version", o.Version),
	}
	for name, value := range to.Resource {
		attributes = append(attributes, attribute.String(name, value))
	}
	of := resource.NewSchemaless(attributes...)
	content, _ := e.get(TextEnv)
	s, err := newSender(to, of, o.Version, content == "1", o.warn)
	if err != nil {
		o.warn("cannot send traces to " + to.shown() + ": " + err.Error())
		return nil
	}
	limits := sdk.NewSpanLimits()
	limits.EventCountLimit = maxEvents
	options := []sdk.TracerProviderOption{
		sdk.WithResource(of), sdk.WithSampler(e.sampler()), sdk.WithRawSpanLimits(limits), sdk.WithSpanProcessor(s),
	}
	if beside != nil {
		options = append(options, sdk.WithSpanProcessor(beside.sender))
	}
	tracer := sdk.NewTracerProvider(options...).Tracer("rehearse", oteltrace.WithInstrumentationVersion(o.Version))
	return &Traces{&trace.Tracer{Tracer: tracer, Mask: o.Mask, Text: content == "1"}, s}
}

// maxEvents bounds the events of a span. A conversation has one for each assertion.
const maxEvents = 1000

// quiet keeps the OpenTelemetry library from writing to stderr. It reads the standard variables on its own and repeats
// invalid values, such as headers with keys; environment reports them without the values, and sender reports failures.
func quiet() {
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
}

// Tracer returns the tracer of the process; nil for a nil Traces.
func (t *Traces) Tracer() *trace.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

// Close sends the remaining spans and reports how many were lost. It gives up on a collector after a few seconds
// without an answer.
func (t *Traces) Close() {
	if t != nil {
		t.sender.close()
	}
}

func (o Options) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

// once returns warn, for each text once.
func once(warn func(string)) func(string) {
	told := map[string]bool{}
	return func(text string) {
		if !told[text] {
			told[text] = true
			warn(text)
		}
	}
}
