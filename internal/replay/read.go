package replay

import (
	"bufio"
	"bytes"
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

// Reject is a row that is no event: where it stands, and why it cannot be kept.
type Reject struct {
	Line   int
	Reason string
}

// ReadJSONL yields the events of JSON Lines. What is no event goes to rejected, and reading goes on behind it; an error ends it.
func ReadJSONL(r io.Reader, rejected func(Reject)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewReaderSize(r, 256<<10)
		for number := 1; ; number++ {
			line, long, err := readLine(lines)
			text := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
			switch {
			case long:
				rejected(Reject{number, fmt.Sprintf("the line is longer than %d MB", maxEvent>>20)})
			case len(text) > 0:
				e, problem := ParseEvent(text)
				if problem != nil {
					rejected(Reject{number, problem.Error()})
				} else if !yield(e, nil) {
					return
				}
			}
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Event{}, fmt.Errorf("line %d: %w", number, err))
				return
			}
		}
	}
}

// readLine returns the next line. It keeps none that is longer than an event may be; long is true for such a line.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxEvent; !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// ParseEvent reads one event, as it stands in a line of JSON Lines. The error says why it cannot be kept.
func ParseEvent(line []byte) (Event, error) {
	var row struct {
		Event
		Time json.RawMessage `json:"timestamp"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = fmt.Errorf("a JSON %s stands where an object is expected", wrong.Value)
			if wrong.Field != "" {
				err = fmt.Errorf("its %s cannot be a JSON %s", strings.TrimPrefix(wrong.Field, "Event."), wrong.Value)
			}
		}
		return Event{}, fmt.Errorf("it is not the JSON of an event: %w", err)
	}
	e := row.Event
	stamp, err := parseTime(row.Time)
	if err != nil {
		return Event{}, err
	}
	e.Time = stamp
	return e, e.complete()
}

// complete checks what every event needs, and reads its session and flow.
func (e *Event) complete() error {
	for _, part := range []*json.RawMessage{&e.Experiments, &e.Context, &e.Metrics, &e.Payload} {
		if text := bytes.TrimSpace(*part); len(text) == 0 || string(text) == "null" {
			*part = nil
		}
	}
	var context struct {
		SessionID *string `json:"session_id"`
		FlowID    *string `json:"flow_id"`
	}
	if err := json.Unmarshal(orNull(e.Context), &context); err != nil {
		return fmt.Errorf("its context cannot be read: %w", err)
	}
	switch {
	case e.ID == "":
		return errors.New("it has no event_id")
	case e.Type == "":
		return errors.New("it has no event_type")
	case context.SessionID == nil || *context.SessionID == "":
		return errors.New("its context has no session_id")
	}
	e.SessionID = *context.SessionID
	if context.FlowID != nil {
		e.FlowID = *context.FlowID
	}
	switch {
	case max(len(e.ID), len(e.SessionID), len(e.FlowID)) > MaxName:
		return fmt.Errorf("its event_id, session_id or flow_id is longer than %d bytes", MaxName)
	case e.Time.Year() < 0 || e.Time.Year() > maxYear:
		return fmt.Errorf("its timestamp is not in the years 0 to %d", maxYear)
	}
	return nil
}

func orNull(data json.RawMessage) json.RawMessage {
	if data == nil {
		return json.RawMessage("null")
	}
	return data
}

// ReadCSV yields the events of a table whose first row names the columns; those of JSON hold JSON. Rejected rows are as in ReadJSONL.
func ReadCSV(r io.Reader, rejected func(Reject)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		table := csv.NewReader(r)
		table.ReuseRecord = true
		table.FieldsPerRecord = -1
		head, err := table.Read()
		if err != nil {
			yield(Event{}, fmt.Errorf("the first row, which names the columns: %w", err))
			return
		}
		columns := map[string]int{}
		for i, name := range head {
			columns[strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))] = i
		}
		if _, ok := columns["event_id"]; !ok {
			yield(Event{}, errors.New("the first row does not name the column event_id: write event_id,event_type,unit_type,unit_id,experiments,context,metrics,payload,timestamp"))
			return
		}
		for {
			row, err := table.Read()
			line, _ := table.FieldPos(0)
			switch problem := (*csv.ParseError)(nil); {
			case errors.Is(err, io.EOF):
				return
			case errors.As(err, &problem):
				rejected(Reject{problem.StartLine, problem.Err.Error()})
				continue
			case err != nil:
				yield(Event{}, err)
				return
			}
			e, err := eventOfRow(columns, row)
			if err != nil {
				rejected(Reject{line, err.Error()})
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
			return e, fmt.Errorf("its %s is not JSON", name)
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
	return e, e.complete()
}
