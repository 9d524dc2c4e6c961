package graph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Continue goes on with the unfinished turn of a thread, as Run does with an equal input; ErrNothingToContinue says
// that there is none, ErrBusy that another call continues it.
func (g *Graph[S]) Continue(ctx context.Context, thread string, sink TokenSink) (S, error) {
	return g.turn(ctx, thread, attempt[S]{goesOn: true, sink: sink})
}

// Resume answers one or several questions of a thread and continues the turn that waits for them. Nodes that had
// settled do not run again and give the sink nothing. A question that still waits, or a further one, is a further
// *InterruptError. The error wraps ErrNotWaiting when no question waits, ErrUnknownQuestion when an answer names none
// of those that wait, and ErrBusy while another call continues the turn. After any other error the questions still
// wait, unless their nodes had settled in a durable turn, which Continue continues.
func (g *Graph[S]) Resume(ctx context.Context, thread string, answers Answers, sink TokenSink) (S, error) {
	a := attempt[S]{goesOn: true, answers: map[string]json.RawMessage{}, sink: sink}
	for id, answer := range answers {
		data, err := json.Marshal(answer)
		if err != nil {
			var none S
			return none, fmt.Errorf("graph %q: the answer to question %q cannot be stored: %w", g.name, id, err)
		}
		a.answers[id] = data
	}
	return g.turn(ctx, thread, a)
}

// Waiting returns the questions of a thread that wait for an answer, in the order of steps and nodes.
func (g *Graph[S]) Waiting(ctx context.Context, thread string) ([]InterruptError, error) {
	last, _, err := g.load(ctx, thread, "")
	if err != nil {
		return nil, err
	}
	u, err := g.unfinished(ctx, thread, last)
	if err != nil {
		return nil, err
	}
	var questions []InterruptError
	for _, q := range u.questions() {
		questions = append(questions, *q.interrupt())
	}
	return questions, nil
}

// Abandon drops the unfinished turn of a thread, whether or not it waits, but for its writes to Kept fields. Without
// one it does nothing. The error wraps ErrBusy while another call continues the turn.
func (g *Graph[S]) Abandon(ctx context.Context, thread string) error {
	if g.saver == nil {
		return nil
	}
	return g.claimed(ctx, thread, func(ctx context.Context) error {
		last, state, err := g.load(ctx, thread, "")
		if err != nil {
			return err
		}
		u, err := g.unfinished(ctx, thread, last)
		if err != nil { // steps that cannot be read can still be dropped
			return g.drop(ctx, thread)
		}
		return g.abandon(ctx, thread, last, state, u)
	})
}

func (q *question) interrupt() *InterruptError {
	return &InterruptError{q.text.ID, q.step.Node, q.text.Question}
}

// attempt is one at a turn.
type attempt[S any] struct {
	input Update[S]
	// makes the input, and shares the state at the end; nil when there is an input
	look    func(Checkpoint[S]) (Update[S], error)
	goesOn  bool                       // with the turn that is unfinished, whose input counts
	answers map[string]json.RawMessage // to its questions; nil unless the attempt is to answer
	sink    TokenSink
	stream  *stream
}

// turn makes an attempt at a turn.
func (g *Graph[S]) turn(ctx context.Context, thread string, a attempt[S]) (S, error) {
	var state S
	run := func(ctx context.Context) (err error) { state, err = g.try(ctx, thread, a); return err }
	var err error
	if a.goesOn && g.saver != nil || g.durable {
		err = g.claimed(ctx, thread, run)
	} else {
		err = run(ctx)
	}
	if err == nil {
		return state, nil
	}
	var none S
	if q, ok := errors.AsType[*InterruptError](err); ok && err == error(q) { //nolint:errorlint // one that is wrapped keeps its words
		return none, q
	}
	return none, fmt.Errorf("graph %q: %w", g.name, err)
}

func (g *Graph[S]) try(ctx context.Context, thread string, a attempt[S]) (result S, err error) {
	last, known, err := g.recalled(ctx, thread, "")
	if err != nil {
		return result, err
	}
	state := known.state
	if a.look != nil {
		at := known.checkpoint(last)
		changed := g.schema.lend(state, func(s S) {
			at.State = s
			a.input, err = a.look(at)
		})
		if err = cmp.Or(changed, err); err != nil {
			return result, err
		}
	}
	u, err := g.begin(ctx, thread, &last, &state, &a)
	if err != nil {
		return result, err
	}
	l := g.living(thread, last, u, a)
	base := state
	if u != nil && u.text.Base != last.ID {
		if base, err = g.baseOf(ctx, thread, u.text.Base); err != nil {
			return result, err
		}
	}
	if a.stream != nil {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		a.stream.stop = cancel
	}
	if a.input, err = g.enter(ctx, l, last, u, a.input); err != nil {
		return result, err
	}
	t := newTurn(g, l, g.schema.opened(*base), a.sink)
	if t.edits, err = g.editsOf(u); err != nil {
		return result, err
	}
	after, writes, err := t.hold(ctx, a.input)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
	defer cancel()
	switch {
	case errors.Is(err, errParked):
		return result, g.wait(ctx, l, last, u, a)
	case err != nil:
		return result, errors.Join(err, g.keep(ctx, thread, last, base, writes))
	}
	next := Record{Parent: last.ID, Turn: last.Turn + 1, Source: SourceTurn}
	if _, err := g.save(ctx, thread, next, after, writes); err != nil {
		return result, err
	}
	if a.look == nil {
		after = g.schema.copyOf(after)
	}
	return *after, nil
}

