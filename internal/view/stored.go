package view

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"rehearse/internal/annotation"
	"rehearse/internal/dataset"
	"rehearse/internal/replay"
	"rehearse/internal/report/transcript"
	"rehearse/internal/view/frame"
)

// Stored is what pages show of a store.
type Stored struct {
	Sessions interface {
		EachAfter(ctx context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error]
	}
	Datasets interface {
		List(ctx context.Context) ([]dataset.Entry, error)
		Items(ctx context.Context, name string) iter.Seq2[dataset.Record, error]
		Update(ctx context.Context, name, id string, o dataset.PutOptions, change func(old *dataset.Record) (dataset.Record, error)) error
	}
	// Replays are the evaluations of replays; nil where there are none.
	Replays interface {
		Runs(ctx context.Context, limit int) ([]replay.Run, error)
		Run(ctx context.Context, id string) (replay.Run, error)
		Outcomes(ctx context.Context, id string) iter.Seq2[replay.Outcome, error]
	}
	// Folders returns the folders of the runs that the store has in its index.
	Folders     func(ctx context.Context) ([]string, error)
	Annotations interface {
		Add(ctx context.Context, a annotation.Annotation) error
		Of(ctx context.Context, run string) ([]annotation.Annotation, error)
	}
}

// stored returns the store. Nil stands for one that there is not yet; ok is false where the page has been answered: the store cannot be reached.
func (p *Pages) stored(w http.ResponseWriter, r *http.Request) (s *Stored, ok bool) {
	if p.Store == nil {
		return nil, true
	}
	s, err := p.Store(r.Context())
	if err != nil {
		p.away(w, r, err)
		return nil, false
	}
	return s, true
}

// away answers that the store cannot be reached.
func (p *Pages) away(w http.ResponseWriter, r *http.Request, err error) {
	p.Frame.Log.Error("the store cannot be read", "at", r.URL.Path, "error", err)
	p.frame.Unavailable(w, r, "The store cannot be reached. Its address is that of --store, or of rehearse.yaml.")
}

// sessionSummary is a logged session as a list has it.
type sessionSummary struct {
	ID, Flow, Unit, Outcome string
	Turns                   int
	Started                 time.Time
}

func summaryOf(s *replay.Session) sessionSummary {
	outcome := "unknown"
	switch s.Outcome() {
	case replay.EndCompleted:
		outcome = "completed"
	case replay.EndDropped:
		outcome = "dropped"
	}
	return sessionSummary{s.ID, s.FlowID, s.UnitID, outcome, s.Turns(), s.Started}
}

// maxSessions bounds how many sessions are listed; keepSessions is how long a list of them is used again.
const (
	maxSessions  = 200_000
	keepSessions = 3 * time.Second
)

// sessionLists keeps the list of all sessions for a while. It is safe for concurrent use; the zero value is empty.
type sessionLists struct {
	mu   sync.Mutex
	all  []sessionSummary
	more bool
	read time.Time
}

// list returns all sessions of a log, the newest first. More is true where there are others.
func (l *sessionLists) list(ctx context.Context, s *Stored, now time.Time) (all []sessionSummary, more bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := now.Sub(l.read); !l.read.IsZero() && age >= 0 && age < keepSessions {
		return l.all, l.more, nil
	}
	for session, err := range replay.Sessions(s.Sessions.EachAfter(ctx, replay.Filter{Types: listedTypes}, ""), &replay.Faults{}) {
		if err != nil {
			return nil, false, err
		}
		if more = len(all) == maxSessions; more {
			break
		}
		all = append(all, summaryOf(session))
	}
	slices.SortStableFunc(all, func(a, b sessionSummary) int { return b.Started.Compare(a.Started) })
	l.all, l.more, l.read = all, more, now
	return all, more, nil
}

// listedTypes are the types of events that a list of sessions needs.
var listedTypes = []string{replay.Started, replay.Message, replay.Completed, replay.DroppedOff}

// sessionsPage lists sessions.
type sessionsPage struct {
	frame.Page
	Query frame.Query
	List  frame.List
	Rows  []sessionRow
	Flows []string
}

type sessionRow struct {
	sessionSummary
	Address string
}

