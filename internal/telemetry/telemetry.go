// Package telemetry sends the spans of a process to a collector, by the standard variables of OpenTelemetry: OTLP over HTTP, as protobuf.
package telemetry

import (
	"context"

	"rehearse/internal/outbound"
	"rehearse/internal/trace"
)

// Options say where spans go. LookupEnv is required.
type Options struct {
	LookupEnv func(name string) (string, bool)
	// Version is the program's.
	Version string
	// Mask takes secrets out of spans; nil changes nothing.
	Mask func(text string) string
	// Warn gets each problem once, in a sentence without secrets; nil discards it. It may be called by several goroutines.
	Warn func(text string)
}

// Traces is where the spans of a process go. A nil Traces keeps none. Close it.
type Traces struct {
	tracer *trace.Tracer
	sender *sender
	// sending is the context of all requests, which stop ends.
	sending context.Context
	stop    context.CancelFunc
}

// TextEnv is the variable that lets spans hold what was said.
const TextEnv = "REHEARSE_TRACE_TEXT"

// OpenTraces reads the environment; nil where it names no collector. It asks nobody.
func OpenTraces(o Options) *Traces {
	warn := once(o.warn)
	e := environment{o.LookupEnv, warn}
	to := e.place()
	if to == nil {
		return nil
	}
	service, _ := e.get("OTEL_SERVICE_NAME")
	if service == "" {
		service = "rehearse"
	}
	resource := []trace.Attribute{trace.A("service.name", service), trace.A("service.version", o.Version)}
	t := &Traces{sender: newSender(*to, outbound.Client(outbound.Transport()), resource, o.Version, o.warn)}
	t.sending, t.stop = context.WithCancel(context.Background())
	text, _ := e.get(TextEnv)
	t.tracer = &trace.Tracer{Record: t.record, Sample: e.sampler(), Mask: o.Mask, Text: text == "1"}
	return t
}

func (t *Traces) record(s *trace.Span) { t.sender.add(t.sending, encodeSpan(s)) }

// Into returns a context whose spans go here.
func (t *Traces) Into(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return trace.With(ctx, t.tracer)
}

// Close sends what was not sent yet. It takes a few seconds where the collector does not answer, and tells of what could not be sent.
func (t *Traces) Close() {
	if t != nil {
		t.sender.close(t.stop)
		t.stop()
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
