package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Step is a part of a turn that is not finished: its input, what a node or an item of one has written, or a question to
// a person.
type Step struct {
	Turn   int    // the number of turns that are completed when this one is
	Node   string // Start for the input
	Item   int    // of a node of Each, from 0; else 0
	At     time.Time
	Writes json.RawMessage // one JSON object, which only this package reads
}

// StepSaver is a Checkpointer that also keeps the steps of a thread's unfinished turn. Saving a record with a Turn of
// at least that of a step drops the step in the same transaction; deleting the thread drops all.
type StepSaver interface {
	// SaveStep adds a step, whether or not the thread has a record.
	SaveStep(ctx context.Context, thread string, s Step) error
	// Steps returns the steps in the order in which they were saved. An unknown thread has none.
	Steps(ctx context.Context, thread string) ([]Step, error)
	// DropSteps forgets the steps of a thread; none is no error.
	DropSteps(ctx context.Context, thread string) error

	// ClaimTurn lets only the caller, whose name is unique, continue the thread's unfinished turn until the time is
	// over. The same caller may claim again, from then on. While another caller has the claim, it returns the name of
	// that one and an error that wraps ErrBusy. Atomic; the thread may be unknown.
	ClaimTurn(ctx context.Context, thread, by string, lasts time.Duration) (other string, err error)
	// ReleaseTurn ends the claim of the caller, if there is one.
	ReleaseTurn(ctx context.Context, thread, by string) error
}

// Answers are answers to questions, by the ID of the question. They are stored as JSON.
type Answers map[string]any

var (
	// ErrNothingToContinue says that a thread has no unfinished turn.
	ErrNothingToContinue = errors.New("the thread has no unfinished turn")
	// ErrWaiting says that a turn of the thread waits for an answer: Resume gives it, Abandon drops the turn.
	ErrWaiting = errors.New("a turn of the thread waits for an answer")
	// ErrNotWaiting says that there is no question to answer. It is an ErrNothingToContinue.
	ErrNotWaiting = fmt.Errorf("no question waits for an answer: %w", ErrNothingToContinue)
	// ErrUnknownQuestion means that an answer names a question that does not wait.
	ErrUnknownQuestion = errors.New("no such question waits for an answer")
	// ErrBusy means that another call continues the unfinished turn of the thread: try again later.
	ErrBusy = errors.New("another call continues the turn of the thread")
	// ErrInterrupted is what Interrupt returns as long as there is no answer.
	ErrInterrupted = errors.New("the node waits for an answer")
	// ErrSettled is what a node gets that writes to the client or emits after its end.
	ErrSettled = ErrFinished

	errNoSteps = errors.New("the checkpoints keep no steps: use ones that implement StepSaver")
)

// InterruptError is a question that a node has asked. The turn waits for the answer, which Resume gives.
type InterruptError struct {
	ID       string // unique
	Node     string
	Question json.RawMessage
}

// Error returns the question.
func (e *InterruptError) Error() string {
	return fmt.Sprintf("node %q waits for an answer to %.200s", e.Node, e.Question)
}

// Unwrap makes it an ErrInterrupted.
func (e *InterruptError) Unwrap() error { return ErrInterrupted }

// The kinds of steps.
const (
	stepInput    = "input"
	stepNode     = "node"
	stepItem     = "item"
	stepQuestion = "question"
	stepEdit     = "edit" // what UpdateState has written while the turn waited
)

// stepText is what stands in Step.Writes.
type stepText struct {
	Kind string `json:"kind"`
	Run  string `json:"run"`            // the same in all steps of an unfinished turn
	Base string `json:"base,omitempty"` // of the input: the record that the turn goes on from
	// which visit of the node: its step, within subgraphs those of the outer visits before it
	At string `json:"at,omitempty"`

	Writes json.RawMessage `json:"writes,omitempty"` // []storedWrite
	Text   string          `json:"text,omitempty"`   // what a streaming node gave to the client

	Started   []string `json:"started,omitempty"` // kinds of tasks
	Cancelled []string `json:"cancelled,omitempty"`

	ID       string            `json:"id,omitempty"`
	Question json.RawMessage   `json:"question,omitempty"`
	IsItem   bool              `json:"is_item,omitempty"`
	Answers  []json.RawMessage `json:"answers,omitempty"` // to the questions that the visit asked before

	edits int // how many edits were saved before
}

// encodeUpdate returns an update as steps keep it.
func (s *schema[S]) encodeUpdate(u Update[S]) (json.RawMessage, error) {
	writes := make([]storedWrite, len(u))
	for i, w := range u {
		stored, err := storeWrite(w)
		if err != nil {
			return nil, err
		}
		stored.Field = w.column().about().stored()
		writes[i] = stored
	}
	text, err := json.Marshal(writes)
	if err == nil && len(text) > maxRecord {
		err = fmt.Errorf(
			"what was written takes %d bytes, more than the %d that a step may have: keep large values elsewhere",
			len(text), maxRecord)
	}
	return text, err
}

// decodeUpdate reads what encodeUpdate has returned.
func (s *schema[S]) decodeUpdate(text json.RawMessage) (Update[S], error) {
	var writes []storedWrite
	if err := json.Unmarshal(text, &writes); err != nil {
		return nil, fmt.Errorf("a step: %w", err)
	}
	u := make(Update[S], len(writes))
	for i, stored := range writes {
		c, known := s.byStored[stored.Field]
		if !known {
			return nil, fmt.Errorf("a step writes field %q, which the state no longer has: abandon the turn",
				stored.Field)
		}
		w, err := c.read(stored.Op, stored.Value)
		if err != nil {
			return nil, fmt.Errorf("a step: field %q: %w", stored.Field, err)
		}
		u[i] = w
	}
	return u, nil
}

// changes returns an update as one JSON object of the fields written, without those that are never stored. A list that
// was only added to has an array of the items, one that was changed otherwise the writes in their order.
func (s *schema[S]) changes(u Update[S]) (json.RawMessage, error) {
	o := newObject()
	for _, c := range s.columns {
		a := c.about()
		var last Write[S]
		var all []storedWrite
		for _, w := range u {
			if w.column() != c {
				continue
			}
			last = w
			stored, err := storeWrite(w)
			if err != nil {
				return nil, err
			}
			all = append(all, stored)
		}
		if last == nil || a.hidden {
			continue
		}
		var value any
		_, value = last.stored()
		if l, ok := c.(interface {
			gather(u Update[S]) (any, bool, bool)
		}); ok {
			items, _, plain := l.gather(u)
			if value = items; !plain {
				value = all
			}
		}
		o.name(a.quoted)
		if err := o.value(value); err != nil {
			return nil, fmt.Errorf("field %q cannot be stored: %w", a.name, err)
		}
	}
	return o.end(), nil
}
