package trace

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tracer says what becomes of the spans of a process. It is not changed once a context has it.
type Tracer struct {
	// Record takes a span that has ended, which nobody changes any more. It must return quickly and be safe for concurrent use.
	Record func(s *Span)
	// Sample decides whether the spans of a trace are kept. parent is the span of another process that called this one; nil without one.
	Sample func(id [16]byte, parent *IDs) bool
	// Mask takes secrets out of everything that a span holds, unless the context has a Mask of its own.
	Mask func(text string) string
	// Text is true where spans may hold what was said.
	Text bool
}

// Attribute is a key with a string, a bool, an int or a float64.
type Attribute struct {
	Key   string
	Value any
	said  bool
}

// A makes an attribute.
func A(key string, value any) Attribute { return Attribute{Key: key, Value: value} }

// Text makes an attribute of what was said, or may repeat it. Only a span whose Text is true gets one.
func Text(key, text string) Attribute { return Attribute{key, text, true} }

// Event is something that happened in a span.
type Event struct {
	Name       string
	At         time.Time
	Attributes []Attribute
}

// Kind says who asked whom, with the numbers of OTLP.
type Kind int

// The kinds of spans.
const (
	Internal Kind = 1
	Server   Kind = 2
	Client   Kind = 3
)

// Bounds of what a span holds. What is beyond them is cut off.
const (
	maxEvents    = 1000
	maxText      = 32 << 10
	maxShortText = 1 << 10
)

// Span is a piece of work with its beginning and end. A nil Span takes everything and keeps nothing. It is safe for concurrent use until it has
// ended; then it does not change.
type Span struct {
	IDs        IDs
	Parent     [8]byte // zero for a root
	Name       string
	Kind       Kind
	Start, End time.Time
	Attributes []Attribute
	Events     []Event
	// Links are spans of other traces that led to this one.
	Links []IDs
	// Failed is true of work that did not succeed, for the reason in Message.
	Failed  bool
	Message string

	mu     sync.Mutex
	tracer *Tracer
	// mask and private are those of the context.
	mask, private func(string) string
}

// Start begins a span below that of ctx. Its caller ends it with Finish. It is nil where nothing is kept.
func Start(ctx context.Context, name string, attributes ...Attribute) (context.Context, *Span) {
	p := at(ctx)
	parent := p.ids
	p.ids.Span = newSpan()
	switch {
	case !parent.valid():
		p.ids = IDs{Trace: newTrace(), Span: p.ids.Span, Sampled: true}
		fallthrough
	case parent.Span == [8]byte{}:
		p.ids.Sampled = p.tracer == nil || p.tracer.Sample(p.ids.Trace, nil)
	case p.remote && p.tracer != nil:
		p.ids.Sampled = p.tracer.Sample(p.ids.Trace, &parent)
	}
	return p.begin(ctx, parent.Span, nil, name, attributes)
}

// Root begins the span of a conversation, in the trace of that conversation. The span of ctx is linked to it.
func Root(ctx context.Context, conversationID, name string, attributes ...Attribute) (context.Context, *Span) {
	p := at(ctx)
	var links []IDs
	if p.ids.valid() && p.ids.Span != [8]byte{} {
		links = []IDs{p.ids}
	}
	p.ids = IDs{Trace: idOf(conversationID), Span: newSpan(), Sampled: true}
	if p.tracer != nil {
		p.ids.Sampled = p.tracer.Sample(p.ids.Trace, nil)
	}
	return p.begin(ctx, [8]byte{}, links, name, attributes)
}

func (p place) begin(ctx context.Context, parent [8]byte, links []IDs, name string, attributes []Attribute) (context.Context, *Span) {
	p.remote = false
	if p.tracer == nil || !p.ids.Sampled {
		return p.in(ctx), nil
	}
	return p.in(ctx), &Span{
		IDs: p.ids, Parent: parent, Name: name, Kind: Internal, Start: time.Now(), Links: links, tracer: p.tracer, mask: p.mask, private: p.private,
		Attributes: slices.Concat(p.shared, attributes),
	}
}

// Called adds the span of a tool that was called and has answered. How long most of them took is not known, which is 0 milliseconds: what was called at
// an agent is known when it replies.
func Called(ctx context.Context, name string, milliseconds float64, args, result []byte) {
	_, span := Start(ctx, ExecuteTool+" "+name, A(Operation, ExecuteTool), A(ToolName, name))
	if span == nil {
		return
	}
	if milliseconds > 0 && milliseconds < 24*60*60*1000 {
		span.Start = span.Start.Add(-time.Duration(milliseconds * float64(time.Millisecond)))
	}
	if span.Text() {
		span.Set(Text(ToolArguments, string(args)), Text(ToolResult, string(result)))
	}
	span.Finish()
}

// Set adds attributes; one that the span has is replaced.
func (s *Span) Set(attributes ...Attribute) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.End.IsZero() {
		return
	}
	for _, a := range attributes {
		if i := slices.IndexFunc(s.Attributes, func(b Attribute) bool { return a.Key == b.Key }); i >= 0 {
			s.Attributes[i] = a
			continue
		}
		s.Attributes = append(s.Attributes, a)
	}
}

// As says which kind of span it is.
func (s *Span) As(k Kind) *Span {
	if s != nil {
		s.Kind = k
	}
	return s
}

// Rename gives the span another name.
func (s *Span) Rename(name string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.End.IsZero() {
		s.Name = name
	}
}

// Event adds something that happened.
func (s *Span) Event(name string, attributes ...Attribute) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.End.IsZero() && len(s.Events) < maxEvents {
		s.Events = append(s.Events, Event{name, time.Now(), attributes})
	}
}

// Fail says that the work did not succeed. The reason may be empty; it is kept where spans may hold what was said, because errors repeat that.
func (s *Span) Fail(reason string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.End.IsZero() {
		s.Failed, s.Message = true, ""
		if s.tracer.Text {
			s.Message = reason
		}
	}
}

// Text reports whether the span may hold what was said.
func (s *Span) Text() bool { return s != nil && s.tracer.Text }

// Finish ends the span and gives it to the tracer. It is ended once; later calls do nothing.
func (s *Span) Finish() {
	if s == nil {
		return
	}
	s.mu.Lock()
	if !s.End.IsZero() {
		s.mu.Unlock()
		return
	}
	s.End = time.Now()
	if s.mask == nil {
		s.mask = s.tracer.Mask
	}
	if s.private == nil {
		s.private = s.mask
	}
	s.Name, s.Message = clean(s.Name, s.mask, maxShortText), clean(s.Message, s.private, maxShortText)
	s.cleanAll(s.Attributes)
	for _, e := range s.Events {
		s.cleanAll(e.Attributes)
	}
	s.mu.Unlock()
	s.tracer.Record(s)
}

func (s *Span) cleanAll(attributes []Attribute) {
	for i, a := range attributes {
		text, ok := a.Value.(string)
		switch {
		case !ok:
		case a.said:
			attributes[i].Value = clean(text, s.private, maxText)
		default:
			attributes[i].Value = clean(text, s.mask, maxShortText)
		}
	}
}

// clean returns a masked text as valid UTF-8 of at most so many bytes. It is masked first: a secret that is cut in two is not found.
func clean(text string, mask func(string) string, most int) string {
	if mask != nil {
		text = mask(text)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}
