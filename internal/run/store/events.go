package store

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Events keeps logged events, in a store's file or in a PostgreSQL database, with the same answers. It is safe for
// concurrent use and for several processes. Store.Events and Postgres.Events give it.
//
// Text comes back as it was put, except that U+FFFD replaces what PostgreSQL cannot keep: bytes that are not UTF-8,
// NUL, and half a surrogate pair in JSON. Numbers of more than 1,000 digits or with an exponent beyond ±1,000 come back
// as strings. JSON that is null comes back as nil. Times come back in UTC, cut to the microsecond. JSON is the same
// value, not the same text. Context has session_id and flow_id as the event has them.
type Events struct {
	table eventTable
}

var _ replay.Events = (*Events)(nil)

// eventTable is the part of Events that differs between databases.
type eventTable interface {
	// insert adds the new ones of the rows, all or none, and returns them. Of rows with the same id the first counts.
	insert(ctx context.Context, rows []eventRow) (added []addedEvent, err error)
	// sessionsAmong returns which of the sessions have an event.
	sessionsAmong(ctx context.Context, sessions []string) ([]string, error)
	// get returns the events with the ids, as far as they are there, in any order.
	get(ctx context.Context, ids []string) ([]replay.Event, error)
	// flowsOf returns the flows that have events of a session, in their order.
	flowsOf(ctx context.Context, session string) ([]string, error)
	// erase deletes the events of a session of a flow.
	erase(ctx context.Context, flow, session string) error
	// marks hands, for each of so many sessions at most, what tells its events from those that it had.
	marks(ctx context.Context, most int, take func(session, marks string)) error
	// page hands the events of a query that come after a place, in the order of places, until take returns false.
	page(ctx context.Context, q eventQuery, after eventPlace, limit int, take func(storedEvent) bool) error
}

// storedEvent is an event with its place: of two events of one session and time that with the lower one arrived first.
// Where places are equal inTable says it.
type storedEvent struct {
	replay.Event
	place   int64
	inTable int64
}

// addedEvent is an event that was new.
type addedEvent struct{ id, session string }

// Each yields events ordered by session, in byte order, and time; of one time those that have a turn number by that
// number, and the first that arrived first. It reads them in pages, so that it holds no connection while the caller
// works. Events that are added meanwhile may be missing. After an error it yields nothing more.
func (e *Events) Each(ctx context.Context, f replay.Filter) iter.Seq2[replay.Event, error] {
	return e.from(ctx, f, firstPlace)
}

// EachAfter yields the events of the sessions that come behind one of an id, like Each; that one need not be there.
func (e *Events) EachAfter(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error] {
	return e.from(ctx, f, eventPlace{session: plainText(session), micros: latest})
}

func (e *Events) from(ctx context.Context, f replay.Filter, after eventPlace) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		query, after := newEventQuery(f), after
		inOrder(ctx, pages[storedEvent]{size: eventSize, read: func(ctx context.Context, limit int,
			take func(storedEvent) bool) error {
			return e.table.page(ctx, query, after, limit, func(event storedEvent) bool {
				after = placeAfter(event)
				return take(event)
			})
		}}.each(ctx))(yield)
	}
}

// maxTied and maxTiedBytes bound the events of one session and one time that are put in order together.
const (
	maxTied      = 20_000
	maxTiedBytes = 64 << 20
)

// inOrder puts events of one session and time into their order.
func inOrder(ctx context.Context, events iter.Seq2[storedEvent, error]) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		var tied []storedEvent
		size := 0
		hand := func() bool {
			size = 0
			if len(tied) == 1 {
				e := tied[0].Event
				tied = tied[:0]
				return yield(e, nil)
			}
			slices.SortStableFunc(tied, func(a, b storedEvent) int {
				return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.inTable, b.inTable))
			})
			group := make([]replay.Event, len(tied))
			for i := range tied {
				group[i] = tied[i].Event
			}
			tied = tied[:0]
			replay.SortTied(group)
			for _, e := range group {
				if err := ctx.Err(); err != nil {
					yield(replay.Event{}, err)
					return false
				}
				if !yield(e, nil) {
					return false
				}
			}
			return true
		}
		for e, err := range events {
			if n := len(tied); n > 0 && (err != nil || e.SessionID != tied[0].SessionID ||
				!e.Time.Equal(tied[0].Time) || n == maxTied || size > maxTiedBytes) && !hand() {
				return
			}
			if err != nil {
				yield(replay.Event{}, err)
				return
			}
			tied = append(tied, e)
			size += eventSize(e)
		}
		hand()
	}
}

func eventSize(e storedEvent) int {
	return len(e.ID) + len(e.Type) + len(e.UnitType) + len(e.UnitID) + len(e.SessionID) + len(e.FlowID) +
		len(e.Experiments) + len(e.Context) + len(e.Metrics) + len(e.Payload)
}

// The bounds of the times of events, in microseconds since 1970. PostgreSQL has no earlier times, and its infinite ones
// do not count.
var (
	earliest = time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	latest   = time.Date(200_000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
)

// eventQuery is a filter as a database applies it.
type eventQuery struct {
	flow     string // "" for all
	from, to int64  // microseconds since 1970, to being excluded
	whole    bool   // the bounds are of sessions, not of events
	types    []string
}

func newEventQuery(f replay.Filter) eventQuery {
	q := eventQuery{flow: plainText(f.FlowID), from: earliest, to: latest}
	for _, kind := range f.Types {
		q.types = append(q.types, plainText(kind))
	}
	if !f.From.IsZero() {
		q.from = boundMicro(f.From)
	}
	if !f.To.IsZero() {
		q.to = boundMicro(f.To)
	}
	q.whole = f.EntireSessions && !(f.From.IsZero() && f.To.IsZero())
	return q
}

// boundMicro rounds up: an event in whole microseconds is before t exactly if it is before the result.
func boundMicro(t time.Time) int64 {
	if y := t.Year(); y < -4000 || y >= 200_000 { // UnixMicro would overflow somewhere beyond
		if y < 0 {
			return earliest
		}
		return latest
	}
	return t.Add(time.Microsecond - 1).UnixMicro()
}

// eventPlace is a place in the order in which a table is read: by session, time, place and, where places are equal, id.
type eventPlace struct {
	session string
	micros  int64
	place   int64
	id      string
}

// firstPlace is before the events of all sessions, and after those without a session, which an application may have
// written.
var firstPlace = eventPlace{micros: latest}

// placeAfter is the place after an event.
func placeAfter(e storedEvent) eventPlace {
	return eventPlace{session: e.SessionID, micros: e.Time.UnixMicro(), place: e.place, id: e.ID}
}

// FlowsOf returns the flows that have events of a session, in the order of their names.
func (e *Events) FlowsOf(ctx context.Context, session string) ([]string, error) {
	return e.table.flowsOf(ctx, plainText(session))
}

// EraseSession deletes the events of a session of a flow, so that nothing of them is left in the file of a store. There
// may be none.
func (e *Events) EraseSession(ctx context.Context, flow, session string) error {
	return e.table.erase(ctx, plainText(flow), plainText(session))
}
