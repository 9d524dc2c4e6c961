package sessionindex

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Cursor is a place in the list of sessions. The zero value is its beginning.
//
// The list has two parts: all sessions, those with the newest message first, and then those with a message since the
// list was begun, by thread. A message takes a session to the front of the first part, which a reader has passed. The
// second part has the session, once more if it was read before, so no session is lost that exists all the time.
type Cursor struct {
	// Last and Thread are those of the session before the place. The second part has no Last.
	Last   time.Time
	Thread string
	// Top is when the list was begun, or the newest message then if a clock is ahead.
	Top time.Time
	// Changed is zero in the first part. The second has the sessions with a message at this time or later.
	Changed time.Time
	// Recent sums up the sessions of the first part whose messages are recent as of Top.
	Recent uint64
}

// settling is how long a message may take from its time until it is in the index, with the difference of clocks.
const settling = time.Minute

// cursorFormat has last, top, changed and recent; the thread follows, which may have spaces.
const cursorFormat = "%d %d %d %d "

// String writes the place as text; empty for the beginning.
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return ""
	}
	micros := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return t.UnixMicro()
	}
	return base64.RawURLEncoding.EncodeToString([]byte(
		fmt.Sprintf(cursorFormat, micros(c.Last), micros(c.Top), micros(c.Changed), c.Recent) + c.Thread))
}

// ParseCursor reads a cursor.
func ParseCursor(cursor string) (c Cursor, err error) {
	if cursor == "" {
		return c, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	parts := strings.SplitN(string(data), " ", strings.Count(cursorFormat, " ")+1)
	if err != nil || len(parts) <= strings.Count(cursorFormat, " ") {
		return c, errPlace
	}
	for i, t := range []*time.Time{&c.Last, &c.Top, &c.Changed} {
		micros, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			return Cursor{}, errPlace
		}
		if micros != 0 {
			*t = time.UnixMicro(micros).UTC()
		}
	}
	if c.Recent, err = strconv.ParseUint(parts[3], 10, 64); err != nil {
		return Cursor{}, errPlace
	}
	c.Thread = parts[4]
	return c, nil
}

// errPlace means that text is not a cursor.
var errPlace = errors.New("it is no cursor of a list of sessions")

// Cursor is the place of a session in the first part of the list.
func (r *Row) Cursor() Cursor { return Cursor{Last: r.Last, Thread: Thread(r.Site, r.Session)} }

// Compare orders sessions by their newest message, and by thread.
func (r *Row) Compare(other *Row) int {
	return cmp.Or(r.Last.Compare(other.Last),
		strings.Compare(Thread(r.Site, r.Session), Thread(other.Site, other.Session)))
}

// pass moves the place behind the session that follows it.
func (c *Cursor) pass(r *Row) {
	if c.Thread = Thread(r.Site, r.Session); !c.Changed.IsZero() {
		return
	}
	if c.Last = r.Last; !r.Last.Before(c.Top.Add(-settling)) {
		c.Recent += digest(r)
	}
}

// digest stands for a session with its newest message.
func digest(r *Row) uint64 {
	sum := sha256.Sum256([]byte(strconv.FormatInt(r.Last.UnixMicro(), 10) + " " + Thread(r.Site, r.Session)))
	return binary.BigEndian.Uint64(sum[:])
}

const (
	// searchPage is how many sessions are searched at once, searchMost how many at all.
	searchPage = 200
	searchMost = 20_000
)

// Page returns the q.Limit sessions behind q.After that a query selects and that match; matches may be nil. Next is the
// cursor of the next page, empty after the last one. A page that searches may end before it is full.
func Page(ctx context.Context, index Index, q Query, now time.Time,
	matches func(*Row) (bool, error)) (page []Row, next string, err error) {
	size, listed := q.Limit, map[string]bool{}
	if q.Limit++; matches != nil {
		q.Limit = searchPage
	}
	for passed := 0; ; {
		rows, err := index.Sessions(ctx, q)
		if err != nil {
			return nil, "", err
		}
		first := q.After == Cursor{}
		if first {
			if q.After.Top = now; len(rows) > 0 && rows[0].Last.After(now) {
				q.After.Top = rows[0].Last
			}
		}
		for i := range rows {
			if len(page) == size || passed == searchMost {
				return page, q.After.String(), nil
			}
			fits := true
			if matches != nil {
				if fits, err = matches(&rows[i]); err != nil {
					return nil, "", err
				}
			}
			passed++
			if q.After.pass(&rows[i]); fits && !listed[q.After.Thread] {
				page, listed[q.After.Thread] = append(page, rows[i]), true
			}
		}
		switch {
		case len(rows) == q.Limit: // there may be more of this part
		case first || !q.After.Changed.IsZero():
			return page, "", nil
		default:
			if q.After, err = secondPart(ctx, index, q); err != nil {
				return nil, "", err
			}
		}
	}
}

// secondPart returns where the second part of a query's list begins, once the first was read up to q.After.
//
// A message is in the index somewhat later than its time. So the second part would begin before Top, and repeat all
// sessions with recent messages. It does not if they are the same that were read.
func secondPart(ctx context.Context, index Index, q Query) (Cursor, error) {
	begun := q.After
	from, until := begun.Top.Add(-settling), begun.Top.Add(time.Microsecond)
	if q.After, q.Limit = (Cursor{}), searchPage; q.Since.Before(from) {
		q.Since = from
	}
	if q.Until.IsZero() || q.Until.After(until) {
		q.Until = until
	}
	recent := uint64(0)
	for {
		rows, err := index.Sessions(ctx, q)
		if err != nil {
			return Cursor{}, err
		}
		for i := range rows {
			recent += digest(&rows[i])
			q.After = rows[i].Cursor()
		}
		if len(rows) < q.Limit {
			break
		}
	}
	if recent == begun.Recent {
		from = until
	}
	return Cursor{Top: begun.Top, Changed: from}, nil
}
