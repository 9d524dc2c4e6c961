// Package trace has the headers by which an agent knows a conversation: its id, and the trace context of the W3C
// (https://www.w3.org/TR/trace-context/#traceparent-header).
package trace

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// The names of the headers.
const (
	ConversationHeader = "X-Conversation-Id"
	ParentHeader       = "traceparent"
)

// ID returns the trace id of a conversation: 32 hexadecimal digits, the same for the same conversation.
func ID(conversationID string) string {
	sum := sha256.Sum256([]byte(conversationID))
	sum[0] |= 1 // an id of zeros only is invalid
	return hex.EncodeToString(sum[:16])
}

// Parent returns the value of a traceparent header for one request of a trace: the span id is new with each call, and the trace is sampled.
func Parent(traceID string) string {
	span := make([]byte, 8)
	_, _ = rand.Read(span) // it never fails
	span[0] |= 1
	return "00-" + traceID + "-" + hex.EncodeToString(span) + "-01"
}
