package langfuse

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// attribute is an OpenTelemetry attribute in OTLP's JSON.
type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

// attributes collects the attributes of a span. Empty values are left out.
type attributes struct {
	list []attribute
	err  error
}

func (a *attributes) text(key, value string) {
	if value != "" {
		a.list = append(a.list, attribute{key, map[string]any{"stringValue": value}})
	}
}

// texts adds a map under a prefix, in the order of its keys.
func (a *attributes) texts(prefix string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		a.text(prefix+key, values[key])
	}
}

func (a *attributes) strings(key string, values []string) {
	list := []map[string]any{}
	for _, v := range values {
		list = append(list, map[string]any{"stringValue": v})
	}
	if len(list) > 0 {
		a.list = append(a.list, attribute{key, map[string]any{"arrayValue": map[string]any{"values": list}}})
	}
}

// raw adds JSON. It adds the content of a JSON text, like Langfuse's SDKs.
func (a *attributes) raw(key string, value json.RawMessage) {
	switch {
	case len(value) == 0 || string(value) == "null":
	case !json.Valid(value):
		a.fail("%s is not JSON", key)
	default:
		a.text(key, plain(value))
	}
}

// object adds a map as a JSON text.
func (a *attributes) object(key string, value any, size int) {
	if size == 0 {
		return
	}
	data, err := json.Marshal(value)
	if err != nil {
		a.fail("%s cannot be written as JSON", key)
		return
	}
	a.text(key, string(data))
}

// any adds a value of one of the attribute types.
func (a *attributes) any(key string, value any) {
	switch v := value.(type) {
	case string:
		a.text(key, v)
	case []string:
		a.strings(key, v)
	case bool:
		a.list = append(a.list, attribute{key, map[string]any{"boolValue": v}})
	case int:
		a.any(key, int64(v))
	case int64:
		a.list = append(a.list, attribute{key, map[string]any{"intValue": v}})
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			a.fail("the attribute %s is not a finite number", quote(key))
			return
		}
		a.list = append(a.list, attribute{key, map[string]any{"doubleValue": v}})
	default:
		a.fail("the attribute %s has the type %T, which no attribute can have", quote(key), value)
	}
}

func (a *attributes) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

// shared adds the attributes that Langfuse wants on every span of a trace (langfuse.com/integrations/native/opentelemetry).
func (a *attributes) shared(t Trace, root Span) {
	a.text("langfuse.trace.name", cmp.Or(t.Name, root.Name))
	a.text("langfuse.session.id", t.SessionID)
	a.text("langfuse.user.id", t.UserID)
	a.text("langfuse.version", t.Version)
	a.strings("langfuse.trace.tags", t.Tags)
	a.texts("langfuse.trace.metadata.", t.Metadata)
	if e := t.Experiment; e != nil {
		a.text("langfuse.experiment.id", e.ID)
		a.text("langfuse.experiment.name", e.Name)
		a.text("langfuse.experiment.description", e.Description)
		a.texts("langfuse.experiment.metadata.", e.Metadata)
		a.text("langfuse.experiment.dataset.id", e.DatasetID)
		a.text("langfuse.experiment.item.id", e.ItemID)
		a.text("langfuse.experiment.item.root_observation_id", root.ID)
	}
}

// own adds the attributes of one span.
func (a *attributes) own(s Span) {
	a.text("langfuse.observation.type", string(s.Kind))
	a.raw("langfuse.observation.input", s.Input)
	a.raw("langfuse.observation.output", s.Output)
	a.texts("langfuse.observation.metadata.", s.Metadata)
	if s.Failure != "" {
		a.text("langfuse.observation.level", "ERROR")
		a.text("langfuse.observation.status_message", s.Failure)
	}
	a.text("langfuse.observation.model.name", s.Model)
	a.object("langfuse.observation.model.parameters", s.Parameters, len(s.Parameters))
	a.object("langfuse.observation.usage_details", s.Usage, len(s.Usage))
	a.object("langfuse.observation.cost_details", s.Cost, len(s.Cost))
	for _, key := range slices.Sorted(maps.Keys(s.Attributes)) {
		a.any(key, s.Attributes[key])
	}
}

// ofRoot adds the attributes of the root: the trace's input and output, which Langfuse 3 reads, and the expected output.
func (a *attributes) ofRoot(t Trace, root Span) {
	a.raw("langfuse.trace.input", root.Input)
	a.raw("langfuse.trace.output", root.Output)
	if t.Experiment != nil {
		a.raw("langfuse.experiment.item.expected_output", t.Experiment.ExpectedOutput)
	}
}
