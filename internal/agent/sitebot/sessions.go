package sitebot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Query selects sessions; a field that is empty selects all.
type Query struct {
	sessionindex.Query
	// Text is looked for in the messages, in any case.
	Text string
}

// SessionList is a page of sessions.
type SessionList struct {
	Sessions []sessionindex.Row `json:"sessions"`
	// Next is the cursor of the next page; nil on the last one.
	Next *string `json:"next_cursor"`
	// Unreadable is how many sessions could not be searched, because the store does not have their messages.
	Unreadable int `json:"unreadable,omitempty"`
}

// Session is all that its operator can see of a session.
type Session struct {
	Row      sessionindex.Row        `json:"session"`
	Turns    []SessionTurn           `json:"turns"`
	Failures []sessionindex.Failure  `json:"failures"`
	Leads    []lead.Row              `json:"leads"`
	Feedback []sessionindex.Feedback `json:"feedback"`
}

// SessionTurn is a turn of a session. Of one that was injected only the texts are known.
type SessionTurn struct {
	Number   int       `json:"turn"`
	Input    string    `json:"input"`
	Response string    `json:"response"`
	Route    string    `json:"route"`
	Action   string    `json:"action"`
	Intent   string    `json:"intent"`
	At       time.Time `json:"at"`
	Latency  float64   `json:"latency_ms"`
	Warnings []string  `json:"warnings"`
	TraceID  string    `json:"trace_id"`

	// Note is all that was noted; nil for a turn that was injected.
	Note *sessionindex.Turn `json:"-"`
}

// maxComment is how many characters a comment has.
const maxComment = 2000

// errNoRegister says that a store of sessions has no register.
var errNoRegister = errors.New("the store of sessions keeps no list of them")

func (b *Bot) register() (sessionindex.Index, error) {
	if kept, ok := b.Checkpoints.(sessionindex.Index); ok {
		return kept, nil
	}
	return nil, &Error{Fault: StoreFailed, Message: "sessions cannot be listed", Err: errNoRegister}
}

// Sessions lists sessions of a site, or of all for an empty name, the newest first. The error is an *Error.
func (b *Bot) Sessions(ctx context.Context, siteName string, q Query) (*SessionList, error) {
	kept, err := b.register()
	if err != nil {
		return nil, err
	}
	if siteName != "" {
		found, err := b.Sites.Find(siteName)
		if err != nil {
			return nil, &Error{Fault: UnknownSite, Message: err.Error()}
		}
		q.Site = found.Name
	}
	list := &SessionList{}
	var matches func(*sessionindex.Row) (bool, error)
	if wanted := folded(q.Text); wanted != "" {
		matches = func(row *sessionindex.Row) (bool, error) {
			says, err := b.says(ctx, row, wanted)
			if unreadable(err) {
				list.Unreadable++
				return false, nil
			}
			return says, err
		}
	}
	rows, next, err := sessionindex.Page(ctx, kept, q.Query, b.moment(), matches)
	if err != nil {
		return nil, &Error{Fault: StoreFailed, Message: "the sessions cannot be read", Err: err}
	}
	if list.Sessions = rows; next != "" {
		list.Next = &next
	}
	return list, nil
}

// unreadable reports whether an error is that of a state which cannot be decoded. The database has a mark in place of a
// state on Redis.
func unreadable(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, typed := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || typed
}

func folded(text string) string { return strings.ToLower(text) }

// says reports whether a message of a session has a text.
func (b *Bot) says(ctx context.Context, row *sessionindex.Row, wanted string) (bool, error) {
	if row.Turns == 0 {
		return false, nil
	}
	at, err := b.graph.State(ctx, Thread(row.Site, row.Session))
	return slices.ContainsFunc(at.State.Messages, func(m Message) bool {
		return strings.Contains(folded(m.Content), wanted)
	}), err
}

// Session returns all that its operator can see of a session. The error is an *Error.
func (b *Bot) Session(ctx context.Context, siteName, session string) (*Session, error) {
	name, k, err := b.stored(ctx, siteName, session)
	if err != nil {
		return nil, err
	}
	s, err := b.recorded(ctx, k)
	if err != nil {
		e := cannotRead(err)
		if unreadable(err) {
			e.Hint = "look at it on a server with --redis: this one does not have its messages"
		}
		return nil, e
	}
	if outbox, ok := b.Checkpoints.(Outbox); ok {
		if s.Leads, err = outbox.Leads(ctx, lead.Filter{Site: name, Session: session}); err != nil {
			return nil, &Error{Fault: StoreFailed, Message: "the leads of the session cannot be read", Err: err}
		}
	}
	return s, nil
}

// cannotRead is the error of a session whose state could not be read.
func cannotRead(err error) *Error {
	e := &Error{Fault: StoreFailed, Message: "the session cannot be read", Err: err}
	if unreadable(err) {
		e.Err = fmt.Errorf("its state is not in this store, but on the Redis server that --redis names: %w", err)
	}
	return e
}

// recorded returns a session without its leads.
func (b *Bot) recorded(ctx context.Context, k *sessionindex.Stored) (*Session, error) {
	at, err := b.graph.State(ctx, Thread(k.Row.Site, k.Row.Session))
	if err != nil {
		return nil, err
	}
	s := &Session{
		Row: k.Row, Turns: turnsFrom(at.State.Messages, k), Failures: k.Failures, Leads: []lead.Row{},
		Feedback: k.Feedback,
	}
	list(&s.Failures)
	list(&s.Feedback)
	return s, nil
}

