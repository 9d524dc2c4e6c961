package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// row is what became of one row of an input. Events may come later than their row, with another one, or with the rest
// behind the last.
type row struct {
	events []replay.Event
	// rejected has a kind where the row cannot be kept; passedOver is true where there is nothing in it to keep.
	rejected   replay.Reject
	passedOver bool
	// rest is true for events behind the last row.
	rest bool
}

// reader reads the rows of an input.
type reader func(r *bufio.Reader, o *Options) iter.Seq2[row, error]

// formats are the formats by name.
var formats = map[string]reader{
	"events":   readEvents,
	"csv":      readMessages,
	"chat":     readChats,
	"langfuse": readTraces,
	"otel":     readSpans,
}

// looked is how much of an input is looked at to find its format.
const looked = 64 << 10

// readerOf returns what reads an input, by its first row unless a format is named.
func readerOf(r *bufio.Reader, name string, o *Options) (reader, error) {
	begin, err := r.Peek(looked)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	if bytes.HasPrefix(begin, []byte("SQLite format 3\x00")) {
		return nil, source.Invalid("it is a database of SQLite: write its rows as CSV, such as with `sqlite3 -header " +
			"-csv FILE 'SELECT * FROM messages' > log.csv`, and import that; a store of rehearse is named with --store")
	}
	if name == "" {
		if name = formatOf(begin, o); name == "" {
			return nil, source.Invalid("its format cannot be told from its first row: name it with --from")
		}
	}
	if name == "events" && len(o.Map) > 0 {
		name = "csv" // which reads every field where it stands
	}
	return formats[name], nil
}

// formatOf tells a format from the begin of an input.
func formatOf(begin []byte, o *Options) string {
	text := bytes.TrimSpace(bytes.TrimPrefix(begin, []byte("\ufeff")))
	switch {
	case len(text) == 0:
		return "events"
	case text[0] != '{' && text[0] != '[':
		return formatOfTable(text)
	}
	keys := firstKeys(text)
	has := func(names ...string) bool {
		for _, name := range names {
			if keys[name] {
				return true
			}
		}
		return false
	}
	switch {
	case has("resourceSpans"):
		return "otel"
	case has("event_type", "event_id") && has("context", "payload"):
		return "events"
	case has("messages"):
		return "chat"
	case has("data") && !has("session_id", "id"), has("input", "output") &&
		has("sessionId", "timestamp", "traceId", "projectId"):
		return "langfuse"
	case len(o.Map) > 0, has("sender", "role", "text", "message_text", "content", "message"):
		return "csv"
	}
	return "events"
}

// formatOfTable tells tables of events from those of messages by their first row.
func formatOfTable(text []byte) string {
	head, err := replay.TableReader(bytes.NewReader(text)).Read()
	if err != nil {
		return "events" // whose reader rejects it line by line
	}
	has := map[string]bool{}
	for _, name := range head {
		has[strings.TrimSpace(name)] = true
	}
	if len(head) == 1 || has["event_id"] && has["event_type"] && (has["context"] || has["payload"]) {
		return "events"
	}
	return "csv"
}

// firstKeys returns the keys of the first object in a text that may be cut off; of a list those of its first element.
func firstKeys(text []byte) map[string]bool {
	keys := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(text))
	opening, err := d.Token()
	if opening == json.Delim('[') {
		opening, err = d.Token()
	}
	if err != nil || opening != json.Delim('{') {
		return keys
	}
	for d.More() {
		key, err := d.Token()
		name, is := key.(string)
		if err != nil || !is {
			return keys
		}
		keys[name] = true
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return keys
		}
	}
	return keys
}

// readEvents reads events as the store has them: JSON Lines, or a table whose cells hold JSON.
func readEvents(r *bufio.Reader, _ *Options) iter.Seq2[row, error] {
	read := replay.ReadJSONL
	begin, _ := r.Peek(looked) // an error comes again when it is read
	if text := bytes.TrimSpace(bytes.TrimPrefix(begin, []byte("\ufeff"))); len(text) > 0 && text[0] != '{' &&
		text[0] != '[' && bytes.Contains(firstLine(text), []byte("event_id")) {
		read = replay.ReadCSV
	}
	return func(yield func(row, error) bool) {
		more := true
		for e, err := range read(r, func(rejected replay.Reject) {
			if more {
				more = yield(row{rejected: rejected}, nil)
			}
		}) {
			if !more || !yield(row{events: []replay.Event{e}}, err) || err != nil {
				return
			}
		}
	}
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}
