package pages

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/eventlog"
)

// LiveSessions are the sessions that chatbots hold.
type LiveSessions interface {
	// Sessions lists those of a site, or of all for an empty name: a page, with the newest message first.
	Sessions(ctx context.Context, site string, q sitebot.Query) (*sitebot.SessionList, error)
	// Recorded returns the session with the site and the id of a row; nil where there is none.
	Recorded(ctx context.Context, row sessionindex.Row) (*sitebot.Session, error)
}

// heldPage is how many rows are read at once. heldOverlap is how far clocks of servers that hold sessions together may
// differ.
const (
	heldPage    = 1_000
	heldOverlap = 10 * time.Second
)

// liveLists keeps the rows of all held sessions. A look reads those that had a message since the last one; all are read
// again only after a while, when those that were erased or have expired are dropped. It is safe for concurrent use; the
// zero value is empty.
type liveLists struct {
	mu     sync.Mutex
	rows   map[string]sessionindex.Row
	newest time.Time
	// more is true where there are others.
	more bool
	cacheTimes
	// all is what the rows say, the newest first, as of built; nil after one of them has changed.
	all   []sessionSummary
	built time.Time
}

// list returns the held sessions, the newest first. More is true where there are others.
func (l *liveLists) list(ctx context.Context, held LiveSessions,
	now func() time.Time) (all []sessionSummary, more bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	began := now()
	if len(l.rows) > 0 && l.holds(began) {
		err = l.read(ctx, held, l.newest.Add(-heldOverlap))
	} else {
		l.rows, l.all, l.newest, l.more = map[string]sessionindex.Row{}, nil, time.Time{}, false
		if err = l.read(ctx, held, time.Time{}); err != nil {
			l.rows = nil // a part would look like the whole
		}
		l.cacheTimes = cacheTimesOf(began, now())
	}
	if err != nil {
		return nil, false, err
	}
	if l.all == nil || began.Sub(l.built) > keepSessions { // a visitor has left by the clock alone
		l.all, l.built = make([]sessionSummary, 0, len(l.rows)), began
		for _, row := range l.rows {
			l.all = append(l.all, summaryOfLive(&row, began))
		}
		slices.SortFunc(l.all, newestFirst)
	}
	return l.all, l.more, nil
}

// read adds the rows of sessions that had a message at a time or later.
func (l *liveLists) read(ctx context.Context, held LiveSessions, since time.Time) error {
	q := sitebot.Query{Query: sessionindex.Query{Since: since, Limit: heldPage}}
	for {
		page, err := held.Sessions(ctx, "", q)
		if err != nil {
			return err
		}
		for _, row := range page.Sessions {
			thread := sessionindex.Thread(row.Site, row.Session)
			before, known := l.rows[thread]
			if !known && len(l.rows) == maxSessions {
				l.more = true
				return nil
			}
			if !known || before != row {
				l.rows[thread], l.all = row, nil
			}
			if row.Last.After(l.newest) {
				l.newest = row.Last
			}
		}
		if page.Next == nil {
			return nil
		}
		if q.After, err = sessionindex.ParseCursor(*page.Next); err != nil {
			return err
		}
	}
}

func summaryOfLive(row *sessionindex.Row, now time.Time) sessionSummary {
	s := sessionSummary{
		ID: row.Session, Flow: row.Site, Unit: row.Person, Outcome: outcomeUnknown, Turns: row.Turns,
		Started: row.Started, Live: true,
	}
	switch {
	case row.Outcome == sessionindex.Converted:
		s.Outcome = outcomeCompleted
	case row.Turns > 0 && eventlog.Gone(row, now): // the log says the same
		s.Outcome = outcomeDropped
	}
	return s
}

// withLive makes one list of sessions that are held and those of a log, each with the newest first. Of one that is both
// the log's is left out.
func withLive(held, logged []sessionSummary) []sessionSummary {
	switch {
	case len(held) == 0:
		return logged
	case len(logged) == 0:
		return held
	}
	type key struct{ flow, id string }
	known := make(map[key]bool, len(held))
	for _, s := range held {
		known[key{s.Flow, s.ID}] = true
	}
	all := make([]sessionSummary, 0, len(held)+len(logged))
	for _, s := range logged {
		if known[key{s.Flow, s.ID}] {
			continue
		}
		for len(held) > 0 && newestFirst(held[0], s) < 0 {
			all, held = append(all, held[0]), held[1:]
		}
		all = append(all, s)
	}
	return append(all, held...)
}

// heldSession returns a session that is held; nil if there is none. An empty flow stands for any site.
func (p *Pages) heldSession(ctx context.Context, id, flow string) (*shownSession, error) {
	if p.Live == nil || id == "" {
		return nil, nil
	}
	if flow == "" {
		all, _, err := p.holding.list(ctx, p.Live, p.Now)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(all, func(s sessionSummary) bool { return s.ID == id })
		if at < 0 {
			return nil, nil
		}
		flow = all[at].Flow
	}
	s, err := p.Live.Recorded(ctx, sessionindex.Row{Site: flow, Session: id})
	if err != nil || s == nil {
		return nil, err
	}
	return shownOf(s, p.Now())
}

// shownOf tells a held session as its log would, or will, tell it.
func shownOf(s *sitebot.Session, now time.Time) (*shownSession, error) {
	events, err := eventlog.Events(s, now)
	if err != nil {
		return nil, err
	}
	shown := &shownSession{
		Session: &replay.Session{ID: s.Row.Session}, Summary: summaryOfLive(&s.Row, now), Failures: s.Failures,
	}
	inOrder := func(yield func(replay.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
	for told, err := range replay.Sessions(inOrder, replay.NoSessionGap, &replay.Faults{}) {
		if err != nil {
			return nil, err
		}
		shown.Session = told
	}
	return shown, nil
}

// notHeld answers that sessions which are held cannot be read.
func (p *Pages) notHeld(w http.ResponseWriter, r *http.Request, err error) {
	// an address may name a session, which is the key to it
	p.Frame.Log.Error("the sessions of chatbots cannot be read", "error", err)
	p.frame.Unavailable(w, r, "The sessions that this server holds cannot be read: their store cannot be reached.")
}
