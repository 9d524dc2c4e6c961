package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

const (
	// maxEvent bounds the bytes of one logged event.
	maxEvent = 16 << 20
	// MaxName bounds the bytes of the names of an event, its session and its flow.
	MaxName = 512
	// maxYear is the last year that every store can keep.
	maxYear = 9999
)

// The kinds of rows that cannot be kept.
const (
	NotJSON     = "not_json"
	NotAnObject = "not_an_object"
	NoEventID   = "no_event_id"
	NoEventType = "no_event_type"
	NoSession   = "no_session"
	NoTime      = "no_time"
	BadTime     = "bad_time"
	NoSender    = "no_sender"
	BadField    = "bad_field"
	TooLong     = "too_long"
)

// RowError says why a row cannot be kept.
type RowError struct{ Kind, Text string }

func (e *RowError) Error() string { return e.Text }

// BadRow makes a RowError.
func BadRow(kind, format string, args ...any) *RowError {
	return &RowError{kind, fmt.Sprintf(format, args...)}
}

// Reject is a row that is no event: where it stands, and why it cannot be kept.
type Reject struct {
	Line   int
	Kind   string
	Reason string
}

// NewReject makes a Reject of the error of a row.
func NewReject(line int, err error) Reject {
	if e, ok := errors.AsType[*RowError](err); ok {
		return Reject{line, e.Kind, e.Text}
	}
	return Reject{line, BadField, err.Error()}
}

// ReadJSONL yields the events of JSON Lines. What is no event goes to rejected, and reading goes on behind it; an error
// ends it.
func ReadJSONL(r io.Reader, rejected func(Reject)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for line, err := range Lines(bufio.NewReaderSize(r, 256<<10), maxEvent) {
			switch {
			case err != nil:
				yield(Event{}, err)
				return
			case line.Long:
				rejected(Reject{line.Number, TooLong, fmt.Sprintf("the line is longer than %d MB", maxEvent>>20)})
				continue
			}
			e, problem := ParseEvent(line.Text)
			if problem != nil {
				rejected(NewReject(line.Number, problem))
			} else if !yield(e, nil) {
				return
			}
		}
	}
}

// Line is a line without the space around it. Text is nil where it is Long.
type Line struct {
	Number int
	Text   []byte
	Long   bool
}

// Lines yields the lines that are not blank, and only says of those with more than so many bytes that they are long.
func Lines(r *bufio.Reader, most int) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for number := 1; ; number++ {
			line, long, err := readLine(r, most)
			text := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
			if (long || len(text) > 0) && !yield(Line{number, text, long}, nil) {
				return
			}
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Line{Number: number}, fmt.Errorf("line %d: %w", number, err))
				return
			}
		}
	}
}

