package pages

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// sessionsPage lists sessions.
type sessionsPage struct {
	frame.Page
	Query frame.Query
	List  frame.List
	Rows  []sessionRow
	Flows []string
	// HasLive is true where chatbots have live sessions. AsOf is when logged ones were read, where that was a while
	// ago.
	HasLive bool
	AsOf    time.Time
}

type sessionRow struct {
	sessionSummary
	Address string
}

// sessions answers with the sessions that chatbots hold and those that are logged.
func (p *Pages) sessions(w http.ResponseWriter, r *http.Request) {
	page := sessionsPage{
		Page:  p.frame.Base(r, "sessions", "Sessions"),
		Query: frame.QueryOf(r, "/sessions", "flow", "outcome", "unit", "from", "to", "q", "live", "page", "per"),
	}
	page.HasLive = p.Live != nil
	all, ok := p.allSessions(w, r, &page)
	if !ok {
		return
	}
	flows := map[string]bool{}
	for i := range all {
		flows[all[i].Flow] = true
	}
	page.Flows = slices.Sorted(maps.Keys(flows))
	fits := sessionFilters(page.Query)
	kept := all
	if len(fits) > 0 {
		kept = nil
		for _, s := range all {
			if fits.all(s, "") {
				kept = append(kept, s)
			}
		}
	}
	var first, last int
	page.List, first, last = page.Query.Page("sessions", len(kept))
	for _, s := range kept[first:last] {
		page.Rows = append(page.Rows, sessionRow{s, p.addressOfSession(s, "", "")})
	}
	switch {
	case len(all) == 0 && page.HasLive:
		page.List.Empty = "There are no sessions yet. Those of visitors of this server's chatbots will be here, " +
			"and `rehearse replay import FILE --store URL` loads logged conversations."
	case len(all) == 0:
		page.List.Empty = "There are no sessions yet. `rehearse replay import FILE --store URL` loads logged " +
			"conversations."
	case len(kept) == 0:
		page.List.Empty, page.List.Drop = "No session fits these filters.", dropped(page.Query, fits, all)
	}
	p.frame.Show(w, http.StatusOK, "sessions", page)
}

// allSessions returns all sessions, the newest first; ok is false where it has answered that they cannot be read.
func (p *Pages) allSessions(w http.ResponseWriter, r *http.Request,
	page *sessionsPage) (all []sessionSummary, ok bool) {
	store, ok := p.stored(w, r)
	if !ok {
		return nil, false
	}
	var more bool
	if store != nil {
		logged, err := p.logged.list(r.Context(), store, p.Now)
		if err != nil {
			p.away(w, r, err)
			return nil, false
		}
		all, more = logged.all, logged.more
		if p.Now().Sub(logged.began) > keepSessions {
			page.AsOf = logged.began
		}
	}
	if page.HasLive {
		held, others, err := p.holding.list(r.Context(), p.Live, p.Now)
		if err != nil {
			p.notHeld(w, r, err)
			return nil, false
		}
		all, more = withLive(held, all), more || others
	}
	if more {
		page.Warnings = append(page.Warnings, "There are more sessions than are listed.")
	}
	return all, true
}

// newestFirst is the order of a list of sessions.
func newestFirst(a, b sessionSummary) int {
	if began := b.Started.Compare(a.Started); began != 0 {
		return began
	}
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Flow, b.Flow))
}

// addressOfSession returns the address of a session, or of something of it. Sites may have sessions of one id, so that
// of a server names the flow, too.
func (p *Pages) addressOfSession(s sessionSummary, of, view string) string {
	values := url.Values{}
	if p.Live != nil && s.Flow != "" {
		values.Set("flow", s.Flow)
	}
	if view != "" {
		values.Set("view", view)
	}
	return frame.Address("/sessions/"+frame.Segment(s.ID)+of, values)
}

// sessionFilters are the filters of the list of sessions.
func sessionFilters(q frame.Query) (fs filters[sessionSummary]) {
	fs.add(q, "flow", func(s sessionSummary, value string) bool { return s.Flow == value })
	fs.add(q, "outcome", func(s sessionSummary, value string) bool { return s.Outcome == value })
	fs.add(q, "unit", func(s sessionSummary, value string) bool { return s.Unit == value })
	fs.add(q, "live", func(s sessionSummary, value string) bool {
		live, err := strconv.ParseBool(value)
		return err == nil && s.Live == live
	})
	fs.add(q, "from", func(s sessionSummary, value string) bool {
		at, ok := dayOf(value)
		return ok && !s.Started.Before(at)
	})
	fs.add(q, "to", func(s sessionSummary, value string) bool {
		at, ok := dayOf(value)
		return ok && s.Started.Before(at)
	})
	fs.add(q, "q", func(s sessionSummary, value string) bool {
		about := runindex.Fold(s.ID + "\n" + s.Flow + "\n" + s.Unit)
		return !slices.ContainsFunc(strings.Fields(runindex.Fold(value)), func(word string) bool {
			return !strings.Contains(about, word)
		})
	})
	return fs
}

// dayOf reads a date or a time.
func dayOf(value string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, value); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
