package target

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"rehearse/internal/source"
	"rehearse/internal/template"
)

// Headers are the headers of requests, by their names. One that is null takes a default header away.
type Headers map[string]*template.Template

func readHeaders(n source.Node, scope template.Scope) Headers {
	h := Headers{}
	for name, value := range n.Entries() {
		if name == "" || strings.Trim(name, tokens) != "" {
			value.Report("write NAME: value", "%q is no name of a header", name)
			continue
		}
		if value.Kind == source.Null {
			h[name] = nil
			continue
		}
		h[name] = template.ReadText(value, scope)
	}
	return h
}

// tokens are the characters of a header's name (RFC 9110, section 5.6.2).
const tokens = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// render returns the headers of a request, with those that every request has.
func (h Headers) render(v *template.Values) (http.Header, error) {
	rendered := http.Header{}
	rendered.Set("X-Conversation-Id", headerSafe(v.ConversationID))
	rendered.Set("traceparent", traceParent(v.ConversationID))
	for name, value := range h {
		rendered.Del(name)
		if value == nil {
			continue
		}
		filled, ok, err := value.Text(v, template.Header)
		if err != nil {
			return nil, err
		}
		if ok {
			rendered.Set(name, filled)
		}
	}
	return rendered, nil
}

// traceID returns the trace id of a conversation. It follows from the conversation's own, so that a playback has that of the recording.
func traceID(conversation string) string {
	sum := sha256.Sum256([]byte(conversation))
	return hex.EncodeToString(sum[:16])
}

// traceParent returns the header by which a request belongs to a conversation's trace (W3C Trace Context, section 3.2).
func traceParent(conversation string) string {
	span := make([]byte, 8)
	_, _ = rand.Read(span) // it never fails
	return "00-" + traceID(conversation) + "-" + hex.EncodeToString(span) + "-01"
}
