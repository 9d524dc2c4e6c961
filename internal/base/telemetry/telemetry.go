// Package telemetry sends the spans of a process to a collector, by the standard variables of OpenTelemetry: OTLP over HTTP, as protobuf.
package telemetry

import (
	"cmp"
	"context"
	"net/url"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
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
	// beside also gets every span; nil for none. It is closed by whoever opened it.
	beside *Traces
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

// TextEnv is the variable that lets spans hold what was said.
const TextEnv = "REHEARSE_TRACE_TEXT"

// OpenTraces reads the environment; nil where it names no collector. It asks nobody.
func OpenTraces(o Options) *Traces {
	e := environment{o.LookupEnv, once(o.warn)}
	if to := e.place(); to != nil {
		return o.open(e, *to, nil)
	}
	return nil
}

// OpenWith returns traces that go to a place of their own, and to those of beside, which may be nil. It is nil where the environment switches traces off.
func OpenWith(o Options, p Resource, beside *Traces) *Traces {
	e := environment{o.LookupEnv, func(string) {}} // what is wrong there was told
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
	resource := []trace.Attribute{trace.A("service.name", cmp.Or(service, "rehearse")), trace.A("service.version", o.Version)}
	for name, value := range to.Resource {
		resource = append(resource, trace.A(name, value))
	}
	t := &Traces{sender: newSender(to, httpclient.Client(httpclient.Transport()), resource, o.Version, o.warn), beside: beside}
	t.sending, t.stop = context.WithCancel(context.Background())
	text, _ := e.get(TextEnv)
	t.tracer = &trace.Tracer{Record: t.record, Sample: e.sampler(), Mask: o.Mask, Text: text == "1"}
	return t
}

func (t *Traces) record(s *trace.Span) {
	span := encodeSpan(s)
	for ; t != nil; t = t.beside {
		t.sender.add(t.sending, span)
	}
}

// Tracer returns what spans are made with; nil for a nil Traces.
func (t *Traces) Tracer() *trace.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
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
