package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// LogHandler returns a handler of logs whose lines have the ids of what their context is about: run_id, test_case_id,
// conversation_id and trace_id. An error is a line of bounded length, without what an error that knows it says not to
// log (Loggable). Nothing has a secret that the context masks.
func LogHandler(to slog.Handler) slog.Handler { return &logHandler{to: to} }

// Loggable is an error whose text repeats what was said to a model, or by one. Logged is the text without it.
type Loggable interface {
	error
	Logged() string
}

type logHandler struct {
	to slog.Handler
	// has are the keys that every line has.
	has map[string]bool
	// grouped is true where keys are below a group, which ids are not.
	grouped bool
}

// ids are the attributes of spans that lines have, with the keys that they have there.
var ids = []struct{ attribute, key string }{
	{trace.RunID, "run_id"}, {trace.TestCaseID, "test_case_id"}, {trace.ConversationID, "conversation_id"},
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.to.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	mask := trace.MaskOf(ctx)
	line, has := slog.NewRecord(r.Time, r.Level, r.Message, r.PC), maps.Clone(h.has)
	if has == nil {
		has = map[string]bool{}
	}
	r.Attrs(func(a slog.Attr) bool {
		has[a.Key] = true
		line.AddAttrs(clean(a, mask))
		return true
	})
	if !h.grouped {
		for _, a := range idsOf(ctx) {
			if !has[a.Key] {
				line.AddAttrs(clean(a, mask))
			}
		}
	}
	return h.to.Handle(ctx, line)
}

// idsOf returns what a context is about.
func idsOf(ctx context.Context) (found []slog.Attr) {
	about := trace.About(ctx)
	for _, id := range ids {
		for _, a := range slices.Backward(about) { // what was said last holds
			if value, ok := a.Value.(string); ok && a.Key == id.attribute && value != "" {
				found = append(found, slog.String(id.key, value))
				break
			}
		}
	}
	if of := trace.IDOf(ctx); of != "" {
		found = append(found, slog.String("trace_id", of))
	}
	return found
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	own := &logHandler{has: maps.Clone(h.has), grouped: h.grouped}
	if own.has == nil {
		own.has = map[string]bool{}
	}
	cleaned := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		cleaned[i] = clean(a, nil)
		own.has[a.Key] = true
	}
	own.to = h.to.WithAttrs(cleaned)
	return own
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{to: h.to.WithGroup(name), has: h.has, grouped: h.grouped || name != ""}
}

// maxLogged bounds an error, or the value of a panic, in a line, in characters.
const maxLogged = 500

// clean returns an attribute as it is logged. What is neither a number nor a time is masked, the value of a panic too,
// which may be anything.
func clean(a slog.Attr, mask func(string) string) slog.Attr {
	if mask == nil {
		mask = func(s string) string { return s }
	}
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(mask(a.Value.String()))
	case slog.KindGroup:
		members := slices.Clone(a.Value.Group())
		for i, member := range members {
			members[i] = clean(member, mask)
		}
		a.Value = slog.GroupValue(members...)
	case slog.KindAny:
		a.Value = cleanAny(a.Value.Any(), mask)
	}
	return a
}

func cleanAny(value any, mask func(string) string) slog.Value {
	switch value := value.(type) {
	case nil:
		return slog.AnyValue(nil)
	case error:
		return slog.StringValue(text.OneLine(mask(logged(value)), maxLogged))
	case []string:
		masked := slices.Clone(value)
		for i, one := range masked {
			masked[i] = mask(one)
		}
		return slog.AnyValue(masked)
	}
	return slog.StringValue(text.OneLine(mask(fmt.Sprint(value)), maxLogged))
}

// logged returns the text of an error as far as it may be logged.
func logged(err error) string {
	inner, ok := errors.AsType[Loggable](err)
	switch whole := err.Error(); {
	case !ok:
		return whole
	case strings.Contains(whole, inner.Error()):
		return strings.ReplaceAll(whole, inner.Error(), inner.Logged())
	default: // it is told in other words
		return inner.Logged()
	}
}

// Log returns a log on w, as text or json, whose lines have ids and no messages of conversations.
// It discards everything for the format off; ok is false for an unknown one.
func Log(w io.Writer, format string) (log *slog.Logger, ok bool) {
	switch format {
	case "text":
		return slog.New(LogHandler(slog.NewTextHandler(w, nil))), true
	case "json":
		return slog.New(LogHandler(slog.NewJSONHandler(w, nil))), true
	case "off":
		return slog.New(slog.DiscardHandler), true
	}
	return nil, false
}
