package langfuse

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Trace is the work on one input: a tree of spans. The trace's own data are written on each of its spans, as Langfuse 4
// expects.
type Trace struct {
	// ID has 32 hexadecimal digits in lower case; TraceID makes one.
	ID string
	// Name defaults to the root span's name.
	Name      string
	SessionID string
	UserID    string
	// Version is the version of the system under test.
	Version string
	Tags    []string
	// Metadata are shown with the trace and can be searched.
	Metadata map[string]string
	// Experiment, where set, makes the trace an item of a run.
	Experiment *Experiment
	// Spans are the spans in any order. Exactly one has no parent: the root. Its input and output are the trace's.
	Spans []Span
}

// Experiment names the dataset item of a trace, and the run. Langfuse 4 makes its experiments of it.
type Experiment struct {
	// ID and Name are the same for all items of a run and differ between runs. On Langfuse 3, ID may be the ID of the
	// dataset run.
	ID          string
	Name        string
	Description string
	Metadata    map[string]string
	// DatasetID and ItemID are Langfuse's IDs, or stable IDs of local data.
	DatasetID string
	ItemID    string
	// ExpectedOutput is the item's expected output; it may be empty.
	ExpectedOutput json.RawMessage
}

// Kind is the kind of a span.
type Kind string

// The kinds of span. An empty one means KindSpan.
const (
	KindSpan       Kind = "span"
	KindGeneration Kind = "generation"
	KindAgent      Kind = "agent"
	KindTool       Kind = "tool"
	KindChain      Kind = "chain"
	KindRetriever  Kind = "retriever"
	KindEvaluator  Kind = "evaluator"
	KindEmbedding  Kind = "embedding"
	KindGuardrail  Kind = "guardrail"
	KindEvent      Kind = "event"
)

var kinds = []Kind{
	"", KindSpan, KindGeneration, KindAgent, KindTool, KindChain, KindRetriever, KindEvaluator, KindEmbedding,
	KindGuardrail, KindEvent,
}

// Span is a finished step.
type Span struct {
	// ID has 16 hexadecimal digits in lower case; SpanID makes one. ParentID is empty for the root.
	ID       string
	ParentID string
	Name     string
	Kind     Kind
	Start    time.Time
	End      time.Time
	// Input and Output are any JSON; empty for none.
	Input  json.RawMessage
	Output json.RawMessage
	// Metadata can be searched.
	Metadata map[string]string
	// Failure is why the step failed; empty if it did not.
	Failure string
	// Model, Parameters, Usage in tokens and Cost in US dollars belong to a generation. The keys of Usage are input,
	// output and total.
	Model      string
	Parameters map[string]string
	Usage      map[string]int
	Cost       map[string]float64
	// Attributes are further OpenTelemetry attributes: texts, bool, int, int64, float64 and []string.
	Attributes map[string]any
}

// root returns the span without a parent, or why the trace cannot be sent.
func (t Trace) root() (Span, error) {
	if _, err := trace.TraceIDFromHex(t.ID); err != nil {
		return Span{}, fmt.Errorf("%s is no trace id: it needs 32 hexadecimal digits, not all 0", quote(t.ID))
	}
	if e := t.Experiment; e != nil {
		if missing := lacking("id", e.ID, "name", e.Name, "dataset", e.DatasetID, "item", e.ItemID); missing != "" {
			return Span{}, fmt.Errorf("its experiment has no %s", missing)
		}
	}
	var roots []Span
	seen := map[string]bool{}
	for _, s := range t.Spans {
		if err := s.check(); err != nil {
			return Span{}, err
		}
		if seen[s.ID] {
			return Span{}, fmt.Errorf("two spans have the id %s", s.ID)
		}
		if seen[s.ID] = true; s.ParentID == "" {
			roots = append(roots, s)
		}
	}
	if len(roots) != 1 {
		return Span{}, fmt.Errorf("%d of its spans have no parent: exactly one must have none", len(roots))
	}
	return roots[0], nil
}

func (s Span) check() error {
	_, err := trace.SpanIDFromHex(s.ID)
	_, parentErr := trace.SpanIDFromHex(s.ParentID)
	switch {
	case err != nil:
		return fmt.Errorf("%s is no span id: it needs 16 hexadecimal digits, not all 0", quote(s.ID))
	case s.ParentID != "" && parentErr != nil:
		return fmt.Errorf("the span %s has the parent %s, which is no span id", s.ID, quote(s.ParentID))
	case s.Name == "":
		return fmt.Errorf("the span %s has no name", s.ID)
	case !slices.Contains(kinds, s.Kind):
		return fmt.Errorf("the span %s has the kind %s, which Langfuse does not know", s.ID, quote(string(s.Kind)))
	case s.Start.IsZero() || s.End.Before(s.Start):
		return fmt.Errorf("the span %s has no start, or ends before it", s.ID)
	}
	return nil
}

// TraceID makes a trace ID of texts, such as a run's and an item's name. The same texts always make the same ID, so a
// trace that is sent again replaces the earlier one.
func TraceID(parts ...string) string { return digest("trace", parts)[:32] }

// SpanID makes a span ID of texts, best those of the trace and the step.
func SpanID(parts ...string) string { return digest("span", parts)[:16] }

// digest hashes texts. The length before each text keeps different lists apart.
func digest(kind string, parts []string) string {
	hash := sha256.New()
	for _, part := range append([]string{kind}, parts...) {
		_ = binary.Write(hash, binary.BigEndian, int64(len(part))) // a hash never fails
		_, _ = hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
