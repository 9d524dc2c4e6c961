// Package lead tells others of captured leads: a webhook of the site's owner and PostHog. Everything is delivered in the background,
// tried again where that can help, and sent once (sitebot 2.3, booking_handler).
package lead

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
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

// Sent remembers what was sent, so that it is sent once. Implementations are safe for concurrent use; one that several processes
// share makes it once among them.
type Sent interface {
	// Claim takes a key, and returns whether it was free.
	Claim(ctx context.Context, key string) (bool, error)
	// Release frees the key of something that could not be delivered.
	Release(ctx context.Context, key string) error
}

// memoryMost is how many keys a Memory holds: some ten megabytes.
const memoryMost = 100_000

// Memory is a Sent within the process. It holds the 100,000 keys that were claimed last. The zero Memory is empty and ready; it is
// safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	keys map[string]int // its place in ring
	ring []string
	next int
}

// Claim implements Sent; it never fails.
func (m *Memory) Claim(_ context.Context, key string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.keys[key]; taken {
		return false, nil
	}
	if m.keys == nil {
		m.keys = map[string]int{}
	}
	if len(m.ring) < memoryMost {
		m.ring = append(m.ring, key)
		m.keys[key] = len(m.ring) - 1
		return true, nil
	}
	if old := m.ring[m.next]; m.keys[old] == m.next {
		delete(m.keys, old)
	}
	m.ring[m.next], m.keys[key] = key, m.next
	m.next = (m.next + 1) % memoryMost
	return true, nil
}

// Release implements Sent; it never fails.
func (m *Memory) Release(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.keys, key)
	return nil
}
