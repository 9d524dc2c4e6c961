package langfuse

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// attributes collects the attributes of a span. Empty values are left out.
type attributes struct {
	list []attribute.KeyValue
	// size is at least the number of bytes that they have as protobuf.
	size int
	err  error
}

// framing is at least the number of bytes that protobuf adds to an attribute, or to an element of one.
const framing = 32

func (a *attributes) add(value attribute.KeyValue, text int) {
	a.list = append(a.list, value)
	a.size += len(value.Key) + text + framing
}

// valid returns a text as protobuf requires it: in UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func (a *attributes) text(key, value string) {
	if value = valid(value); value != "" {
		a.add(attribute.String(valid(key), value), len(value))
	}
}

// texts adds a map under a prefix, in the order of its keys.
func (a *attributes) texts(prefix string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		a.text(prefix+key, values[key])
	}
}

func (a *attributes) strings(key string, values []string) {
	if len(values) == 0 {
		return
	}
	list, size := make([]string, len(values)), 0
	for i, v := range values {
		list[i] = valid(v)
		size += len(list[i]) + framing
	}
	a.add(attribute.StringSlice(valid(key), list), size)
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
		a.add(attribute.Bool(valid(key), v), 0)
	case int:
		a.any(key, int64(v))
	case int64:
		a.add(attribute.Int64(valid(key), v), 0)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			a.fail("the attribute %s is not a finite number", quote(key))
			return
		}
		a.add(attribute.Float64(valid(key), v), 0)
	default:
		a.fail("the attribute %s has the type %T, which no attribute can have", quote(key), value)
	}
}

func (a *attributes) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

// shared adds the attributes that Langfuse wants on every span of a trace
// (langfuse.com/integrations/native/opentelemetry).
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

// ofRoot adds the attributes of the root: the trace's input and output, which Langfuse 3 reads, and the expected
// output.
func (a *attributes) ofRoot(t Trace, root Span) {
	a.raw("langfuse.trace.input", root.Input)
	a.raw("langfuse.trace.output", root.Output)
	if t.Experiment != nil {
		a.raw("langfuse.experiment.item.expected_output", t.Experiment.ExpectedOutput)
	}
}