// readLine returns the next line. It keeps none that has more than so many bytes; long is true for such a line.
func readLine(r *bufio.Reader, most int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > most; !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// ParseEvent reads one event, as it stands in a line of JSON Lines. The error says why it cannot be kept.
func ParseEvent(line []byte) (Event, error) {
	if string(line) == "null" {
		return Event{},
			BadRow(NotAnObject, "it is not the JSON of an event: a JSON null stands where an object is expected")
	}
	var row struct {
		Event
		ID     identifier      `json:"event_id"`
		UnitID identifier      `json:"unit_id"`
		Time   json.RawMessage `json:"timestamp"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			if wrong.Field == "" {
				return Event{}, BadRow(NotAnObject,
					"it is not the JSON of an event: a JSON %s stands where an object is expected", wrong.Value)
			}
			return Event{}, BadRow(BadField, "it is not the JSON of an event: its %s cannot be a JSON %s",
				strings.TrimPrefix(wrong.Field, "Event."), wrong.Value)
		}
		return Event{}, BadRow(NotJSON, "it is not the JSON of an event: %s", err)
	}
	e := row.Event
	e.ID, e.UnitID = string(row.ID), string(row.UnitID)
	stamp, err := parseTime(row.Time)
	if err != nil {
		return Event{}, err
	}
	e.Time = stamp
	return e, e.Complete()
}

// identifier is a text, or a number as databases count rows.
type identifier string

// UnmarshalJSON reads an id.
func (i *identifier) UnmarshalJSON(data []byte) error {
	var number json.Number
	if len(data) > 0 && data[0] != '"' && json.Unmarshal(data, &number) == nil {
		*i = identifier(number)
		return nil
	}
	return json.Unmarshal(data, (*string)(i))
}

// Complete checks what every event needs, and reads its session and flow from the context. Its error is a RowError. An
// object in a text is that object, and the sender of a message that is neither the user nor the bot becomes RoleOther.
func (e *Event) Complete() error {
	for _, part := range []*json.RawMessage{&e.Experiments, &e.Context, &e.Metrics, &e.Payload} {
		text := bytes.TrimSpace(*part)
		if len(text) == 0 || string(text) == "null" {
			*part = nil
			continue
		}
		var inside string
		if text[0] == '"' && json.Unmarshal(text, &inside) == nil && json.Valid([]byte(inside)) &&
			strings.HasPrefix(strings.TrimSpace(inside), "{") {
			*part = json.RawMessage(inside)
		}
	}
	var context struct {
		SessionID identifier `json:"session_id"`
		FlowID    identifier `json:"flow_id"`
	}
	if err := json.Unmarshal(orNull(e.Context), &context); err != nil {
		return BadRow(BadField, "its context cannot be read: %s", err)
	}
	switch {
	case e.ID == "":
		return BadRow(NoEventID, "it has no event_id")
	case e.Type == "":
		return BadRow(NoEventType, "it has no event_type")
	case context.SessionID == "":
		return BadRow(NoSession, "its context has no session_id")
	}
	e.SessionID, e.FlowID = string(context.SessionID), string(context.FlowID)
	if max(len(e.ID), len(e.SessionID), len(e.FlowID)) > MaxName {
		return BadRow(TooLong, "its event_id, session_id or flow_id is longer than %d bytes", MaxName)
	}
	e.nameSender()
	return nil
}

// nameSender makes RoleOther of the sender of a message that has another role. The name stays as the payload's role.
func (e *Event) nameSender() {
	var of struct{ Sender, Role string }
	if e.Type != Message || json.Unmarshal(orNull(e.Payload), &of) != nil {
		return
	}
	name := cmp.Or(of.Sender, of.Role)
	var payload map[string]json.RawMessage
	if name == "" || of.Sender == RoleOther || RoleOf(name) != RoleOther || json.Unmarshal(e.Payload, &payload) != nil {
		return
	}
	if payload["sender"] != nil && of.Role == "" {
		payload["role"] = payload["sender"]
	}
	payload["sender"] = json.RawMessage(`"` + RoleOther + `"`)
	e.Payload, _ = json.Marshal(payload) // of what was JSON it cannot fail
}

func orNull(data json.RawMessage) json.RawMessage {
	if data == nil {
		return json.RawMessage("null")
	}
	return data
}

// ReadCSV yields the events of a table whose first row names the columns; those of JSON hold JSON. Rejected rows are as
// in ReadJSONL.
func ReadCSV(r io.Reader, rejected func(Reject)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		table := TableReader(r)
		table.ReuseRecord = true
		head, err := table.Read()
		if err != nil {
			yield(Event{}, fmt.Errorf("the first row, which names the columns: %w", err))
			return
		}
		columns := map[string]int{}
		for i, name := range head {
			columns[strings.TrimSpace(name)] = i
		}
		if _, ok := columns["event_id"]; !ok {
			yield(Event{}, errors.New("the first row does not name the column event_id: "+
				"write event_id,event_type,unit_type,unit_id,experiments,context,metrics,payload,timestamp"))
			return
		}
		for {
			row, err := table.Read()
			line, _ := table.FieldPos(0)
			switch problem := (*csv.ParseError)(nil); {
			case errors.Is(err, io.EOF):
				return
			case errors.As(err, &problem):
				rejected(Reject{problem.StartLine, BadField, problem.Err.Error()})
				continue
			case err != nil:
				yield(Event{}, err)
				return
			}
			e, err := eventOfRow(columns, row)
			if err != nil {
				rejected(NewReject(line, err))
			} else if !yield(e, nil) {
				return
			}
		}
	}
}

func eventOfRow(columns map[string]int, row []string) (Event, error) {
	cell := func(name string) string {
		if i, ok := columns[name]; ok && i < len(row) {
			return row[i]
		}
		return ""
	}
	e := Event{ID: cell("event_id"), Type: cell("event_type"), UnitType: cell("unit_type"), UnitID: cell("unit_id")}
	for name, part := range map[string]*json.RawMessage{
		"experiments": &e.Experiments, "context": &e.Context, "metrics": &e.Metrics, "payload": &e.Payload,
	} {
		text := strings.TrimSpace(cell(name))
		if text != "" && !json.Valid([]byte(text)) {
			return e, BadRow(BadField, "its %s is not JSON", name)
		}
		*part = json.RawMessage(text)
	}
	stamp, err := json.Marshal(cell("timestamp"))
	if err == nil {
		e.Time, err = parseTime(stamp)
	}
	if err != nil {
		return e, err
	}
	return e, e.Complete()
}
