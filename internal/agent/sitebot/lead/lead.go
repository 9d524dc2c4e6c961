// Package lead tells others of leads: a webhook of the site's owner and PostHog. What happened is written down as rows
// of an outbox, in the same save as the turn that it happened in; a Courier takes the rows to their receivers until
// each has taken its own (sitebot 2.16).
package lead

import (
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
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

// Visitor is what a turn knows of its visitor at its end. All its events tell of it.
type Visitor struct {
	Site    string
	Session string
	// Email is the visitor's address; empty while none is known.
	Email string
	// Values are those of the booking and of the questions after it, Words the texts in which the visitor gave them, by
	// field.
	Values, Words map[string]string
	// Collected are the answers to the qualification, by field.
	Collected map[string]string
	// Corrections counts the values that were replaced so far: a value that comes back is told again.
	Corrections int
	Profile     enrich.Profile
	At          time.Time
	// Person is the visitor's distinct_id in PostHog; the session stands in for it. The webhook does not get it.
	Person string
}

// Event is something that a turn has found out about a visitor.
type Event struct {
	// Name is one of the events.
	Name string
	// Context says how the address was captured, such as InChatBooking.
	Context string
	// Changed names the fields that the turn has changed.
	Changed []string
}

// Rows returns what is to be written down of the events of a turn: a row for each event and receiver, due at once.
func (v *Visitor) Rows(events []Event, receivers ...string) ([]Row, error) {
	rows := make([]Row, 0, len(events)*len(receivers))
	due := v.At // rows keep this and not the visitor
	w := newWriter(v, cap(rows))
	for i := range events {
		e := &events[i]
		for _, receiver := range receivers {
			id := w.id(e, receiver)
			body, err := w.body(e, receiver, id)
			if err != nil {
				return nil, fmt.Errorf("write a lead down: %w", err)
			}
			rows = append(rows, Row{
				ID: id, Site: v.Site, Session: v.Session, Event: e.Name, Receiver: receiver, State: Pending,
				Created: due, Since: due, Next: &due, Body: body,
			})
		}
	}
	return rows, nil
}
