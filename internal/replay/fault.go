package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
)

// The kinds of faults of rows.
const (
	faultNoPlace     = "no_session_or_time"
	faultPayload     = "unreadable_payload"
	faultContext     = "unreadable_context"
	faultSender      = "unknown_sender"
	faultNoText      = "no_text"
	faultClockBack   = "clock_back"
	faultAfterEnd    = "after_end"
	faultBothEnds    = "both_ends"
	faultTooMany     = "too_many_messages"
	faultTooMuchText = "too_much_text"
	faultLatency     = "negative_latency"
	faultRedelivered = "redelivered"
	faultConflict    = "conflicting_event_id"
)

// faultTexts say what is wrong with a row.
var faultTexts = map[string]string{
	faultNoPlace:     "the row names no session or no time",
	faultPayload:     "the payload cannot be read",
	faultContext:     "the context or the metrics cannot be read",
	faultSender:      "the sender is neither user nor bot",
	faultNoText:      "the message has no text",
	faultClockBack:   "the clock goes back: the turn number is lower than that of an earlier message",
	faultAfterEnd:    "the message comes after the end of its session",
	faultBothEnds:    "the session is both completed and dropped",
	faultTooMany:     "the session has too many messages; what follows is left out",
	faultTooMuchText: "the session has too much text; what this message says is left out",
	faultLatency:     "the latency is negative; it counts as unknown",
	faultConflict:    "the row has the event_id of another row and other content; it is left out",
	faultRedelivered: "the message was delivered before; it counts once",
}

// FaultText says in words what a kind of fault is.
func FaultText(kind string) string { return cmp.Or(faultTexts[kind], kind) }

// Faults counts rows of a log that say nothing, or contradict themselves: never fatal, never silent. The zero value has
// none.
type Faults struct {
	Counts map[string]int
	// Examples name the first events of each kind.
	Examples map[string][]string
}

// RowFault is a kind of fault, how many rows have it, and the ids of some.
type RowFault struct {
	Kind     string   `json:"kind"`
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// maxExamples bounds the events that are named of each fault.
const maxExamples = 5

func (f *Faults) note(kind string, count int, examples ...string) {
	if f.Counts == nil {
		f.Counts, f.Examples = map[string]int{}, map[string][]string{}
	}
	f.Counts[kind] += count
	f.Examples[kind] = append(f.Examples[kind], examples[:min(len(examples), maxExamples-len(f.Examples[kind]))]...)
}

// add counts the faults of a session among those of a log.
func (f *Faults) add(of *Faults) {
	for kind, n := range of.Counts {
		f.note(kind, n, of.Examples[kind]...)
	}
}

// List returns the faults by kind.
func (f *Faults) List() []RowFault {
	list := []RowFault{}
	for _, kind := range slices.Sorted(maps.Keys(f.Counts)) {
		list = append(list, RowFault{kind, f.Counts[kind], f.Examples[kind]})
	}
	return list
}

// Notes tells of the faults in words.
func (f *Faults) Notes() []Note {
	var notes []Note
	for _, fault := range f.List() {
		notes = append(notes, Note{
			Text: "in the log: " + FaultText(fault.Kind), Count: fault.Count, Examples: fault.Examples,
		})
	}
	return notes
}

// Reject counts a row that is not an event.
func (f *Faults) Reject(r Reject) {
	kind := faultPayload
	switch r.Kind {
	case NoSession, NoTime, BadTime:
		kind = faultNoPlace
	}
	f.note(kind, 1, fmt.Sprintf("row %d", r.Line))
}

// Conflict counts rows with the event_id of another row, of which some are named.
func (f *Faults) Conflict(n int, ids []string) {
	if n > 0 {
		f.note(faultConflict, n, ids...)
	}
}

// UnplacedRows is the fault of rows that belong to no session or have no time.
func UnplacedRows(n int, ids []string) RowFault { return RowFault{faultNoPlace, n, ids} }

// countUnusable counts the rows of a store that belong to no session.
func (f *Faults) countUnusable(ctx context.Context, events Events, filter Filter) error {
	lossy, ok := events.(Lossy)
	if !ok {
		return nil
	}
	faults, err := lossy.Unusable(ctx, filter)
	for _, of := range faults {
		f.note(of.Kind, of.Count, of.Examples...)
	}
	return err
}
