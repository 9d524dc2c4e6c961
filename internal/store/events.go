package store

import (
	"context"
	"iter"
	"time"

	"rehearse/internal/replay"
)

// Events keeps logged events, in a store's file or in a PostgreSQL database, with the same answers. It is safe for concurrent use
// and for several processes. Store.Events and Postgres.Events give it.
//
// Text comes back as it was put, except that U+FFFD replaces what PostgreSQL cannot keep: bytes that are not UTF-8, NUL, and half a
// surrogate pair in JSON. Numbers of more than 1,000 digits or with an exponent beyond ±1,000 come back as strings. JSON that is null
// comes back as nil. Times come back in UTC, cut to the microsecond. JSON is the same value, not the same text.
// Context has session_id and flow_id as the event has them.
type Events struct {
	table eventTable
}

var _ replay.Events = (*Events)(nil)

// eventTable is the part of Events that differs between databases.
type eventTable interface {
	// insert adds the new ones of the rows, all or none, and returns them. Of rows with the same id the first counts.
	insert(ctx context.Context, rows []eventRow) (added []addedEvent, err error)
	// page hands the events of a query that come after a place, in their order, until take returns false.
	page(ctx context.Context, q eventQuery, after eventPlace, limit int, take func(replay.Event) bool) error
}

// addedEvent is an event that was new.
type addedEvent struct{ id, session string }

// Each yields events ordered by session, time and ID, each in byte order. It reads them in pages, so that it holds no connection while the
// caller works. Events that are added meanwhile may be missing. After an error it yields nothing more.
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
		pages[replay.Event]{size: eventSize, read: func(ctx context.Context, limit int, take func(replay.Event) bool) error {
			return e.table.page(ctx, query, after, limit, func(event replay.Event) bool {
				after = placeAfter(event)
				return take(event)
			})
		}}.each(ctx)(yield)
	}
}

func eventSize(e replay.Event) int {
	return len(e.ID) + len(e.Type) + len(e.UnitType) + len(e.UnitID) + len(e.SessionID) + len(e.FlowID) +
		len(e.Experiments) + len(e.Context) + len(e.Metrics) + len(e.Payload)
}

// The bounds of the times of events, in microseconds since 1970. PostgreSQL has no earlier times, and its infinite ones do not count.
var (
	earliest = time.Date(-4000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	latest   = time.Date(200_000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
)

// eventQuery is a filter as a database applies it.
type eventQuery struct {
	flow     string // "" for all
	from, to int64  // microseconds since 1970, to being excluded
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

// eventPlace is a place in the order of events.
type eventPlace struct {
	session string
	micros  int64
	id      string
}

// firstPlace is before the events of all sessions, and after those without a session, which an application may have written.
var firstPlace = eventPlace{micros: latest}

// placeAfter is the place after an event.
func placeAfter(e replay.Event) eventPlace {
	return eventPlace{session: e.SessionID, micros: e.Time.UnixMicro(), id: e.ID}
}
