package answer

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ohler55/ojg/jp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/jsonpath"
)

// addCalls adds the tool calls of an event to those of the answer.
func (r *Reading) addCalls(e event) error {
	c := r.spec.ToolCalls
	if c == nil {
		return nil
	}
	hits := c.hits(e)
	var calls []chat.ToolCall
	for _, hit := range hits {
		list, ok := hit.([]any)
		if !ok {
			list = []any{hit}
		}
		for _, v := range list {
			if c.pathless && !c.conditional() && len(jsonpath.Ordered(c.name, v)) == 0 {
				continue // nothing says that the answer is a call
			}
			call, err := c.call(v)
			if err != nil {
				return err
			}
			calls = append(calls, call)
		}
	}
	if c.cumulative && begins(calls, r.calls) {
		r.calls = nil // the event repeats those before it
	}
	r.calls = append(r.calls, calls...)
	return nil
}

// begins reports whether a list of calls begins with another, and goes on.
func begins(calls, first []chat.ToolCall) bool {
	if len(calls) < len(first) {
		return false
	}
	for i, c := range first {
		if d := calls[i]; c.ID != d.ID || c.Name != d.Name || !bytes.Equal(c.Args, d.Args) {
			return false
		}
	}
	return true
}

// newCalls returns the calls of this turn.
func (r *Reading) newCalls() []chat.ToolCall {
	if r.spec.ToolCalls == nil || !r.spec.ToolCalls.cumulative {
		return r.calls
	}
	return r.calls[min(r.earlier, len(r.calls)):]
}

// call reads one call. One without a name would be lost without a word, so it is an error.
func (c *Calls) call(v any) (chat.ToolCall, error) {
	name, _ := scalar(first(c.name, v))
	if name == "" {
		return chat.ToolCall{}, fmt.Errorf("a tool call has no name at %s: %s", c.namePath,
			clip(string(encode(v)), shownOfBody))
	}
	call := chat.ToolCall{Name: name, Args: arguments(first(c.args, v))}
	if c.id != nil {
		call.ID, _ = scalar(first(c.id, v))
	}
	if c.result != nil {
		if result := first(c.result, v); result != nil {
			call.Result = encode(result)
		}
	}
	return call, nil
}

// arguments returns the arguments of a call: an object, or JSON in a text. A text that is none stays one.
func arguments(v any) json.RawMessage {
	if v == nil || v == "" {
		return json.RawMessage("{}")
	}
	if s, ok := v.(string); ok {
		if inner, err := decode([]byte(s)); err == nil {
			if _, object := inner.(map[string]any); object {
				return encode(inner)
			}
		}
	}
	return encode(v)
}

// first returns the first value at a path; nil where there is none.
func first(expr jp.Expr, v any) any {
	found := jsonpath.Ordered(expr, v)
	if len(found) == 0 {
		return nil
	}
	return found[0]
}
