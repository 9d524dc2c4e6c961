package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

// event is one piece of a streamed answer: token, tool, then one complete or error.
type event struct {
	Type    string          `json:"type"`
	Content string          `json:"content,omitempty"`
	Tool    *flow.ToolTrace `json:"tool,omitempty"`
	Result  any             `json:"result,omitempty"`
	*Problem
}

func progressEvent(e flow.Event) event {
	if e.Tool != nil {
		return event{Type: "tool", Tool: e.Tool}
	}
	return event{Type: "token", Content: e.Token}
}

func completeEvent(result any) event { return event{Type: "complete", Result: result} }

func errorEvent(p *Problem) event { return event{Type: "error", Problem: p} }

// wantsEvents reports whether a client asks for server-sent events.
func wantsEvents(r *http.Request) bool { return accepts(r, "text/event-stream") }

// accepts reports whether a client accepts a media type.
func accepts(r *http.Request, wanted string) bool {
	for _, accepted := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(accepted, ",") {
			media, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(media), wanted) {
				return true
			}
		}
	}
	return false
}

// sse writes server-sent events as they come (text/event-stream). The answer begins with the first event; before it, a
// problem can be sent.
type sse struct {
	w     http.ResponseWriter
	begun bool
	gone  bool // the client has stopped reading
}

func (s *sse) send(e event) {
	data, err := encode(e)
	if err != nil {
		data, _ = encode(errorEvent(problemOf(err)))
	}
	s.write(append([]byte("data: "), data...)) // data ends with a line break
}

// write writes the lines of one event or comment. It adds the empty line after them.
func (s *sse) write(lines []byte) {
	if s.gone {
		return
	}
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-store")
		s.w.Header().Set("X-Accel-Buffering", "no") // keeps proxies from buffering the stream
		s.w.WriteHeader(http.StatusOK)
	}
	_, err := s.w.Write(append(lines, '\n'))
	if err == nil {
		err = control.Flush()
	}
	s.gone = err != nil
}
