package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
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
	db      database
	columns eventColumns
	// insert adds the new ones of the rows, all or none, and returns them. Of rows with the same id the first counts.
	insert func(ctx context.Context, rows []eventRow) (added []addedEvent, err error)
}

var _ replay.Events = (*Events)(nil)

// eventColumns are the expressions that differ between the table of a file and exp.events in PostgreSQL, which may be
// an application's own. The name of the table in a query is e, or what replaces %s.
type eventColumns struct {
	session, flow string
	// arrival orders the events of a session and time, inTable those of one arrival.
	arrival, inTable string
	// bounded is the time where a query bounds it, and time an argument for it.
	bounded string
	time    func(micros int64) any
	// marks distinguishes the events of a session from those that it had.
	marks string
	// application is true if an application may have written the table.
	application bool
}

// sessionOf is the session of a row of a table.
func (c *eventColumns) sessionOf(table string) string { return fmt.Sprintf(c.session, table) }

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

// EachFrom yields the events of the session of an id and of those that come behind it, like Each; that one need not be
// there.
func (e *Events) EachFrom(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error] {
	if session == "" {
		return e.Each(ctx, f)
	}
	return e.from(ctx, f, eventPlace{session: plainText(session), micros: earliest})
}

func (e *Events) from(ctx context.Context, f replay.Filter, after eventPlace) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		query, after := newEventQuery(f), after
		inOrder(ctx, pages[storedEvent]{size: eventSize, read: func(ctx context.Context, limit int,
			take func(storedEvent) bool) error {
			sql, args := query.page(&e.columns, e.db, after, limit)
			err := e.db.page(ctx, sql, args, func(row scanner) error {
				event, err := scanEvent(row)
				if err == nil {
					after = placeAfter(event)
					if !take(event) {
						err = errEnough
					}
				}
				return err
			})
			return e.db.explain(ctx, "read events from", err)
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

// selectEvents begins a query of events; its condition follows.
func (c *eventColumns) selectEvents() string {
	return `SELECT ` + c.arrival + `, ` + c.inTable + `, event_id, coalesce(event_type, ''),
		coalesce(` + c.sessionOf("e") + `, ''), coalesce(` + c.flow + `, ''), "timestamp", coalesce(unit_type, ''),
		coalesce(unit_id, ''), experiments, context, metrics, payload
	FROM exp.events AS e WHERE `
}

func scanEvent(row scanner) (e storedEvent, err error) {
	err = row.Scan(&e.place, &e.inTable, &e.ID, &e.Type, &e.SessionID, &e.FlowID, storedTime{&e.Time}, &e.UnitType,
		&e.UnitID, (*[]byte)(&e.Experiments), (*[]byte)(&e.Context), (*[]byte)(&e.Metrics), (*[]byte)(&e.Payload))
	// null, as an application may have written it
	for _, doc := range []*json.RawMessage{&e.Experiments, &e.Metrics, &e.Payload} {
		if string(*doc) == "null" {
			*doc = nil
		}
	}
	return e, err
}

// page is the query of a page. Its expressions are those of the indexes; otherwise PostgreSQL would not use them.
func (q eventQuery) page(c *eventColumns, db database, after eventPlace, limit int) (query string, args []any) {
	var where conditions
	order := c.sessionOf("e") + `, "timestamp", ` + c.arrival + `, event_id COLLATE "C"`
	where.all = append(where.all, fmt.Sprintf("(%s) > (%s, %s, %s, %s)", order, where.arg(after.session),
		where.arg(c.time(after.micros)), where.arg(after.place), where.arg(after.id)))
	from, to := where.arg(c.time(q.from)), where.arg(c.time(q.to))
	if q.whole {
		// LIMIT makes this a look-up for each row, which the index answers. As a join it would read the table for
		// every page.
		where.all = append(where.all, `(SELECT true FROM exp.events AS any_of WHERE `+c.sessionOf("any_of")+` = `+
			c.sessionOf("e")+` AND any_of."timestamp" >= `+from+` AND any_of."timestamp" < `+to+` LIMIT 1)`)
	} else {
		where.all = append(where.all, c.bounded+` >= `+from, c.bounded+` < `+to)
	}
	q.choose(&where, c, db)
	return c.selectEvents() + where.String() + ` ORDER BY ` + order + ` LIMIT ` + where.arg(limit), where.args
}

// choose adds the conditions of the flow and the types.
func (q eventQuery) choose(where *conditions, c *eventColumns, db database) {
	if q.flow != "" {
		where.where(c.flow+" = %s", q.flow)
	}
	if len(q.types) > 0 {
		condition, list := db.oneOf("event_type", fmt.Sprintf("$%d", len(where.args)+1), q.types)
		where.all, where.args = append(where.all, condition), append(where.args, list)
	}
}

// texts reads the texts of a query.
func (e *Events) texts(ctx context.Context, op, query string, args ...any) (found []string, err error) {
	err = e.db.read(ctx, query, args, func(row scanner) error {
		var text string
		err := row.Scan(&text)
		found = append(found, text)
		return err
	})
	return found, e.db.explain(ctx, op, err)
}

// FlowsOf returns the flows that have events of a session, in the order of their names.
func (e *Events) FlowsOf(ctx context.Context, session string) ([]string, error) {
	return e.texts(ctx, "look for a session in", `SELECT DISTINCT `+e.columns.flow+` AS flow FROM exp.events AS e
		WHERE `+e.columns.sessionOf("e")+` = $1 AND `+e.columns.flow+` <> '' ORDER BY flow`, plainText(session))
}

// EraseSession deletes the events of a session of a flow, so that nothing of them is left in the file of a store. There
// may be none.
func (e *Events) EraseSession(ctx context.Context, flow, session string) error {
	erased, err := e.db.exec(ctx, `DELETE FROM exp.events AS e
		WHERE `+e.columns.sessionOf("e")+` = $1 AND coalesce(`+e.columns.flow+`, '') = $2`,
		plainText(session), plainText(flow))
	if err == nil && erased > 0 {
		err = e.db.truncateLog(ctx)
	}
	return e.db.explain(ctx, "erase events from", err)
}

// digestSeed makes the digests of sessions, which are valid as long as the program runs.
var digestSeed = maphash.MakeSeed()

// Digests returns a number for each session, which is another one when events of it were added, changed or erased. It
// reads no content of events, so that it takes a small part of what reading all of them takes. None are returned where
// there would be more than most.
func (e *Events) Digests(ctx context.Context, most int) (map[string]uint64, error) {
	digests := map[string]uint64{}
	session := e.columns.sessionOf("e")
	err := e.db.read(ctx, `SELECT `+session+`, `+e.columns.marks+` FROM exp.events AS e WHERE `+session+` <> ''
		GROUP BY `+session+` LIMIT $1`, []any{most + 1}, func(row scanner) error {
		var session, marks string
		err := row.Scan(&session, &marks)
		digests[session] = maphash.String(digestSeed, marks)
		return err
	})
	if err != nil || len(digests) > most {
		return nil, e.db.explain(ctx, "read events from", err)
	}
	return digests, nil
}

// maxUnusableNamed is how many rows without a session are named.
const maxUnusableNamed = 5

var _ replay.Lossy = (*Events)(nil)

// Unusable counts the rows that have no session or no time, so that Each cannot yield them, and names some of them.
// Only an application's own table has such rows: Put stores none.
func (e *Events) Unusable(ctx context.Context, f replay.Filter) ([]replay.RowFault, error) {
	if !e.columns.application {
		return nil, nil
	}
	n, examples := 0, []string{}
	q, session := newEventQuery(f), e.columns.sessionOf("e")
	where := conditions{args: []any{e.columns.time(q.from), e.columns.time(q.to), maxUnusableNamed}, all: []string{
		`(` + session + ` IS NULL OR ` + session + ` = '' OR isfinite("timestamp") IS NOT TRUE)`,
		`(isfinite("timestamp") IS NOT TRUE OR "timestamp" >= $1 AND "timestamp" < $2)`,
	}}
	q.choose(&where, &e.columns, e.db)
	err := e.db.read(ctx, `SELECT count(*) OVER (), coalesce(event_id::text, '') FROM exp.events AS e
		WHERE `+where.String()+` ORDER BY coalesce(event_id::text, '') COLLATE "C" LIMIT $3`, where.args,
		func(row scanner) error {
			var id string
			err := row.Scan(&n, &id)
			examples = append(examples, id)
			return err
		})
	if err != nil || n == 0 {
		return nil, e.db.explain(ctx, "count events of", err)
	}
	return []replay.RowFault{replay.UnplacedRows(n, examples)}, nil
}