// Recorded returns the session of a row without its leads, also where its site is not served any more; nil for one that
// is gone.
func (b *Bot) Recorded(ctx context.Context, row sessionindex.Row) (*Session, error) {
	keeper, err := b.register()
	if err != nil {
		return nil, err
	}
	k, err := keeper.Session(ctx, row.Site, row.Session)
	if err != nil || k == nil {
		return nil, err
	}
	return b.recorded(ctx, k)
}

// stored returns what the register has of a session, and the first name of its site.
func (b *Bot) stored(ctx context.Context, siteName, session string) (name string, k *sessionindex.Stored, err error) {
	found, err := b.Sites.Find(siteName)
	if err != nil {
		return "", nil, &Error{Fault: UnknownSite, Message: err.Error()}
	}
	keeper, err := b.register()
	if err != nil {
		return "", nil, err
	}
	switch k, err = keeper.Session(ctx, found.Name, session); {
	case err != nil:
		return "", nil, &Error{Fault: StoreFailed, Message: "the session cannot be read", Err: err}
	case k == nil:
		return "", nil, fault(UnknownSession, "GET /api/v1/chat/SITE/sessions lists them",
			"there is no session %q", session)
	}
	return found.Name, k, nil
}

// turnsFrom makes turns of messages and what was noted of them.
func turnsFrom(messages []Message, k *sessionindex.Stored) []SessionTurn {
	turns := []SessionTurn{}
	var asked []string
	for _, m := range messages {
		if m.Role == chat.User {
			asked = append(asked, m.Content)
			continue
		}
		t := SessionTurn{
			Number: len(turns) + 1, Input: strings.Join(asked, "\n\n"), Response: m.Content, At: k.Row.Started,
			Warnings: []string{},
		}
		if i, noted := slices.BinarySearchFunc(k.Turns, t.Number, func(n sessionindex.Turn, number int) int {
			return n.Number - number
		}); noted {
			t.noted(&k.Turns[i])
		}
		turns, asked = append(turns, t), nil
	}
	return turns
}

func (t *SessionTurn) noted(n *sessionindex.Turn) {
	t.Note, t.Route, t.Action, t.Intent, t.At, t.Latency, t.TraceID = n, n.Route, n.Action, n.Intent, n.At,
		n.Latency, n.TraceID
	if n.Warnings != nil {
		t.Warnings = n.Warnings
	}
}

// Rate keeps a thumb for a turn, in place of an earlier one. The error is an *Error.
func (b *Bot) Rate(ctx context.Context, siteName, session string, f sessionindex.Feedback) error {
	switch {
	case f.Rating != sessionindex.Up && f.Rating != sessionindex.Down:
		return fault(InvalidRequest, `send {"turn": N, "rating": "up" or "down"}`, "there is no rating %q",
			clipped(f.Rating))
	case utf8.RuneCountInString(f.Comment) > maxComment:
		return fault(InvalidRequest, "shorten it", "the comment has more than %d characters", maxComment)
	}
	name, k, err := b.stored(ctx, siteName, session)
	if err != nil {
		return err
	}
	if f.Turn < 1 || f.Turn > k.Row.Turns {
		return fault(UnknownTurn, "turns count from 1", "the session has no turn %d", f.Turn)
	}
	keeper, err := b.register()
	if err != nil {
		return err
	}
	f.At = b.moment()
	there, err := keeper.Note(ctx, name, session, sessionindex.Note{Feedback: &f})
	switch {
	case err != nil:
		return &Error{Fault: StoreFailed, Message: "the feedback cannot be kept", Err: err}
	case !there: // it was erased meanwhile
		return fault(UnknownSession, "", "there is no session %q", session)
	}
	for _, t := range k.Turns {
		if t.Number == f.Turn && t.TraceID != "" && b.Rated != nil {
			b.Rated(name, session, t.TraceID, f)
		}
	}
	return nil
}

func clipped(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// listsName is the path under which sessions are listed, so no session is called so.
const listsName = "sessions"

// usableSession refuses what is no id of a session.
func usableSession(id string) error {
	switch {
	case id == "" || len(id) > maxSession || !utf8.ValidString(id):
		return fault(InvalidRequest, "send a session_id of 1 to 200 bytes", "the session id is missing or too long")
	case id == listsName:
		return fault(InvalidRequest, "send another one", "%q is no session id", listsName)
	}
	return nil
}

// MarshalJSON writes lists that are empty as such.
func (l SessionList) MarshalJSON() ([]byte, error) {
	type plain SessionList
	list(&l.Sessions)
	return json.Marshal(plain(l))
}

// History returns the checkpoints of a session without their states, the oldest first. The error is an *Error.
func (b *Bot) History(ctx context.Context, siteName, session string) ([]graph.Record, error) {
	found, err := b.Sites.Find(siteName)
	if err != nil {
		return nil, &Error{Fault: UnknownSite, Message: err.Error()}
	}
	records, err := b.graph.History(ctx, Thread(found.Name, session))
	switch {
	case err != nil:
		return nil, cannotRead(err)
	case len(records) == 0:
		return nil, fault(UnknownSession, "`rehearse sessions list` lists them", "there is no session %q", session)
	}
	return records, nil
}
