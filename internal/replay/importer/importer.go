// Package importer reads logged conversations of any format as events, and says what became of every row.
package importer

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Options say how files are read.
type Options struct {
	// From is the format; empty takes that of a file's first row.
	From string
	// Map says where fields stand in a row: a dotted path, which also leads into JSON in a cell.
	Map map[string]string
	// FlowID is the flow of rows that name none.
	FlowID string
	// Gap is that of replay.Sessions: a session of which rows come so long after one another has several ends.
	Gap time.Duration
	// Date is when conversations without any time began; zero rejects them.
	Date time.Time
	// Rejected is told of each row that cannot be kept; nil is allowed. Read is told now and then how many events were
	// read; nil is allowed.
	Rejected func(file string, r replay.Reject)
	Read     func(events int)
}

// fieldNames are the names that Options.Map may have.
var fieldNames = []string{
	"event_id", "event_type", "message_id", "session_id", "flow_id", "unit_id", "timestamp", "sender", "text", "reply",
	"state",
	"next_state", "turn_number", "latency_ms", "outcome", "data",
}

// ReadMap reads FIELD=PATH, several times.
func ReadMap(flags []string) (map[string]string, error) {
	m := map[string]string{}
	for _, flag := range flags {
		field, path, ok := strings.Cut(flag, "=")
		switch {
		case !ok || path == "":
			return nil, source.Invalid("--map %q: write FIELD=PATH, such as session_id=meta.conversation", flag)
		case !slices.Contains(fieldNames, field):
			return nil, source.Invalid("--map %q: the fields are %s", flag, strings.Join(fieldNames, ", "))
		case m[field] != "":
			return nil, source.Invalid("--map %s is given twice", field)
		}
		m[field] = path
	}
	return m, nil
}

// Check returns wrong options as an error (source.IsInvalid).
func (o *Options) Check() error {
	if _, known := formats[o.From]; o.From != "" && !known {
		return source.Invalid("unknown --from %q: the formats are %s", o.From,
			strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	}
	return nil
}

func (o *Options) gap() time.Duration { return cmp.Or(o.Gap, replay.DefaultSessionGap) }

// Report adds up: Rows are Used, Rejected and PassedOver; Events are Imported, Known and Conflicting.
type Report struct {
	Rows       int `json:"rows"`
	Used       int `json:"used"`
	Rejected   int `json:"rejected"`
	PassedOver int `json:"passed_over"`
	// Events were made of the rows. Imported are new, Known were there with the same content, Conflicting are there
	// with another one.
	Events      int `json:"events"`
	Imported    int `json:"imported"`
	Known       int `json:"known"`
	Conflicting int `json:"conflicting"`
	// Sessions were not there before.
	Sessions int `json:"sessions"`
	// RejectedBy counts the rejected rows by kind, Conflicts name some events that are conflicting.
	RejectedBy map[string]int `json:"rejected_by"`
	Conflicts  []string       `json:"conflicts"`
	// Useless are the files that have rows, all of them rejected.
	Useless []string `json:"-"`
}

// Store keeps events.
type Store interface {
	Import(ctx context.Context, events iter.Seq2[replay.Event, error]) (replay.Imported, error)
}

// Input is something to read rows from. From is its format, empty for that of the options.
type Input struct {
	Name, From string
	Open       func() (io.ReadCloser, error)
}

// Files are inputs from the disk, also packed as .gz.
func Files(names []string) []Input {
	inputs := make([]Input, len(names))
	for i, name := range names {
		inputs[i] = Input{Name: name, Open: func() (io.ReadCloser, error) { return source.Open(name) }}
	}
	return inputs
}

// Import reads inputs one after the other into a store. After an error the report says what was loaded until then.
func Import(ctx context.Context, inputs []Input, into Store, o Options) (Report, error) {
	r := Report{RejectedBy: map[string]int{}, Conflicts: []string{}}
	if err := o.Check(); err != nil {
		return r, err
	}
	stored, err := into.Import(ctx, func(yield func(replay.Event, error) bool) {
		for _, in := range inputs {
			rejected, rows := r.Rejected, r.Rows
			if !r.read(in, &o, yield) {
				return
			}
			if n := r.Rows - rows; n > 0 && n == r.Rejected-rejected {
				r.Useless = append(r.Useless, in.Name)
			}
		}
	})
	r.Imported, r.Known, r.Conflicting, r.Sessions = stored.Added, stored.Known, stored.Conflicting, stored.Sessions
	r.Conflicts = append(r.Conflicts, stored.Conflicts...)
	return r, err
}

// read yields the events of one input, and reports whether to go on.
func (r *Report) read(in Input, o *Options, yield func(replay.Event, error) bool) bool {
	file, err := in.Open()
	if err != nil {
		yield(replay.Event{}, fmt.Errorf("%s: %w", in.Name, err))
		return false
	}
	defer func() { _ = file.Close() }() // it was only read
	content := textOfInput(bufio.NewReaderSize(file, 256<<10))
	read, err := readerOf(content, cmp.Or(in.From, o.From), o)
	if err != nil {
		yield(replay.Event{}, fmt.Errorf("%s: %w", in.Name, err))
		return false
	}
	for row, err := range read(content, o) {
		if err != nil {
			yield(replay.Event{}, fmt.Errorf("%s: %w", in.Name, err))
			return false
		}
		if rejected := r.count(&row); rejected && o.Rejected != nil {
			o.Rejected(in.Name, row.rejected)
		}
		for _, e := range row.events {
			if e.FlowID == "" {
				e.FlowID = o.FlowID
			}
			r.Events++
			if o.Read != nil && r.Events%10_000 == 0 {
				o.Read(r.Events)
			}
			if !yield(e, nil) {
				return false
			}
		}
	}
	return true
}

// count counts a row, and reports whether it was rejected.
func (r *Report) count(row *row) (rejected bool) {
	if row.rest {
		return false
	}
	r.Rows++
	switch {
	case row.rejected.Kind != "":
		r.Rejected++
		r.RejectedBy[row.rejected.Kind]++
		return true
	case row.passedOver:
		r.PassedOver++
	default:
		r.Used++
	}
	return false
}

// Err says which files could not be used at all.
func (r *Report) Err() error {
	if len(r.Useless) == 0 {
		return nil
	}
	return source.Invalid(
		"every row of %s was rejected (%s): name the format with --from, or where the fields stand with --map",
		strings.Join(r.Useless, ", "), r.Rejects())
}

// Rejects lists the kinds of rejected rows with their counts.
func (r *Report) Rejects() string {
	kinds := make([]string, 0, len(r.RejectedBy))
	for _, kind := range slices.Sorted(maps.Keys(r.RejectedBy)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, r.RejectedBy[kind]))
	}
	return strings.Join(kinds, ", ")
}
