package llm

import (
	"encoding/json"
	"sync"
)

// The bounds of what is remembered of schemas: those of a flow of a thousand nodes fit.
const (
	maxSchemas     = 1000
	maxSchemaBytes = 16 << 10
)

// constants finds the properties with a `const` in the schemas of tools' parameters. It remembers schemas, because an
// agent sends the same few with every request and decoding one takes longer than the rest of an answer. The zero value
// is ready and safe for concurrent use.
type constants struct {
	mu    sync.RWMutex
	known map[string]map[string]string
}

func (c *constants) of(schema json.RawMessage) map[string]string {
	c.mu.RLock()
	values, ok := c.known[string(schema)]
	c.mu.RUnlock()
	if ok || len(schema) == 0 {
		return values
	}
	values = decodeConstants(schema)
	if len(schema) > maxSchemaBytes {
		return values
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxSchemas {
		clear(c.known)
	}
	if c.known == nil {
		c.known = map[string]map[string]string{}
	}
	c.known[string(schema)] = values
	return values
}

// decodeConstants returns texts as they are and other values as JSON. What isn't such a schema has no constants.
func decodeConstants(schema json.RawMessage) map[string]string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	values := map[string]string{}
	for name, raw := range s.Properties {
		var property struct {
			Const json.RawMessage `json:"const"`
		}
		if json.Unmarshal(raw, &property) != nil || property.Const == nil {
			continue
		}
		var text string
		if json.Unmarshal(property.Const, &text) != nil || string(property.Const) == "null" {
			text = string(property.Const)
		}
		values[name] = text
	}
	return values
}
