package langfusetest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Span is a span that was sent.
type Span struct {
	TraceID, ID, ParentID, Name string
	Start, End                  time.Time
	// Failed is that its status is an error.
	Failed bool
	// Attributes are texts, numbers, bools and lists of texts.
	Attributes map[string]any
}

// Spans returns the spans in the order in which they came; one that came again stands where it came first.
func (s *Server) Spans() []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.spans)
}

// AddTrace adds a trace of one span, as an application would have logged it. Input and output are texts, or JSON as
// text.
func (s *Server) AddTrace(session, id, name, in, out string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, Span{
		TraceID: id, ID: (id + strings.Repeat("0", 16))[:16], Name: name, Start: at, End: at.Add(time.Second),
		Attributes: map[string]any{
			"langfuse.session.id": session, "langfuse.observation.input": in, "langfuse.observation.output": out,
			"langfuse.observation.type": "generation",
		},
	})
}

// deleteTraces forgets the traces with the ids of the body.
func (s *Server) deleteTraces(in input) (int, any) {
	ids, ok := in.body["traceIds"].([]any)
	if !ok || len(in.body) != 1 {
		return http.StatusBadRequest, object{"message": "Invalid request data", "error": "traceIds is required"}
	}
	s.spans = slices.DeleteFunc(s.spans, func(one Span) bool { return slices.Contains(ids, any(one.TraceID)) })
	return http.StatusOK, object{"message": "Traces deleted successfully"}
}

var hexDigits = text.Regexp(`^[0-9a-f]+$`)

func (s *Server) takeSpans(in input) (int, any) {
	if in.header.Get("X-Langfuse-Ingestion-Version") != "4" {
		s.t.Errorf("spans came without the header X-Langfuse-Ingestion-Version: 4; " +
			"Langfuse 4 would show them ten minutes later")
	}
	for _, resource := range list(in.body["resourceSpans"]) {
		shared := attributes(child(resource, "resource"))
		for _, scope := range list(resource["scopeSpans"]) {
			for _, o := range list(scope["spans"]) {
				s.take(o, shared)
			}
		}
	}
	return http.StatusOK, object{}
}

func (s *Server) take(o, shared object) {
	text := func(key string) string { value, _ := o[key].(string); return value }
	span := Span{
		TraceID: text("traceId"), ID: text("spanId"), ParentID: text("parentSpanId"), Name: text("name"),
		Attributes: attributes(o),
	}
	if len(span.TraceID) != 32 || len(span.ID) != 16 || !hexDigits().MatchString(span.TraceID+span.ID+span.ParentID) ||
		span.Name == "" {
		s.t.Errorf("the span %v has a wrong id, or no name", o)
	}
	span.Start, span.End = s.nanos(text("startTimeUnixNano")), s.nanos(text("endTimeUnixNano"))
	span.Failed = child(o, "status")["code"] == float64(2)
	for key, value := range shared {
		if _, own := span.Attributes[key]; !own {
			span.Attributes[key] = value
		}
	}
	for i, old := range s.spans {
		if old.TraceID == span.TraceID && old.ID == span.ID {
			s.spans[i] = span
			return
		}
	}
	s.spans = append(s.spans, span)
}

func (s *Server) nanos(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Errorf("%q is no time in nanoseconds", text)
	}
	return time.Unix(0, n).UTC()
}

// attributes reads the attributes of a span or resource.
func attributes(o object) object {
	all := object{}
	for _, a := range list(o["attributes"]) {
		key, _ := a["key"].(string)
		for kind, value := range child(a, "value") {
			if kind == "arrayValue" {
				texts := []string{}
				for _, element := range list(child(child(a, "value"), kind)["values"]) {
					text, _ := element["stringValue"].(string)
					texts = append(texts, text)
				}
				value = texts
			}
			all[key] = value
		}
	}
	return all
}

func child(o object, key string) object { inner, _ := o[key].(object); return inner }

func list(value any) []object {
	var all []object
	elements, _ := value.([]any)
	for _, e := range elements {
		if o, ok := e.(object); ok {
			all = append(all, o)
		}
	}
	return all
}

// text returns the first attribute of a span that is there.
func (s Span) text(keys ...string) string {
	for _, key := range keys {
		if text, ok := s.Attributes[key].(string); ok {
			return text
		}
	}
	return ""
}

func (s Span) session() string { return s.text("langfuse.session.id", "session.id") }

func (s Span) kind() string {
	return strings.ToUpper(cmp.Or(s.text("langfuse.observation.type"), "span"))
}
