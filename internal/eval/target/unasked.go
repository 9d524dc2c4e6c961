package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/mailbox"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// settle waits until everything is there that the agent had sent before it could know of the next message.
func (s *spokenSession) settle(ctx context.Context) {
	if w, ok := s.wire.(*socket); ok {
		w.settle(ctx)
	}
}

// unasked returns an error if the agent has spoken since its last answer: it would be taken for the answer to the
// message that is sent next.
func (s *spokenSession) unasked() error {
	said := s.more()
	switch {
	case said == "":
		return nil
	case s.values.Turn == 0:
		return fmt.Errorf("it spoke before the first message: %s: wait for that with `open: {wait: …}` or `prompt:`",
			said)
	}
	return fmt.Errorf("it spoke on after its answer: %s: say where an answer ends, with `stream: {end: …}` or `until:`",
		said)
}

// more returns the first reply, call or error that nobody has asked for; empty when there is none. Messages in which
// nothing is found are passed over.
func (s *spokenSession) more() string {
	for _, data := range s.wire.unread() {
		if s.counts(string(data)) {
			return shown(string(data))
		}
	}
	return ""
}

// counts reports whether a message has a reply, a tool call or the agent's error in it.
func (s *spokenSession) counts(data string) bool {
	r := s.answer.begin(s.calls)
	_, err := r.take(event{Data: data}) // what else cannot be read is no reply
	return r.first != nil || r.Replied() || r.Called() || errors.Is(err, answer.ErrAgent)
}

// closingTime bounds the message after the last turn.
const closingTime = 5 * time.Second

// Close ends the conversation and waits until nothing of it is left.
func (s *spokenSession) Close() error {
	if s.wire == nil {
		return nil
	}
	if !s.late {
		s.settle(context.Background())
	}
	said := s.more()
	if s.closing != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closingTime)
		defer cancel()
		message, err := rendered(s.closing, s.now)
		if w, ok := s.wire.(*socket); ok && err == nil {
			err = w.write(ctx, message)
		}
		if err != nil {
			s.tell(fmt.Sprintf("could not be closed: %v", err))
		}
	}
	s.wire.close()
	if said != "" && s.values.Turn > 0 {
		s.tell("has a message after its last answer, so that answers may belong to other messages: " + said)
	}
	return nil
}

// tell warns of something about the conversation.
func (s *spokenSession) tell(what string) {
	if s.warn != nil {
		s.warn(fmt.Sprintf("%s: the conversation %s %s", s.at, s.values.ConversationID, what))
	}
}

// quiet is how long an agent that may say more is listened to.
const quiet = 2 * time.Second

// listenOn returns what comes over a WebSocket after an answer, until nothing comes any more. It is empty where a
// conversation passes all of that over.
func (s *spokenSession) listenOn(ctx context.Context) (more []string) {
	w, ok := s.wire.(*socket)
	if !ok {
		return nil
	}
	whole, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	goesOn := s.answer.ends()
	for size := 0; size < s.MaxBytes && len(more) < mailbox.Most; {
		limited, cancel := context.WithTimeout(whole, quiet)
		data, err := w.next(limited)
		cancel()
		if err != nil {
			break
		}
		more, size = append(more, string(data)), size+len(data)
		goesOn = goesOn || s.counts(string(data))
	}
	if !goesOn {
		return nil
	}
	return more
}
