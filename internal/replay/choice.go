package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Choice says which sessions of a log are replayed.
type Choice struct {
	FlowID string
	// From and To bound the time of their events, To being excluded; zero is no bound. A session is replayed whole or
	// not at all.
	From, To time.Time
	// MinTurns is the least number of the user's messages.
	MinTurns int
	// Gap is that of Sessions.
	Gap time.Duration
	// Zone is that of the times of the sessions, which decide the days on which they began; nil is UTC.
	Zone *time.Location

	// Slices are fields whose values the sessions are given.
	Slices []string

	// byEnd takes a session into the range in which its last event lies, wherever it began. What known knows is passed
	// over, uncounted; nil knows nothing.
	byEnd bool
	known func(session string) bool
}

// LogToFigures says what became of the sessions of a log that have an event in the range: each stands in one line, the
// first that applies, and the lines add up to Read.
type LogToFigures struct {
	Read int `json:"read"`
	// OtherFlow are those of which no row names the flow, MixedFlow those that name another one, too.
	OtherFlow int `json:"other_flow"`
	MixedFlow int `json:"mixed_flow"`
	// CutLeft began before the range, CutRight go on behind it.
	CutLeft       int `json:"cut_left"`
	CutRight      int `json:"cut_right"`
	BelowMinTurns int `json:"below_min_turns"`
	NotSampled    int `json:"not_sampled"`
	Lost          int `json:"lost"`
	// Compared is the sum of the four below. Those that are Censored completed in the log and wait for an answer in a
	// lane; the others are by how the sessions had ended.
	Compared       int `json:"compared"`
	Completed      int `json:"completed"`
	DroppedOff     int `json:"dropped_off"`
	UnknownOutcome int `json:"unknown_outcome"`
	Censored       int `json:"censored"`
	// RowFaults are what is wrong with rows of the sessions that were read.
	RowFaults []RowFault `json:"row_faults"`
}

// filter chooses the events of the sessions that have one in the range.
func (c Choice) filter() Filter {
	return Filter{
		From: c.From, To: c.To, EntireSessions: true, Types: []string{Started, Message, Completed, DroppedOff},
	}
}

// sessions yields the chosen ones of all sessions, and counts the others.
func (c Choice) sessions(events iter.Seq2[Event, error], table *LogToFigures,
	faults *Faults) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		for s, err := range bySession(events, c.Gap, c.From, c.To, c.Slices) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !s.inside || c.known != nil && c.known(s.ID) {
				continue
			}
			if c.Zone != nil {
				s.Started, s.Ended = s.Started.In(c.Zone), s.Ended.In(c.Zone)
			}
			table.Read++
			faults.add(&s.faults)
			if line := c.leavesOut(s, table); line != nil {
				*line++
			} else if !yield(s, nil) {
				return
			}
		}
	}
}

// leavesOut returns the line of the table for which a session is left out, nil for one that is chosen.
func (c Choice) leavesOut(s *Session, table *LogToFigures) *int {
	switch {
	case c.FlowID != "" && !slices.Contains(s.flows, c.FlowID):
		return &table.OtherFlow
	case s.Mixed():
		return &table.MixedFlow
	case s.Started.Before(c.From) && !c.byEnd:
		return &table.CutLeft
	case !c.To.IsZero() && !s.Ended.Before(c.To):
		return &table.CutRight
	case s.Turns() < c.MinTurns:
		return &table.BelowMinTurns
	}
	return nil
}

// Lines says the table in words, a line for each number that is not 0.
func (t *LogToFigures) Lines() []string {
	lines := []string{text.Plural(t.Read, "session") + " read"}
	for _, of := range []struct {
		n    int
		what string
	}{
		{t.OtherFlow, "of another flow"},
		{t.MixedFlow, "of more than one flow"},
		{t.CutLeft, "began before the range"},
		{t.CutRight, "go on behind the range"},
		{t.BelowMinTurns, "with fewer user messages than --min_turns"},
		{t.NotSampled, "not in the sample"},
		{t.Lost, "lost: a lane failed"},
		{t.Compared, fmt.Sprintf("compared: %d completed, %d dropped off, %d of unknown outcome, %d censored",
			t.Completed, t.DroppedOff, t.UnknownOutcome, t.Censored)},
	} {
		if of.n > 0 {
			lines = append(lines, fmt.Sprintf("%d %s", of.n, of.what))
		}
	}
	for _, f := range t.RowFaults {
		lines = append(lines, fmt.Sprintf("%s: %s (%s: %s)", text.Plural(f.Count, "row"), FaultText(f.Kind), f.Kind,
			line(strings.Join(f.Examples, ", "))))
	}
	return lines
}

// ErrNoSessions says that there is nothing to replay.
var ErrNoSessions = errors.New("there is no session to replay")

// NothingError is ErrNoSessions with what became of the sessions that the log has.
type NothingError struct{ Table LogToFigures }

func (e *NothingError) Error() string {
	return ErrNoSessions.Error() + ": " + strings.Join(e.Table.Lines(), "; ")
}

func (e *NothingError) Unwrap() error { return ErrNoSessions }

// chosen yields the sessions that the run is to replay, but for the sample.
func (e *Evaluation) chosen(ctx context.Context, table *LogToFigures, faults *Faults) iter.Seq2[*Session, error] {
	c := Choice{
		FlowID: e.Head.Run.FlowID, From: e.From, To: e.To, MinTurns: e.MinTurns, Gap: e.SessionGap,
		Slices: e.Rules.Slices,
		Zone:   e.From.Location(), byEnd: e.byEnd, known: e.known,
	}
	return c.sessions(resumingIterator(ctx, e.Events, c.filter()), table, faults)
}