// begin finds out whether an attempt goes on with an unfinished turn, and returns that, or nil. A turn that is not gone
// on with is dropped.
func (g *Graph[S]) begin(ctx context.Context, thread string, last *Record, state **S,
	a *attempt[S]) (*unfinished, error) {
	u, err := g.unfinished(ctx, thread, *last)
	if err != nil {
		return nil, fmt.Errorf("thread %q: %w", thread, err)
	}
	known := u != nil && !u.stale
	switch {
	case a.answers != nil && (!known || len(u.open) == 0):
		return nil, fmt.Errorf("thread %q: %w", thread, ErrNotWaiting)
	case a.answers != nil:
		return u, u.answered(a.answers)
	case known && len(u.open) > 0:
		return nil, fmt.Errorf("thread %q: %w: %w", thread, ErrWaiting, errQuestion(u.open[0]))
	case a.goesOn && !known:
		return nil, fmt.Errorf("thread %q: %w", thread, ErrNothingToContinue)
	case a.goesOn:
		return u, nil
	case u == nil:
		return nil, nil
	}
	if known && g.durable {
		input, err := g.encodeInput(ctx, thread, a.input)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(input, u.text.Writes) {
			return u, nil
		}
	}
	if err = g.abandon(ctx, thread, *last, *state, u); err != nil {
		return nil, err
	}
	*last, *state, err = g.load(ctx, thread, "")
	return nil, err
}

// errQuestion says for which answer a turn waits. It is no *InterruptError, because this call has not asked.
func errQuestion(q *question) error {
	return fmt.Errorf("node %q asks %.200s", q.step.Node, q.text.Question)
}

// living makes what the turn and those of its subgraphs share.
func (g *Graph[S]) living(thread string, last Record, u *unfinished, a attempt[S]) *activeRun {
	l := &activeRun{
		graph: g.name, thread: thread, turn: last.Turn, log: g.log, observer: g.observer, count: &g.tasks,
		saver: g.saver, durable: g.durable, stream: a.stream,
	}
	if u == nil {
		return l
	}
	l.run, l.past, l.again = u.text.Run, u.past, a.answers == nil
	l.answers, l.open = map[string][]json.RawMessage{}, map[string]bool{}
	for _, q := range u.open {
		if answer, given := a.answers[q.text.ID]; given {
			l.answers[q.key] = append(slices.Clone(q.text.Answers), answer)
		} else {
			l.open[q.key] = true
		}
	}
	return l
}

func (g *Graph[S]) baseOf(ctx context.Context, thread, id string) (*S, error) {
	if id == "" {
		return new(S), nil
	}
	_, state, err := g.load(ctx, thread, id)
	return state, err
}

// wait saves a turn that needs answers to continue, and returns the first of its questions.
func (g *Graph[S]) wait(ctx context.Context, l *activeRun, last Record, u *unfinished, a attempt[S]) error {
	now, _, err := g.load(ctx, l.thread, "")
	switch {
	case err != nil:
		return err
	case now.ID != last.ID:
		return fmt.Errorf("thread %q: the question cannot be saved: %w", l.thread, ErrConflict)
	}
	var steps []Step
	if u == nil && !l.durable {
		input, _, err := g.inputStep(ctx, l, last, a.input)
		if err != nil {
			return err
		}
		steps = append(steps, input)
	}
	steps = append(steps, l.settled...)
	for _, q := range l.asked {
		steps = append(steps, q.step)
	}
	for _, s := range steps {
		if err := l.save(ctx, s); err != nil {
			return fmt.Errorf("thread %q: the question cannot be saved: %w", l.thread, err)
		}
	}
	open := slices.Clone(l.asked)
	for _, q := range u.questions() {
		if l.open[q.key] {
			open = append(open, q)
		}
	}
	if len(open) > 0 {
		return slices.MinFunc(open, (*question).compare).interrupt()
	}
	return errors.New("the turn waits and nobody has asked: a node returned an ErrInterrupted of another one")
}

// keep saves the writes to Kept fields of a turn that has failed.
func (g *Graph[S]) keep(ctx context.Context, thread string, last Record, state *S, kept Update[S]) error {
	if len(kept) == 0 {
		return nil
	}
	err := try(ctx, g.log, "thread", "keep", func() error { state = g.schema.applied(state, kept); return nil })
	if err == nil {
		_, err = g.save(ctx, thread, Record{Parent: last.ID, Turn: last.Turn, Source: SourceTurn}, state, nil)
	}
	return err
}

// enter returns the input with which a turn begins. A durable turn saves it first.
func (g *Graph[S]) enter(ctx context.Context, l *activeRun, last Record, u *unfinished,
	input Update[S]) (Update[S], error) {
	if u != nil {
		return g.schema.decodeUpdate(u.text.Writes)
	}
	if !g.durable {
		return input, nil
	}
	step, text, err := g.inputStep(ctx, l, last, input)
	if err != nil {
		return nil, err
	}
	if err := l.save(ctx, step); err != nil {
		return nil, fmt.Errorf("the input cannot be saved: %w", err)
	}
	return g.schema.decodeUpdate(text.Writes)
}

func (g *Graph[S]) inputStep(ctx context.Context, l *activeRun, last Record, input Update[S]) (Step, stepText, error) {
	writes, err := g.encodeInput(ctx, l.thread, input)
	if err != nil {
		return Step{}, stepText{}, err
	}
	text := stepText{Kind: stepInput, Base: last.ID, Writes: writes}
	step, err := l.step(Start, 0, text)
	return step, text, err
}

func (g *Graph[S]) encodeInput(ctx context.Context, thread string, input Update[S]) (text json.RawMessage, err error) {
	err = try(ctx, g.log, "thread", "input", func() error {
		u, err := g.schema.checked(slices.Clone(input))
		if err == nil {
			text, err = g.schema.encodeUpdate(u)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("the input: %w", err)
	}
	return text, err
}
