package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Mask returns a text without secrets. A nil Mask changes nothing.
type Mask func(text string) string

func (m Mask) text(s string) string {
	if m == nil {
		return s
	}
	return m(s)
}

func (m Mask) texts(list []string) []string {
	masked := make([]string, len(list))
	for i, s := range list {
		masked[i] = m.text(s)
	}
	return masked
}

// value returns decoded JSON with every text and name in it masked. Numbers stay: a mask in their place would break the
// line.
func (m Mask) value(v any) any {
	switch v := v.(type) {
	case string:
		return m.text(v)
	case []any:
		for i := range v {
			v[i] = m.value(v[i])
		}
	case map[string]any:
		masked := make(map[string]any, len(v))
		for name, one := range v {
			masked[m.text(name)] = m.value(one)
		}
		return masked
	}
	return v
}

// request returns a request as a cassette holds it: masked, its keys sorted.
func (m Mask) request(r Request) (json.RawMessage, error) {
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		r.Messages[i].ToolCalls = quoted(r.Messages[i].ToolCalls)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be written as JSON: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, fmt.Errorf("the request cannot be read as JSON: %w", err)
	}
	return encodeJSON(m.value(v))
}

// quoted returns the calls with arguments that are no JSON, which models write, as texts.
func quoted(calls []chat.ToolCall) []chat.ToolCall {
	calls = slices.Clone(calls)
	for i, c := range calls {
		if len(c.Args) > 0 && !json.Valid(c.Args) {
			calls[i].Args, _ = json.Marshal(string(c.Args)) // a text can always be written
		}
	}
	return calls
}

type exchangeKey [sha256.Size]byte

// keyOf identifies what was asked of whom. asked is masked.
func keyOf(kind, name string, asked any) (exchangeKey, error) {
	data, err := encodeJSON([]any{kind, name, asked})
	return sha256.Sum256(data), err
}
