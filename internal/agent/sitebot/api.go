package sitebot

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// Request is one message of a visitor.
type Request struct {
	Site     string
	Session  string
	Input    string
	PersonID string
	// Language is that of fixed messages, such as fr or pt-BR; empty means the site's.
	Language string
	// TurnNumber is how many answers the page has seen in this conversation; 0 says nothing.
	TurnNumber int
	// Reveal is what the visitor's browser knows of their company (window.reveal); nil when it knows nothing.
	Reveal json.RawMessage
	// IP is the visitor's address; the zero value when it is not known.
	IP netip.Addr
	// Visitor is true for a message that only a public chat lets in: the limits of visitors are for it.
	Visitor bool
}

// Event is something that happens during a turn: first of all that it has begun, then the pieces of the answer. Pieces
// joined are the whole answer. Where suggestions follow it, an event says that the answer has ended.
type Event struct {
	// Began is true for the first event, which has the number of the turn and no token.
	Began      bool
	TurnNumber int
	Token      string
	// Answered is true for the event behind the last piece.
	Answered bool
}

// Outcome is what a turn came to.
type Outcome struct {
	Response string
	Metadata Metadata
	// Use is what the turn took of models.
	Use Use
}

// Metadata is what the page around the chat needs besides the answer.
type Metadata struct {
	FollowUps  []string          `json:"suggested_follow_ups"`
	Answers    []string          `json:"suggested_answers"`
	CTA        map[string]string `json:"cta_url_overrides"`
	Visitor    enrich.Profile    `json:"visitor_profile"`
	Skills     *Skills           `json:"skill_selection_state"`
	TurnNumber int               `json:"turn_number"`
	Route      Route             `json:"route"`
	Action     Action            `json:"action"`
	Intent     Intent            `json:"intent"`
	// Blocked is why the message was not answered; empty when it was.
	Blocked  Block     `json:"blocked"`
	Warnings []string  `json:"warnings"`
	Latency  LatencyMS `json:"latency_ms"`
	// Button is the call to action below the answer; null without one.
	Button *CTA `json:"cta"`
	// Restarted is true when the page has seen answers of a session that there is no more.
	Restarted bool `json:"restarted"`
}

// LatencyMS are the milliseconds to the first token and to the end of the turn.
type LatencyMS struct {
	FirstToken float64 `json:"ttft"`
	Total      float64 `json:"total"`
}

// Fault says why a turn, or a look at a state, could not be had.
type Fault string

// The faults.
const (
	InvalidRequest Fault = "invalid_request" // nothing to answer, or text that is not UTF-8
	UnknownSite    Fault = "unknown_site"
	UnknownSession Fault = "unknown_session"
	UnknownTurn    Fault = "unknown_turn"
	UnknownField   Fault = "unknown_field" // a state patch names a field that there is not, or gives it a wrong value
	Busy           Fault = "session_busy"  // a turn of the session is under way
	Failed         Fault = "turn_failed"   // no handler could answer
	StoreFailed    Fault = "store_failed"  // the session could not be read or written

	// Refused by the limits: the message is what the visitor reads, in their language.
	RateLimited  Fault = site.RateLimited
	TooManyTurns Fault = site.TooManyTurns
	SiteBusy     Fault = site.SiteBusy
	BudgetSpent  Fault = site.BudgetSpent
	SessionFull  Fault = site.SessionFull
)

// Error is a request that could not be served, in one sentence.
type Error struct {
	Fault   Fault
	Message string
	Hint    string
	Err     error
	// RetryAfter is how long until another attempt may succeed; 0 where that is not known.
	RetryAfter time.Duration
}

// Error returns "message: cause (hint)".
func (e *Error) Error() string {
	s := e.Message
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func fault(f Fault, hint, format string, args ...any) *Error {
	return &Error{Fault: f, Message: fmt.Sprintf(format, args...), Hint: hint}
}
