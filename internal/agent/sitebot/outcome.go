package sitebot

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// outcome returns what the page is told of a turn that has ended with this state.
func outcome(t *turn, s *State, turnNumber int) *Outcome {
	*s = published(*s)
	m := Metadata{
		FollowUps: s.FollowUps, Answers: s.Answers, CTA: s.CTA, Button: t.cta(s), Visitor: t.shown(s.Visitor),
		Skills: s.Skills, TurnNumber: turnNumber, Restarted: t.restarted, Route: s.NextRoute, Intent: s.Intents.Intent,
		Warnings: s.Warnings, Latency: t.watch.latency(),
	}
	if s.Router != nil {
		m.Action = s.Router.Action
	}
	return &Outcome{Response: s.Response, Metadata: m}
}

// turnError says what ended the turn.
func turnError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, graph.ErrConflict), errors.Is(err, graph.ErrBusy):
		return &Error{
			Fault: Busy, Message: "the session has moved on meanwhile", Hint: "send the message again", Err: err,
		}
	}
	if _, ok := errors.AsType[*graph.NodeError](err); ok {
		return &Error{Fault: Failed, Message: "the answer could not be written", Err: err}
	}
	return &Error{Fault: StoreFailed, Message: "the turn could not be kept", Err: err}
}

// stopwatch passes tokens on and measures when they came.
type stopwatch struct {
	now     func() time.Time
	started time.Time
	first   time.Time
	sink    func(Event)
}

func (w *stopwatch) token(text string) {
	if w.first.IsZero() {
		w.first = w.now()
	}
	if text != "" {
		w.tell(Event{Token: text})
	}
}

func (w *stopwatch) tell(e Event) {
	if w.sink != nil {
		w.sink(e)
	}
}

func (w *stopwatch) latency() LatencyMS {
	ms := func(to time.Time) float64 { return float64(to.Sub(w.started).Microseconds()) / 1000 }
	l := LatencyMS{Total: ms(w.now())}
	if !w.first.IsZero() {
		l.FirstToken = ms(w.first)
	}
	return l
}
