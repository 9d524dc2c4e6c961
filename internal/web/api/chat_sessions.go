package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

// Operator shows the sessions of chatbots to those who run them. It is safe for concurrent use; its errors are of the
// type *sitebot.Error.
type Operator interface {
	// Sessions lists the sessions of a site, the newest first.
	Sessions(ctx context.Context, site string, q sitebot.Query) (*sitebot.SessionList, error)
	// Session returns a session with its turns.
	Session(ctx context.Context, site, session string) (*sitebot.Session, error)
	// Rate keeps a thumb for a turn.
	Rate(ctx context.Context, site, session string, f sessionindex.Feedback) error
}

// sessionsPage is how many sessions a page has.
const sessionsPage = 50

// sessions is GET /api/v1/chat/{site_name}/sessions.
func (s *Chats) sessions(w http.ResponseWriter, r *http.Request) {
	asked, err := readSessionQuery(r)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	list, err := s.Operator.Sessions(r.Context(), r.PathValue("site_name"), asked)
	if err != nil {
		s.refuseState(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, http.StatusOK, "application/json", list)
}

// readSessionQuery reads which sessions are asked for. The error is a *Problem.
func readSessionQuery(r *http.Request) (asked sitebot.Query, err error) {
	q := query{r.URL.Query(), nil}
	asked.Since, asked.Until = q.time("since"), q.time("until")
	asked.Outcome = oneOf(&q, "outcome", sessionindex.Outcomes()...)
	if asked.Text = q.text("q"); !utf8.ValidString(asked.Text) || len(asked.Text) > maxID {
		q.refuse("q", fmt.Sprintf("use at most %d bytes of UTF-8", maxID))
	}
	page, err := q.page("q", "since", "until", "outcome")
	if err != nil {
		return asked, err
	}
	asked.Limit = cmp.Or(page.Limit, sessionsPage)
	if asked.After, err = sessionindex.ParseCursor(page.Cursor); err != nil {
		return asked, newProblem(http.StatusBadRequest, codeCursor, "the cursor was not given out by this list",
			"use next_cursor as it came")
	}
	return asked, nil
}

// showSession is GET /api/v1/chat/{site_name}/{session_id}.
func (s *Chats) showSession(w http.ResponseWriter, r *http.Request) {
	session, err := s.Operator.Session(r.Context(), r.PathValue("site_name"), r.PathValue("session_id"))
	if err != nil {
		s.refuseState(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, http.StatusOK, "application/json", session)
}

// feedbackBody is the body of a thumb.
type feedbackBody struct {
	Turn    int    `json:"turn"`
	Rating  string `json:"rating"`
	Comment string `json:"comment,omitempty"`
}

// feedback is POST /api/v1/chat/{site_name}/{session_id}/feedback. Under --public whoever knows the session's id may
// send it.
func (s *Chats) feedback(w http.ResponseWriter, r *http.Request) {
	var body feedbackBody
	if err := readSmall(w, r, &body); err != nil {
		s.refuseState(w, r, err)
		return
	}
	site, session := r.PathValue("site_name"), r.PathValue("session_id")
	if p := s.weakID(r, session, site); p != nil {
		writeProblem(w, p)
		return
	}
	if err := s.Operator.Rate(r.Context(), site, session, sessionindex.Feedback{
		Turn: body.Turn, Rating: body.Rating, Comment: body.Comment,
	}); err != nil {
		s.refuseState(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// readSmall reads a body of one object. The error is a *Problem.
func readSmall(w http.ResponseWriter, r *http.Request, into any) error {
	data, err := readJSONUpTo(w, r, maxChatMB, "send less")
	if err != nil {
		return err
	}
	return decodeUTF8(data, into)
}
