// Package lead tells others of leads: a webhook of the site's owner and PostHog. What happened is written down as rows of an outbox, in the
// same save as the turn that it happened in; a Courier takes the rows to their receivers until each has taken its own (sitebot 2.16).
package lead

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"rehearse/internal/sitebot/enrich"
)

// The events.
const (
	// EmailCaptured is an address that is kept for the first time or in place of another one.
	EmailCaptured = "email_captured"
	// BookingUpdated is a value of a booking that was added or corrected without completing it.
	BookingUpdated = "booking_updated"
	// BookingCompleted is the last value that a booking needs.
	BookingCompleted = "booking_completed"
	// PostConversion is an answer to a question that is asked once the booking is complete.
	PostConversion = "post_conversion"
)

// How an address was captured.
const (
	// InChatBooking is the context of what a visitor said while booking a demo in the chat.
	InChatBooking = "in_chat_booking"
	// ContentGating is the context of an address that was given for content.
	ContentGating = "content_gating"
)

// Event is something that a turn has found out about a visitor.
type Event struct {
	// Name is one of the events.
	Name string
	// Context says how the address was captured, such as InChatBooking.
	Context string
	Site    string
	Session string
	// Email is the visitor's address; empty while none is known.
	Email string
	// Values are those of the booking and of the questions after it, Said the words in which they were given, by field.
	Values, Said map[string]string
	// Collected are the answers to the qualification, by field.
	Collected map[string]string
	// Corrections counts the values that were replaced so far: a value that comes back is told again.
	Corrections int
	// Changed names the fields that the turn has changed.
	Changed []string
	Profile enrich.Profile
	At      time.Time
	// Person is the visitor's distinct_id in PostHog; the session stands in for it. The webhook does not get it.
	Person string
}

// ID identifies what one receiver is told of an event. It is a hash of receiver, site, session, event and content: the same for the same
// content in every process, and another for other content, as which counts what comes back after it was replaced.
func (e *Event) ID(receiver string) (string, error) {
	content := append(make([]any, 0, 7), receiver, e.Site, e.Session, e.Name, e.Email)
	if e.Name != EmailCaptured {
		content = append(content, e.Values)
	}
	if e.Corrections > 0 {
		content = append(content, e.Corrections)
	}
	data, err := json.Marshal(content) // maps are written in the order of their keys
	if err != nil {
		return "", fmt.Errorf("identify a lead: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}

// body is what the webhook gets.
type body struct {
	Event     string            `json:"event"`
	ID        string            `json:"id"`
	Context   string            `json:"capture_context"`
	Site      string            `json:"site"`
	Session   string            `json:"session"`
	Email     string            `json:"email"`
	Values    map[string]string `json:"values"`
	Said      map[string]string `json:"said"`
	Collected map[string]string `json:"collected"`
	Changed   []string          `json:"changed"`
	Profile   enrich.Profile    `json:"profile"`
	At        time.Time         `json:"captured_at"`
}

// body returns what a receiver is told, without secrets.
func (e *Event) body(receiver, id string) ([]byte, error) {
	if receiver == PostHogName {
		return json.Marshal(capture{
			Event: "rw_" + e.Name, DistinctID: cmp.Or(e.Person, e.Session), Timestamp: e.At, UUID: uuid(id),
			Properties: map[string]string{"rw_capture_context": e.Context, "site_name": e.Site, "session_id": e.Session},
		})
	}
	told := body{
		e.Name, id, e.Context, e.Site, e.Session, e.Email, filled(e.Values), filled(e.Said), filled(e.Collected), e.Changed, e.Profile, e.At,
	}
	if told.Changed == nil {
		told.Changed = []string{}
	}
	return json.Marshal(&told)
}

// filled returns a mapping that is written as {} where it is empty.
func filled(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// Rows returns what is to be written down of an event: a row for each receiver, due at once.
func (e *Event) Rows(receivers ...string) ([]Row, error) { return e.AppendRows(nil, receivers...) }

// AppendRows is Rows, behind those of other events.
func (e *Event) AppendRows(rows []Row, receivers ...string) ([]Row, error) {
	due := e.At // a row keeps this and not the event
	for _, receiver := range receivers {
		id, err := e.ID(receiver)
		if err != nil {
			return nil, err
		}
		body, err := e.body(receiver, id)
		if err != nil {
			return nil, fmt.Errorf("write a lead down: %w", err)
		}
		rows = append(rows, Row{
			ID: id, Site: e.Site, Session: e.Session, Event: e.Name, Receiver: receiver, State: Pending, Created: e.At, Since: e.At, Next: &due, Body: body,
		})
	}
	return rows, nil
}
