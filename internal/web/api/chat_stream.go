package api

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
)

// pingChats is the interval of pings, which keep proxies from closing a stream.
const pingChats = 15 * time.Second

// chatEvent is one event of a chat: tokens, then one complete or error. A client may ask for a start
// before them, and for an answered behind the last token, where suggestions are still being made.
type chatEvent struct {
	Type       string            `json:"type"`
	TurnNumber *int              `json:"turn_number,omitempty"`
	Content    string            `json:"content,omitempty"`
	Metadata   *sitebot.Metadata `json:"metadata,omitempty"`
	Code       string            `json:"code,omitempty"`
	Message    string            `json:"message,omitempty"`
}

// chatStream writes the events of one turn. Two goroutines use it: the turn's and that of the pings.
type chatStream struct {
	// start is true when the client asks for an event at the beginning of the turn.
	start bool
	// answered is true when the client asks for an event at the end of the answer.
	answered bool
	// giveUp cancels the turn when the client stops reading.
	giveUp context.CancelFunc

	mu    sync.Mutex
	sse   sse
	spoke bool // a piece of the answer was sent
	ended bool
}

// tell sends a piece of the answer, or its beginning or end if the client asked for them.
func (s *chatStream) tell(e sitebot.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Began && s.start:
		s.send(chatEvent{Type: "start", TurnNumber: &e.TurnNumber})
	case e.Token != "":
		s.spoke = true
		s.send(chatEvent{Type: "token", Content: e.Token})
	case e.Answered && s.answered:
		s.send(chatEvent{Type: "answered"})
	}
}

// unsaid sends a whole answer that was not sent in pieces.
func (s *chatStream) unsaid(out *sitebot.Outcome) {
	if !s.spoke {
		s.tell(sitebot.Event{Token: out.Response})
	}
}

// end sends the last event. Later events are dropped.
func (s *chatStream) end(e chatEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send(e)
	s.ended = true
}

// send sends an event. The caller holds the lock.
func (s *chatStream) send(e chatEvent) {
	if s.ended {
		return
	}
	data, err := encode(e)
	if err != nil {
		data, _ = encode(chatEvent{Type: "error", Code: codeInternal, Message: "the answer cannot be written as JSON"})
		defer func() { s.ended = true }()
	}
	s.write(bytes.Join([][]byte{[]byte("data: "), data}, nil))
}

func (s *chatStream) write(lines []byte) {
	s.sse.write(lines)
	if s.sse.gone {
		s.giveUp()
	}
}

// pinging sends pings until stop is called.
func (s *chatStream) pinging() (stop func()) {
	tick, done := time.NewTicker(pingChats), make(chan struct{})
	var pings sync.WaitGroup
	pings.Go(func() {
		for {
			select {
			case <-tick.C:
				s.ping()
			case <-done:
				return
			}
		}
	})
	return func() {
		tick.Stop()
		close(done)
		pings.Wait()
	}
}

func (s *chatStream) ping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write([]byte(": ping\n"))
}
