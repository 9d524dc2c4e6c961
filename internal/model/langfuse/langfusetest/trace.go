package langfusetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// traces returns the spans of a condition by their traces, each trace beginning with its root.
func (s *Server) traces(wanted func(Span) bool) [][]Span {
	var all [][]Span
	for _, span := range s.spans {
		i := slices.IndexFunc(all, func(t []Span) bool { return t[0].TraceID == span.TraceID })
		switch {
		case !wanted(span):
		case i < 0:
			all = append(all, []Span{span})
		case span.ParentID == "":
			all[i] = slices.Insert(all[i], 0, span)
		default:
			all[i] = append(all[i], span)
		}
	}
	return all
}

// value reads what an attribute holds: JSON, or else a text.
func value(text string) any {
	var v any
	switch {
	case text == "":
		return nil
	case json.Unmarshal([]byte(text), &v) == nil:
		return v
	}
	return text
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func environment(s Span) string {
	if name := s.text("langfuse.environment"); name != "" {
		return name
	}
	return "default"
}

// trace is a trace as version 3 answers it, without its spans.
func trace(spans []Span) object {
	root := spans[0]
	name := root.text("langfuse.trace.name")
	if name == "" {
		name = root.Name
	}
	tags, _ := root.Attributes["langfuse.trace.tags"].([]string)
	return object{
		"id": root.TraceID, "timestamp": stamp(root.Start), "name": name, "sessionId": orNil(root.session()),
		"input":  value(root.text("langfuse.trace.input", "langfuse.observation.input")),
		"output": value(root.text("langfuse.trace.output", "langfuse.observation.output")),
		"userId": orNil(root.text("langfuse.user.id")), "version": orNil(root.text("langfuse.version")), "release": nil,
		"metadata": object{}, "tags": append([]string{}, tags...), "public": false, "environment": environment(root),
	}
}

func (s *Server) getSession(in input) (int, any) {
	id := in.path("sessionId")
	found := s.traces(func(span Span) bool { return span.session() == id })
	if len(found) == 0 {
		return missing("Session")
	}
	traces := []object{}
	for _, spans := range slices.Backward(found) { // the newest first
		t := trace(spans)
		if s.lean {
			delete(t, "input")
			delete(t, "output")
		}
		traces = append(traces, t)
	}
	return http.StatusOK, object{
		"id": id, "createdAt": stamp(found[0][0].Start), "projectId": "project",
		"environment": environment(found[0][0]), "traces": traces,
	}
}

// listTraces lists the newest first, unless it is asked for the oldest.
func (s *Server) listTraces(in input) (int, any) {
	from, _ := time.Parse(time.RFC3339Nano, in.param("fromTimestamp"))
	to, _ := time.Parse(time.RFC3339Nano, in.param("toTimestamp"))
	found := s.traces(func(span Span) bool {
		return !span.Start.Before(from) && (to.IsZero() || span.Start.Before(to))
	})
	slices.SortStableFunc(found, func(a, b []Span) int {
		if in.param("orderBy") == "timestamp.asc" {
			return a[0].Start.Compare(b[0].Start)
		}
		return b[0].Start.Compare(a[0].Start)
	})
	all := make([]object, len(found))
	for i, spans := range found {
		all[i] = trace(spans)
		all[i]["observations"], all[i]["scores"], all[i]["htmlPath"] = []any{spans[0].ID}, []any{},
			"/project/project/traces/"+spans[0].TraceID
		all[i]["latency"], all[i]["totalCost"] = spans[0].End.Sub(spans[0].Start).Seconds(), 0
	}
	return paged(in, all)
}

func (s *Server) getTrace(in input) (int, any) {
	found := s.traces(func(span Span) bool { return span.TraceID == in.path("traceId") })
	if len(found) == 0 {
		return missing("Trace")
	}
	t := trace(found[0])
	observations := []object{}
	for _, span := range slices.Backward(found[0]) {
		observations = append(observations, observation(span))
	}
	t["observations"], t["scores"], t["htmlPath"] = observations, []any{},
		"/project/project/traces/"+found[0][0].TraceID
	return http.StatusOK, t
}

// observation is a span as version 3 answers it.
func observation(s Span) object {
	o := object{
		"id": s.ID, "traceId": s.TraceID, "type": s.kind(), "name": s.Name,
		"startTime": stamp(s.Start), "endTime": stamp(s.End), "parentObservationId": orNil(s.ParentID),
		"model": orNil(s.text("langfuse.observation.model.name")), "level": level(s),
		"input": value(s.text("langfuse.observation.input")), "output": value(s.text("langfuse.observation.output")),
		"statusMessage": orNil(s.text("langfuse.observation.status_message")), "environment": environment(s),
		"modelParameters": object{}, "metadata": object{}, "usageDetails": object{}, "costDetails": object{},
		"usage": object{
			"input": 0, "output": 0, "total": 0, "unit": "TOKENS", "inputCost": nil, "outputCost": nil,
			"totalCost": nil,
		},
	}
	for key := range strings.FieldsSeq(
		`completionStartTime version promptId promptName promptVersion modelId inputPrice outputPrice totalPrice
		calculatedInputCost calculatedOutputCost calculatedTotalCost latency timeToFirstToken`) {
		o[key] = nil
	}
	return o
}

func level(s Span) string {
	if s.Failed {
		return "ERROR"
	}
	return "DEFAULT"
}
