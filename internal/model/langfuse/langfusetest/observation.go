package langfusetest

import (
	"maps"
	"slices"
	"strings"
)

// latest returns spans of a condition, the latest first.
func (s *Server) latest(wanted func(Span) bool) []Span {
	var found []Span
	for _, span := range s.spans {
		if wanted(span) {
			found = append(found, span)
		}
	}
	slices.SortStableFunc(found, func(a, b Span) int { return b.Start.Compare(a.Start) })
	return found
}

func (s *Server) listObservations(in input) (int, any) {
	var all []object
	for _, span := range s.latest(func(span Span) bool {
		return (in.param("sessionId") == "" || span.session() == in.param("sessionId")) &&
			(in.param("traceId") == "" || span.TraceID == in.param("traceId")) &&
			(in.param("isRootObservation") != "true" || span.ParentID == "")
	}) {
		all = append(all, event(span, strings.Split(in.param("fields"), ",")))
	}
	return onward(in, all)
}

// event is a span as version 4 answers it: only the groups of fields that were asked for, input and output as text.
func event(s Span, groups []string) object {
	o := object{
		"id": s.ID, "traceId": s.TraceID, "startTime": stamp(s.Start), "endTime": stamp(s.End), "projectId": "project",
		"parentObservationId": orNil(s.ParentID), "type": s.kind(),
		"modelId": nil, "inputPrice": nil, "outputPrice": nil, "totalPrice": nil, // these are there unasked
	}
	tags, _ := s.Attributes["langfuse.trace.tags"].([]string)
	for group, fields := range map[string]object{
		"basic": {
			"name": s.Name, "level": level(s), "sessionId": orNil(s.session()),
			"userId": orNil(s.text("langfuse.user.id")), "isRootObservation": s.ParentID == "",
			"environment": environment(s),
		},
		"io": {
			"input":  orNil(s.text("langfuse.observation.input")),
			"output": orNil(s.text("langfuse.observation.output")),
		},
		"metadata":      {"metadata": object{}},
		"model":         {"providedModelName": orNil(s.text("langfuse.observation.model.name"))},
		"trace_context": {"traceName": orNil(s.text("langfuse.trace.name")), "tags": append([]string{}, tags...)},
	} {
		if slices.Contains(groups, group) {
			maps.Copy(o, fields)
		}
	}
	return o
}
