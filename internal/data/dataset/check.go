package dataset

import (
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// maxRemoteID is how long an id may be in Langfuse, in bytes.
const maxRemoteID = 255

// LoadChecked reads the items of a file as LoadRecords does, and refuses what Langfuse would not take, and parts with a
// meaning that are of another type than they should be. What it has no meaning for may be anything.
func LoadChecked(file string) ([]Record, error) {
	return load(source.Files{}, file, func(c *collector, n source.Node) Record {
		r := c.record(n)
		check(n)
		return r
	})
}

// check reports what is wrong with the parts of an item.
func check(n source.Node) {
	if n.Kind != source.Map {
		return
	}
	if id := n.Field("id"); len(id.Scalar) > maxRemoteID {
		id.Report("write a short one", "the id has %d bytes; Langfuse takes %d", len(id.Scalar), maxRemoteID)
	}
	checkInput(n.Field("input"))
	if expected := n.Field("expected_output"); expected.Kind == source.Map {
		textOrNothing(expected, "response", `write {"response": "…"}`)
	}
	if metadata := n.Field("metadata"); metadata.Kind != source.Null {
		checkMetadata(metadata)
	}
}

func checkInput(n source.Node) {
	switch n.Kind {
	case source.String:
		notBlank(n)
	case source.Map:
		for _, name := range []string{"query", "message"} {
			if textOrNothing(n, name, `write {"`+name+`": "…"}`) {
				notBlank(n.Field(name))
			}
		}
	case source.Null, source.List: // a missing input has been reported
	default:
		n.Report(`write a text, or {"query": "…"}`, "expected an input, got %s", n.Kind)
	}
}

func notBlank(n source.Node) {
	if strings.TrimSpace(n.Scalar) == "" {
		n.Report("write what the user says", "the text is blank")
	}
}

func checkMetadata(n source.Node) {
	if n.Kind != source.Map {
		n.Report(`write {"name": value}`, "expected a mapping, got %s", n.Kind)
		return
	}
	textOrNothing(n, "site_name", `write {"site_name": "example.com"}`)
	if n.Has("history") {
		checkHistory(n.Field("history"))
	}
}

// checkHistory checks what was said before, row by row.
func checkHistory(n source.Node) {
	for _, row := range n.List() {
		if row.Kind != source.Map {
			row.Report(`write {"role": "user", "content": "…"}`, "expected a message, got %s", row.Kind)
			continue
		}
		const hint = `write {"role": "user", "content": "…"}`
		if !row.Has("role") {
			row.Report(hint, "the message has no role")
		}
		textOrNothing(row, "role", hint)
		textOrNothing(row, "content", hint)
		if index := row.Field("message_index"); index.Kind != source.Null && index.Kind != source.Number {
			index.Report("write a number, or leave it out", "expected a number, got %s", index.Kind)
		}
	}
}

// textOrNothing reports an entry that is something else than a text, and reports whether there is a text.
func textOrNothing(n source.Node, name, hint string) bool {
	entry := n.Field(name)
	if entry.Kind != source.Null && entry.Kind != source.String {
		entry.Report(hint, "expected a text, got %s", entry.Kind)
	}
	return entry.Kind == source.String
}

// Expects reports whether the record says what is expected: something else than null, blank text, or an object with
// nothing else in it. A list says it even when it is empty: that none of the labels fits.
func (r *Record) Expects() bool {
	var v any
	return json.Unmarshal(r.Expected, &v) == nil && hasText(v)
}

func hasText(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return strings.TrimSpace(v) != ""
	case map[string]any:
		for _, entry := range v {
			if hasText(entry) {
				return true
			}
		}
		return false
	}
	return true
}
