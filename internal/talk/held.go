package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/text"
)

// Bounds of one talk that is held from page to page.
const (
	// MaxMessage is how long a message may be, in bytes.
	MaxMessage = maxLine
	// maxTurns is how many messages a talk has, maxBytes how much of it is kept, turnTime how long an answer and its grades may take.
	maxTurns = 200
	maxBytes = 8 << 20
	turnTime = 5 * time.Minute
)

// ErrBusy says that the message before is still being answered.
var ErrBusy = errors.New("the message before is still being answered: wait for its answer")

// Opening is what a held talk is made of. Target is needed.
type Opening struct {
	Target runner.Target
	// Name is the target's, Notes say what somebody who reads the talk should know.
	Name  string
	Notes []string
	Beginning
	Expected
	// Close is called when the talk has ended; it may be nil.
	Close func() error
}

// Held is a talk that several requests carry on. It is safe for concurrent use. A Desk makes it.
type Held struct {
	Opening
	// ID is the talk's own, Began when its first message was said.
	ID    string
	Began time.Time
	desk  *Desk

	mu    sync.Mutex
	talk  *Talk // of whoever has turning
	idle  *time.Timer
	shown View
	bytes int
	// turning is true while a message is being answered; ended is true once nothing more can be said.
	turning, ended bool
}

// View is a talk as it stands. What it points to is not changed any more.
type View struct {
	Greeting []chat.Message
	Turns    []Turn
	// Scores are the grades of the turns that were expected to do something.
	Scores []result.Score
	Judge  result.JudgeUse
	// Unsaid is the last message if it was not answered, Fault says why.
	Unsaid, Fault string
	// SessionID is the id by which the agent knows the conversation.
	SessionID string
	// Busy is true while a message is being answered, Over once the agent has ended the conversation.
	Busy, Over bool
}

// View returns the talk as it stands.
func (h *Held) View() View {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.shown
	v.Busy = h.turning
	return v
}

// Say says a message and waits for the answer. An agent that does not answer, and an answer that cannot be graded, are no errors: View tells of
// them. The errors are ErrBusy and those of a message that cannot be said.
func (h *Held) Say(ctx context.Context, message string) error {
	if err := h.begin(message); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // a panic: whoever recovers it finds a talk that can go on
			h.settle(View{Unsaid: message, Fault: "the target failed inside"}, 0)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	next, grown := h.turn(ctx, message)
	done = true
	h.settle(next, grown)
	return nil
}

// begin takes the turn.
func (h *Held) begin(message string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return errors.New("the talk has ended: begin another")
	case h.turning:
		return ErrBusy
	case h.shown.Over:
		return errors.New("the agent has ended the conversation: begin another")
	case len(message) > MaxMessage:
		return fmt.Errorf("a message is at most %d KB long", MaxMessage>>10)
	case len(h.shown.Turns) >= maxTurns:
		return fmt.Errorf("a talk has at most %s: take it as a suite, and begin another", text.Plural(maxTurns, "message"))
	case h.bytes+len(message) > maxBytes:
		return fmt.Errorf("a talk has at most %d MB: take it as a suite, and begin another", maxBytes>>20)
	}
	h.turning = true
	h.desk.turns.Add(1)
	return nil
}

// turn has the message answered and graded. It returns the talk as it stands then, and by how many bytes it has grown.
func (h *Held) turn(ctx context.Context, message string) (View, int) {
	next := h.View()
	next.Unsaid, next.Fault = "", ""
	reply, err := h.talk.Say(ctx, message)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
		next.Unsaid, next.Fault = message, err.Error()
		return next, 0
	}
	if len(next.Turns) == 0 {
		next.Greeting = h.talk.Greeting()
	}
	said := h.said(next)
	turn := Turn{message, reply}
	next.Turns = append(slices.Clip(next.Turns), turn)
	next.SessionID, next.Over = h.talk.SessionID(), reply.Ended
	score, use, err := h.grade(ctx, len(next.Turns), said, turn)
	next.Judge = next.Judge.Add(use)
	if err != nil {
		next.Fault = err.Error()
	}
	if score != nil {
		next.Scores = append(slices.Clip(next.Scores), *score)
	}
	return next, sizeOf(turn, score)
}

// settle keeps what came of a turn.
func (h *Held) settle(next View, grown int) {
	h.mu.Lock()
	if next.Turns == nil { // a turn that failed inside leaves what was said
		next.Greeting, next.Turns, next.Scores, next.Judge, next.SessionID = h.shown.Greeting, h.shown.Turns, h.shown.Scores, h.shown.Judge, h.shown.SessionID
	}
	h.shown, h.bytes, h.turning = next, h.bytes+grown, false
	ended := h.ended
	if !ended {
		h.idle.Reset(idleTime)
	}
	h.mu.Unlock()
	if ended {
		h.desk.close(h)
	}
	h.desk.turns.Done()
}

// said is everything that was said, as a view has it.
func (h *Held) said(v View) []chat.Message {
	all := h.before(v)
	for _, t := range v.Turns {
		all = append(all, chat.Say(chat.User, t.Message), t.Reply.Message())
	}
	return all
}

// before is what was said before the first message of the talk.
func (h *Held) before(v View) (all []chat.Message) {
	if h.System != "" {
		all = append(all, chat.Say(chat.System, h.System))
	}
	return append(append(all, h.Earlier...), v.Greeting...)
}

// sizeOf is about how much of memory a turn takes.
func sizeOf(t Turn, score *result.Score) int {
	size := len(t.Message) + len(t.Reply.Text) + len(t.Reply.State)
	for _, c := range t.Reply.ToolCalls {
		size += len(c.Name) + len(c.Args) + len(c.Result)
	}
	if score != nil {
		data, _ := json.Marshal(score) // what cannot be written takes no room worth counting
		size += len(data)
	}
	return size
}
