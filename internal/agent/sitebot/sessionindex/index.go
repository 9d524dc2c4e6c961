// Package sessionindex keeps beside the sessions of chatbots what their operators look at: a row for each session, so
// that a list of them decodes no state, a note of each answered turn, messages that were not answered, and thumbs. A
// row is written in the same save as its session.
package sessionindex

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
)

// Outcome is how far a session has come.
type Outcome string

// The outcomes. A session that has converted stays so; of others the last message decides.
const (
	Converted Outcome = "converted"
	Open      Outcome = "open"
	Blocked   Outcome = "blocked"
	Failed    Outcome = "failed"
)

// Outcomes lists all.
func Outcomes() []Outcome { return []Outcome{Converted, Open, Blocked, Failed} }

// Row is a session as it is listed. Its JSON names are published.
type Row struct {
	Site     string    `json:"-"`
	Session  string    `json:"session_id"`
	Started  time.Time `json:"started_at"`
	Last     time.Time `json:"last_at"`
	Turns    int       `json:"turns"`
	Language string    `json:"language"`
	Outcome  Outcome   `json:"outcome"`
	// Route is that of the last answer.
	Route string `json:"last_route"`
	// Email is true once an address is known.
	Email    bool   `json:"email_captured"`
	Failed   int    `json:"failed_turns"`
	Feedback Thumbs `json:"feedback"`

	// Person is who wrote, where the page has said so.
	Person string `json:"-"`
	// Logged is the turn up to which events were written.
	Logged int `json:"-"`
}

// Thumbs counts the thumbs of a session.
type Thumbs struct {
	Up   int `json:"up"`
	Down int `json:"down"`
}

// Turn is what is noted of an answered turn beside the state, which has its texts.
type Turn struct {
	// Number counts from 1.
	Number int `json:"turn"`
	// Checkpoint is the record that the turn was saved as.
	Checkpoint string `json:"checkpoint"`
	// Before is the route of the turn before; empty for none.
	Before  string    `json:"before"`
	Route   string    `json:"route"`
	Action  string    `json:"action"`
	Intent  string    `json:"intent"`
	Started time.Time `json:"started"`
	At      time.Time `json:"at"`
	// Latency is in milliseconds, Tokens is what models took where that is known.
	Latency  float64  `json:"latency_ms"`
	Tokens   int      `json:"tokens"`
	Warnings []string `json:"warnings"`
	TraceID  string   `json:"trace_id"`
	Person   string   `json:"person"`
	// Copied is true of a turn that an earlier version copied from another session: it was not said in this one.
	Copied bool `json:"copied,omitempty"`
	// Converted is true of the turn with which the session has converted, and Values are all that was known then.
	Converted bool              `json:"converted,omitempty"`
	Values    map[string]string `json:"values,omitempty"`
}

// Failure is a message that was not answered. Its text is kept nowhere.
type Failure struct {
	At   time.Time `json:"at"`
	Code string    `json:"code"`
}

// Feedback is a thumb for a turn.
type Feedback struct {
	Turn    int       `json:"turn"`
	Rating  string    `json:"rating"`
	Comment string    `json:"comment"`
	At      time.Time `json:"at"`
}

// The ratings.
const (
	Up   = "up"
	Down = "down"
)

// Bounds of what is kept.
const (
	// MaxFailures is how many failures of a session are kept: the newest. All are counted.
	MaxFailures = 100
	// MaxStateless is how many sessions without an answer are kept.
	MaxStateless = 10_000
	// StatelessRetention is how long they are kept.
	StatelessRetention = 30 * 24 * time.Hour
)

// Entry is what a save of a session tells the register.
type Entry struct {
	Site, Session    string
	At               time.Time
	Turns            int
	Converted, Email bool
	Route            string
	// Language and Person stay what they were where they are empty.
	Language, Person string
	// Turn is the turn that was answered; nil for a state that somebody has put there. Notes of turns beyond Turns are
	// dropped then.
	Turn *Turn
}

// Began is when a session began that begins with this save.
func (e *Entry) Began() time.Time {
	if e.Turn != nil {
		return e.Turn.Started
	}
	return e.At
}

// Note is something that happened to a session and changed nothing of its state. One of the three is set.
type Note struct {
	Failure *Failure
	// Blocked is when a message was refused. Of a session that there is not nothing is noted.
	Blocked *time.Time
	// Feedback takes the place of an earlier one for the turn. Of a session that there is not nothing is noted.
	Feedback *Feedback
	// Language is that of a session which begins with a failure.
	Language string
}

// Stored is all that is kept of one session.
type Stored struct {
	Row      Row
	Turns    []Turn     // by number; there is none of a turn that was injected
	Failures []Failure  // the oldest first
	Feedback []Feedback // by turn
}

// Query selects sessions. A field that is empty selects all.
type Query struct {
	Site string
	// Since and Until bound the last message of a session; Until is excluded.
	Since, Until time.Time
	Outcome      Outcome
	// Limit bounds the page.
	Limit int
	// After is the place behind which the page begins.
	After Cursor
}

// Thread is the key of a session in the store: sites never share one.
func Thread(site, session string) string { return site + ":" + session }

// strongID is the length of an id that is not guessed, nor found in other text.
const strongID = 22

// Anonymous returns the text of an error without the id of a session, which opens the conversation: logs have none.
// Stores quote the session that they failed for.
func Anonymous(err error, session string) string {
	quoted := strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(session), `"`), `"`)
	text := strings.NewReplacer(":"+quoted+`"`, `:…"`, `"`+quoted+`"`, `"…"`).Replace(err.Error())
	if len(session) >= strongID {
		text = strings.NewReplacer(session, "…", quoted, "…").Replace(text)
	}
	return text
}

// Index is a store of sessions with their register. Implementations are safe for concurrent use and for several
// processes. Times come from the caller, in microseconds.
type Index interface {
	// SaveTurn saves a record of a session like Save and, in the same step, rows of its leads and its entry.
	SaveTurn(ctx context.Context, thread string, r graph.Record, rows []lead.Row, e Entry) error
	// Sessions returns the sessions that a query selects, in the order of Cursor.
	Sessions(ctx context.Context, q Query) ([]Row, error)
	// Session returns what is kept of a session; nil for one that there is not.
	Session(ctx context.Context, site, session string) (*Stored, error)
	// Note notes something that changed nothing of the state. It reports whether there is such a session now.
	Note(ctx context.Context, site, session string, n Note) (there bool, err error)
	// Pending returns sessions whose turns are not all logged, and those without a conversion that were used last at
	// idle or before and are not logged as left: at most so many, the longest waiting first.
	Pending(ctx context.Context, idle time.Time, limit int) ([]Row, error)
	// Logged says that turns up to one are logged, and with left that the visitor has left after it. It reports whether
	// the session is still there.
	Logged(ctx context.Context, site, session string, turn int, left bool) (there bool, err error)
}
