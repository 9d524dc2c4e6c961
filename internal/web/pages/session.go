package pages

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/app/chatsession"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// sessionPage is one session.
type sessionPage struct {
	frame.Page
	Session  sessionSummary
	Turns    []sessionTurn
	Failures []sessionindex.Failure
	Data     string
	Raw      bool
	Toggle   string
	// Suite leads to the session as a suite, DatasetForm takes it into a dataset; Author is who the browser says sends
	// forms.
	Suite, DatasetForm, Author string
}

// sessionTurn is what was said from one message of the user's to the next. N is 0 before the first.
type sessionTurn struct {
	N        int
	Messages []transcript.Message
	State    []string
	// around are the states around its last message.
	around [2]string
}

// maxSaid is how many messages of a session are shown.
const maxSaid = 1_000

// shownSession is a session, and what a list says of it. Failures are messages to one that is held which were not
// answered.
type shownSession struct {
	*replay.Session
	Summary  sessionSummary
	Failures []sessionindex.Failure
}

// session answers with a session.
func (p *Pages) session(w http.ResponseWriter, r *http.Request) {
	found, ok := p.sessionOf(w, r)
	if !ok {
		return
	}
	of := found.Summary
	page := sessionPage{
		Page: p.frame.Base(r, "session", "Session "+of.ID), Session: of, Failures: found.Failures,
		Data: transcript.Pretty(found.Data), Raw: r.URL.Query().Get("view") == "raw",
	}
	page.Trail = []frame.Link{{Label: "Sessions", Address: "/sessions", Up: true}}
	page.Suite, page.DatasetForm, page.Author = p.addressOfSession(of, "/suite.yaml", ""),
		p.addressOfSession(of, "/dataset", ""), p.frame.Author(r)
	if !chatsession.Savable(chatsession.OfSession(found.Session)) {
		page.Suite = ""
	}
	if p.Make != nil {
		page.CSRF = p.frame.Form(w, r)
	}
	if page.Toggle = p.addressOfSession(of, "", ""); !page.Raw {
		page.Toggle = p.addressOfSession(of, "", "raw")
	}
	page.Grows = of.Live
	page.tell(found.Session)
	p.frame.Show(w, http.StatusOK, "session", page)
}

// sessionOf returns the session that a request names: the one that is held, before a logged one; ok is false where it
// has answered that there is none.
func (p *Pages) sessionOf(w http.ResponseWriter, r *http.Request) (found *shownSession, ok bool) {
	id, flow := frame.Part(r, "session"), r.URL.Query().Get("flow")
	found, err := p.heldSession(r.Context(), id, flow)
	if err != nil {
		p.notHeld(w, r, errors.New(sessionindex.Anonymous(err, id)))
		return nil, false
	}
	if found != nil {
		return found, true
	}
	store, ok := p.stored(w, r)
	if !ok {
		return nil, false
	}
	logged, err := findSession(r.Context(), store, id)
	if err != nil {
		p.away(w, r, err)
		return nil, false
	}
	// of several flows a list may name another one
	if logged == nil || flow != "" && logged.FlowID != flow && !logged.Mixed() {
		p.frame.NotFound(w, r, "There is no session "+text.OneLine(cmp.Or(id, "without an id"), 100)+" here.",
			frame.Link{Label: "Sessions", Address: "/sessions"})
		return nil, false
	}
	return &shownSession{Session: logged, Summary: summaryOf(logged)}, true
}

// findSession reads one session of the log; nil if there is none.
func findSession(ctx context.Context, s *Stored, id string) (*replay.Session, error) {
	if s == nil || id == "" {
		return nil, nil
	}
	for session, err := range sessionsOf(ctx, s, replay.LoggedID(id)) {
		if err != nil || session.ID == id {
			return session, err
		}
	}
	return nil, nil
}

// sessionsOf yields the sessions of an id in the log, of the types of events that are named, without one of all.
func sessionsOf(ctx context.Context, s *Stored, logged string, types ...string) iter.Seq2[*replay.Session, error] {
	return func(yield func(*replay.Session, error) bool) {
		events := s.Sessions.EachFrom(ctx, replay.Filter{Types: types}, logged)
		for session, err := range replay.Sessions(events, 0, &replay.Faults{}) {
			if err == nil && replay.LoggedID(session.ID) != logged || !yield(session, err) {
				return
			}
		}
	}
}
