// Package dataset reads labelled items and predictions for them from files.
//
// Everything of a file is checked before anything is returned: the error is a source.Problems that names each fault
// with its file, line and a hint, and a file with a fault yields nothing.
package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Bounds of what is read. Files come from anywhere, and a packed one says nothing of its size.
const (
	// MaxItems is how many items or predictions a file may have.
	MaxItems   = 1_000_000
	maxIDBytes = 1000
	// maxProblems is how many faults are gathered before reading stops.
	maxProblems = 100
)

// Item is a labelled input.
type Item struct {
	ID string
	// Message is the input's text, History what was said before it.
	Message string
	History []chat.Message
	// Labels are the expected output: one, or any number in a set of several.
	Labels   []string
	Metadata map[string]any
	// Line is where the item stands in its file.
	Line int
}

// Set is the items of a file.
type Set struct {
	File  string
	Items []Item
	// Several is set when at least one expected output is a list: each item then has any number of labels.
	Several bool
}

// collector reads the records of a file and gathers what is wrong with them.
type collector struct {
	files    source.Files
	file     string
	problems source.Problems
	lines    map[string]int // where each id stands
	count    int
}

// each calls read for every record until there are more faults than anybody would read.
func (c *collector) each(read func(source.Node)) {
	c.lines = map[string]int{}
	for v, err := range records(c.files, c.file) {
		if err != nil {
			c.problems = append(c.problems, asProblems(c.file, err)...)
		} else {
			reader := &source.Reader{File: c.file}
			if c.count++; c.count > MaxItems {
				reader.Node(v, "").Report("split the file", "more than %d records", MaxItems)
			} else {
				read(reader.Node(v, ""))
			}
			c.problems = append(c.problems, reader.Problems...)
		}
		if len(c.problems) >= maxProblems || c.count > MaxItems {
			return
		}
	}
}

// id reads the id of a record, which no other may have.
func (c *collector) id(n source.Node) string {
	id := n.Field("id")
	switch {
	case id.Kind == source.Null:
		n.Report(`add "id": a text by which predictions are joined with items`, "the record has no id")
		return ""
	case id.Kind != source.String && id.Kind != source.Number:
		id.Report(`write a text: "id": "item-1"`, "expected an id, got %s", id.Kind)
		return ""
	case id.Scalar == "" || len(id.Scalar) > maxIDBytes:
		id.Report("write a short text of its own for each record", "the id has %d bytes; it may have 1 to %d",
			len(id.Scalar), maxIDBytes)
		return ""
	}
	if line, taken := c.lines[id.Scalar]; taken {
		id.Report("keep one of the two, or give them different ids", "the id %q stands already in line %d",
			id.Scalar, line)
		return ""
	}
	c.lines[id.Scalar] = n.Line
	return id.Scalar
}

// err returns what was found, cut to what somebody reads.
func (c *collector) err() error {
	if more := len(c.problems) - maxProblems; more > 0 {
		c.problems = append(c.problems[:maxProblems], source.Problem{
			File: c.file, Message: fmt.Sprintf("stopped at the first %d faults", maxProblems),
			Hint: "correct these first, then try again",
		})
	}
	return c.problems.Err()
}

// textOr reads a part that is a text, or an object.
func textOr(data json.RawMessage, text *string, object any) error {
	if json.Unmarshal(data, text) == nil || len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, object)
}

// jsonFault says what is wrong with the JSON of a part.
func jsonFault(err error) string {
	typed, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err.Error()
	}
	kind, _, _ := strings.Cut(typed.Value, " ") // "number 5"
	is := map[string]string{
		"array": "a list", "object": "an object", "string": "a text", "number": "a number", "bool": "true or false",
	}[kind]
	return fmt.Sprintf("%s is %s where %s belongs", cmp.Or(typed.Field, "it"), cmp.Or(is, typed.Value),
		source.KindOf(typed.Type))
}
