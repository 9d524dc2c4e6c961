package store

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"rehearse/internal/source"
)

// maxFaults is how many faults of one file are worth reading.
const maxFaults = 20

// splitLines reads a passage from each line: {"id": …, "text": …, "title": …}. Other keys are passed over.
func splitLines(name, text string) ([]passage, source.Problems) {
	c := newCutter(name)
	reader := &source.Reader{File: name}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		value, err := source.ParseJSON(name, []byte(strings.TrimSuffix(line, "\n")), number)
		if problems, ok := errors.AsType[source.Problems](err); ok {
			reader.Problems = append(reader.Problems, problems...)
		} else {
			c.addLine(reader.Node(value, ""), number)
		}
		if len(reader.Problems) >= maxFaults {
			break
		}
	}
	return c.passages, reader.Problems
}

// addLine adds the passage that a line of JSON holds.
func (c *cutter) addLine(n source.Node, line int) {
	if n.Kind != source.Map {
		n.Report(`write {"id": …, "text": …} on each line`, "expected an object, got %s", n.Kind)
		return
	}
	for _, key := range []string{"id", "text"} {
		if !n.Has(key) {
			n.Report(fmt.Sprintf("add %q: …", key), "the line has no %q", key)
			return
		}
	}
	id, text, title := n.Field("id").Text(), n.Field("text").Text(), ""
	if n.Has("title") {
		title = n.Field("title").Text()
	}
	switch {
	case strings.TrimSpace(id) == "", utf8.RuneCountInString(id) > maxTitle:
		n.Field("id").Report("give each passage a short id of its own", "the id must have from 1 to %d characters", maxTitle)
	case c.used[id] > 0:
		n.Field("id").Report("give each passage an id of its own", "the id %q is there twice", id)
	case strings.TrimSpace(text) == "":
		n.Field("text").Report("write what agents shall find, or remove the line", "the text is empty")
	default:
		c.add(id, title, text, line)
	}
}
