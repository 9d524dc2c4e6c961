package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"rehearse/internal/replay"
)

const (
	// maxObject bounds the JSON of a variant and of a prompt, and the intervals of a run, in bytes.
	maxObject = 1 << 20
	// maxSettings bounds what decides the outcome of a run, among it two prompts.
	maxSettings = 8 << 20
	// maxPath bounds paths, in bytes.
	maxPath = 4096
)

// rowCheck looks whether a row can be kept. The first fault stays.
type rowCheck struct {
	what, id string
	err      error
}

func (c *rowCheck) errorf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s %q: "+format, append([]any{c.what, shortened(c.id)}, args...)...)
	}
}

// key wants the text that a row is found by.
func (c *rowCheck) key(column, value string) {
	if value == "" {
		c.errorf("it has no %s: give it one, or it could not be found", column)
	}
	c.name(column, value)
}

// name wants a short text.
func (c *rowCheck) name(column, value string) { c.text(column, value, replay.MaxName) }

func (c *rowCheck) text(column, value string, most int) {
	if len(value) > most {
		c.errorf("its %s has %d bytes, of which %d can be kept: shorten it", column, len(value), most)
	}
}

// object wants a JSON object, or nothing, and returns it as databases keep it.
func (c *rowCheck) object(column string, raw json.RawMessage) string {
	return c.objectUpTo(column, raw, maxObject)
}

func (c *rowCheck) objectUpTo(column string, raw json.RawMessage, most int) string {
	if len(raw) > most {
		c.errorf("its %s has %d bytes, of which %d can be kept: shorten it", column, len(raw), most)
		return ""
	}
	text, ok := plainJSON(raw)
	if !ok || text != "" && text[0] != '{' {
		c.errorf("its %s is no JSON object: correct it", column)
	}
	return text
}

// shortened is an id as errors quote it.
func shortened(id string) string {
	if len(id) > replay.MaxName {
		return strings.ToValidUTF8(id[:replay.MaxName], "") + "…"
	}
	return id
}
