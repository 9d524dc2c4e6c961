// Package trace has the spans of a process, and the headers by which an agent knows a conversation: its id, and the trace context of the W3C
// (https://www.w3.org/TR/trace-context/#traceparent-header).
//
// A span is begun below that of a context. Whether a span is kept is up to the Tracer of the context; without one, spans have ids and nothing
// else, so that requests belong to a trace all the same.
package trace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// The names of the headers.
const (
	ConversationHeader = "X-Conversation-Id"
	ParentHeader       = "traceparent"
)

// IDs name a span: the trace that it belongs to, and itself. The zero value names none.
type IDs struct {
	Trace [16]byte
	Span  [8]byte
	// Sampled is true of a span that is kept, as far as those who call this process have to say.
	Sampled bool
}

func (id IDs) valid() bool { return id.Trace != [16]byte{} }

// ID returns the trace id of a conversation: 32 hexadecimal digits, the same for the same conversation.
func ID(conversationID string) string {
	id := idOf(conversationID)
	return hex.EncodeToString(id[:])
}

func idOf(conversationID string) [16]byte {
	sum := sha256.Sum256([]byte(conversationID))
	sum[0] |= 1 // an id of zeros only is invalid
	return [16]byte(sum[:16])
}

func newTrace() (id [16]byte) {
	_, _ = rand.Read(id[:]) // it never fails
	id[0] |= 1
	return id
}

func newSpan() (id [8]byte) {
	_, _ = rand.Read(id[:]) // as above
	id[0] |= 1
	return id
}

// Parent returns the traceparent of a request: the span of ctx, or a new one of a new trace where ctx has none.
func Parent(ctx context.Context) string {
	id := at(ctx).ids
	if !id.valid() {
		id = IDs{newTrace(), newSpan(), true}
	}
	flags := "-00"
	if id.Sampled {
		flags = "-01"
	}
	return "00-" + hex.EncodeToString(id.Trace[:]) + "-" + hex.EncodeToString(id.Span[:]) + flags
}

// parse reads a traceparent. Later versions may have more behind the flags.
func parse(parent string) (id IDs, ok bool) {
	const length = len("00-") + 32 + 1 + 16 + 1 + 2
	if len(parent) < length || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' ||
		len(parent) > length && (parent[:2] == "00" || parent[length] != '-') {
		return IDs{}, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		to   []byte
		text string
	}{{version[:], parent[:2]}, {id.Trace[:], parent[3:35]}, {id.Span[:], parent[36:52]}, {flags[:], parent[53:length]}} {
		for i := range len(part.text) {
			if c := part.text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return IDs{}, false
			}
		}
		_, _ = hex.Decode(part.to, []byte(part.text)) // the digits are
	}
	id.Sampled = flags[0]&1 == 1
	return id, version[0] != 0xff && id.valid() && id.Span != [8]byte{}
}

// Remote returns a context whose spans belong to the trace of a traceparent; ctx itself where that is not valid.
func Remote(ctx context.Context, parent string) context.Context {
	id, ok := parse(parent)
	if !ok {
		return ctx
	}
	p := at(ctx)
	p.ids, p.remote = id, true
	return p.in(ctx)
}

// FromRequest is Remote with the traceparent of a request. Several of them are none.
func FromRequest(ctx context.Context, r *http.Request) context.Context {
	if values := r.Header.Values(ParentHeader); len(values) == 1 {
		return Remote(ctx, values[0])
	}
	return ctx
}

// Of returns a context for what belongs to a conversation: ctx itself where it has the conversation's trace already.
func Of(ctx context.Context, conversationID string) context.Context {
	p := at(ctx)
	id := idOf(conversationID)
	if p.ids.Trace == id {
		return ctx
	}
	p.ids, p.remote = IDs{Trace: id, Sampled: true}, false
	return p.in(ctx)
}

// IDOf returns the trace id of ctx; empty without one.
func IDOf(ctx context.Context) string {
	if id := at(ctx).ids; id.valid() {
		return hex.EncodeToString(id.Trace[:])
	}
	return ""
}