// sessions answers with the logged sessions.
func (p *Pages) sessions(w http.ResponseWriter, r *http.Request) {
	page := sessionsPage{Page: p.frame.Base(r, "sessions", "Sessions"), Query: frame.QueryOf(r, "/sessions", "flow", "outcome", "unit", "from", "to", "q", "live", "page", "per")}
	store, ok := p.stored(w, r)
	if !ok {
		return
	}
	var all []sessionSummary
	if store != nil {
		var more bool
		var err error
		if all, more, err = p.logged.list(r.Context(), store, p.Now()); err != nil {
			p.away(w, r, err)
			return
		}
		if more {
			page.Warnings = append(page.Warnings, "There are more sessions than are listed.")
		}
	}
	for _, s := range all {
		page.Flows = union(page.Flows, []string{s.Flow})
	}
	fits := sessionFilters(page.Query)
	var kept []sessionSummary
	for _, s := range all {
		if fits.all(s, "") {
			kept = append(kept, s)
		}
	}
	var first, last int
	page.List, first, last = page.Query.Page("sessions", len(kept))
	for _, s := range kept[first:last] {
		page.Rows = append(page.Rows, sessionRow{s, "/sessions/" + frame.Segment(s.ID)})
	}
	switch {
	case len(all) == 0:
		page.List.Empty = "There are no sessions yet. `rehearse replay import FILE --store URL` loads logged conversations."
	case len(kept) == 0:
		page.List.Empty, page.List.Drop = "No session fits these filters.", dropped(page.Query, fits, all)
	}
	p.frame.Show(w, http.StatusOK, "sessions", page)
}

// sessionFilters are the filters of the list of sessions.
func sessionFilters(q frame.Query) (fs filters[sessionSummary]) {
	fs.add(q, "flow", func(s sessionSummary, value string) bool { return s.Flow == value })
	fs.add(q, "outcome", func(s sessionSummary, value string) bool { return s.Outcome == value })
	fs.add(q, "unit", func(s sessionSummary, value string) bool { return s.Unit == value })
	fs.add(q, "live", func(_ sessionSummary, value string) bool { return value == "0" || value == "false" })
	fs.add(q, "from", func(s sessionSummary, value string) bool {
		at, ok := dayOf(value)
		return ok && !s.Started.Before(at)
	})
	fs.add(q, "to", func(s sessionSummary, value string) bool {
		at, ok := dayOf(value)
		return ok && s.Started.Before(at)
	})
	fs.add(q, "q", func(s sessionSummary, value string) bool {
		about := strings.ToLower(s.ID + "\n" + s.Flow + "\n" + s.Unit)
		return !slices.ContainsFunc(strings.Fields(strings.ToLower(value)), func(word string) bool { return !strings.Contains(about, word) })
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

// sessionPage is one logged session.
type sessionPage struct {
	frame.Page
	Session sessionSummary
	Turns   []sessionTurn
	Data    string
	Ended   time.Time
	Raw     bool
	Toggle  string
	// Suite leads to the session as a suite, DatasetForm takes it into a dataset; Author is who the browser says sends forms.
	Suite, DatasetForm, Author string
}

// sessionTurn is what was said from one message of the user's to the next. N is 0 before the first.
type sessionTurn struct {
	N        int
	Messages []transcript.Message
	State    []string
}

// maxSaid is how many messages of a session are shown.
const maxSaid = 1_000

// session answers with a logged session.
func (p *Pages) session(w http.ResponseWriter, r *http.Request) {
	store, ok := p.stored(w, r)
	if !ok {
		return
	}
	id := frame.Part(r, "session")
	found, err := findSession(r.Context(), store, id)
	switch {
	case err != nil:
		p.away(w, r, err)
		return
	case found == nil:
		p.frame.NotFound(w, r, "There is no session of that id.", frame.Link{Label: "Sessions", Address: "/sessions"})
		return
	}
	page := sessionPage{Page: p.frame.Base(r, "session", "Session "+id), Session: summaryOf(found), Data: transcript.Pretty(found.Data), Ended: found.Ended, Raw: r.URL.Query().Get("view") == "raw"}
	page.Trail = []frame.Link{{Label: "Sessions", Address: "/sessions", Up: true}}
	page.Toggle = "/sessions/" + frame.Segment(id)
	page.Suite, page.DatasetForm, page.Author = page.Toggle+"/suite.yaml", page.Toggle+"/dataset", p.frame.Author(r)
	if p.Make != nil {
		page.CSRF = p.frame.Form(w, r)
	}
	if !page.Raw {
		page.Toggle += "?view=raw"
	}
	page.tell(found)
	p.frame.Show(w, http.StatusOK, "session", page)
}

// findSession reads one session of the log; nil if there is none.
func findSession(ctx context.Context, s *Stored, id string) (*replay.Session, error) {
	if s == nil || id == "" {
		return nil, nil
	}
	before := id[:len(id)-1] // what begins an id comes before it
	for session, err := range replay.Sessions(s.Sessions.EachAfter(ctx, replay.Filter{}, before), &replay.Faults{}) {
		switch {
		case err != nil:
			return nil, err
		case session.ID == id:
			return session, nil
		case session.ID > id:
			return nil, nil
		}
	}
	return nil, nil
}
