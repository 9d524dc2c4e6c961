// Package lead tells others of captured leads: a webhook of the site's owner and PostHog. Everything is delivered in the background,
// tried again where that can help, and sent once (sitebot 2.3, booking_handler).
package lead

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"rehearse/internal/sitebot/enrich"
)

// InChatBooking is the context of an e-mail address that a visitor left while booking a demo in the chat.
const InChatBooking = "in_chat_booking"

// Capture is a lead, and the body that the webhook gets.
type Capture struct {
	// Context says how the lead was captured, such as InChatBooking.
	Context string `json:"capture_context"`
	Site    string `json:"site"`
	Session string `json:"session"`
	Email   string `json:"email"`
	// Values are what the visitor was asked for, by field.
	Values  map[string]string `json:"values"`
	Profile enrich.Profile    `json:"profile"`
	// At is when the lead was captured.
	At time.Time `json:"captured_at"`
	// Person is the visitor's distinct_id in PostHog; the session stands in for it. The webhook does not get it.
	Person string `json:"-"`
}

// key identifies what is sent once: a capture of a session. It is the same in every process, and says nothing by itself.
func (c Capture) key(receiver string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{receiver, c.Site, c.Session, c.Context}, "\x00")))
	return hex.EncodeToString(sum[:16])
}
