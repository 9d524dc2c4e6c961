package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrHasState says that a thread has state already, which an update or a fork would replace.
var ErrHasState = errors.New("the thread has state already")

var errNoName = errors.New("the thread has no name: give it one")

// Checkpoint is the state of a thread at one point. Without an ID the thread is unknown and the state empty.
type Checkpoint[S any] struct {
	ID, Parent string
	Turn       int // turns completed
	Source     string
	At         time.Time
	State      S
	// Waiting is whether State includes what a turn has written so far that waits for an answer. Only State sets it.
	Waiting bool
	// Bytes is what the state takes where it is stored, when At or State returns it: at least the bytes of its JSON,
	// because what lists no longer have counts too.
	Bytes int
}

// State returns the newest checkpoint of a thread. While a turn waits for an answer, its state is that of the turn so
// far.
func (g *Graph[S]) State(ctx context.Context, thread string) (Checkpoint[S], error) {
	r, known, err := g.recalled(ctx, thread, "")
	if err != nil {
		return Checkpoint[S]{}, err
	}
	u, err := g.unfinished(ctx, thread, r)
	if err != nil {
		return Checkpoint[S]{}, fmt.Errorf("thread %q: %w", thread, err)
	}
	return g.soFar(ctx, thread, r, known, u)
}

// soFar returns a checkpoint with what the turn that waits has written.
func (g *Graph[S]) soFar(ctx context.Context, thread string, r Record, known recalled[S],
	u *unfinished) (Checkpoint[S], error) {
	at, state := known.checkpoint(r), known.state
	if at.Waiting = len(u.questions()) > 0; at.Waiting {
		base, err := state, error(nil)
		if u.text.Base != r.ID {
			base, err = g.baseOf(ctx, thread, u.text.Base)
		}
		var writes Update[S]
		if err == nil {
			writes, err = g.pending(u)
		}
		if err == nil {
			err = try(ctx, g.log, "thread", "state", func() error {
				state = g.schema.applied(g.schema.opened(*base), writes)
				return nil
			})
		}
		if err != nil {
			return Checkpoint[S]{}, fmt.Errorf("thread %q: the turn that waits: %w", thread, err)
		}
	}
	at.State = *g.schema.copyOf(state)
	return at, nil
}

// At returns a checkpoint of a thread; id "" means the newest. The error wraps ErrNoCheckpoint when there is no such
// id.
func (g *Graph[S]) At(ctx context.Context, thread, id string) (Checkpoint[S], error) {
	r, known, err := g.recalled(ctx, thread, id)
	if err != nil {
		return Checkpoint[S]{}, err
	}
	at := known.checkpoint(r)
	at.State = *g.schema.copyOf(known.state)
	return at, nil
}

// History returns the checkpoints of a thread without their state, oldest first.
func (g *Graph[S]) History(ctx context.Context, thread string) ([]Record, error) {
	return g.store.List(ctx, thread)
}

// Fork makes the next turn of a thread begin at an earlier checkpoint. With another thread as into, that thread begins
// at the checkpoint; when it has state already, the error wraps ErrHasState.
func (g *Graph[S]) Fork(ctx context.Context, thread, id, into string) (Checkpoint[S], error) {
	from, state, err := g.load(ctx, thread, id)
	if err != nil {
		return Checkpoint[S]{}, err
	}
	if from.ID == "" {
		return Checkpoint[S]{}, fmt.Errorf("thread %q: %w", thread, ErrNoCheckpoint)
	}
	fork := Record{Parent: from.ID, Turn: from.Turn, Source: SourceFork}
	if into == "" || into == thread {
		return g.saved(ctx, thread, fork, state, nil)
	}
	switch records, err := g.store.List(ctx, into); {
	case err != nil:
		return Checkpoint[S]{}, err
	case len(records) > 0:
		return Checkpoint[S]{}, fmt.Errorf("thread %q: %w: fork into another", into, ErrHasState)
	}
	fork.Parent = ""
	return g.saved(ctx, into, fork, state, g.schema.whole(state))
}

// ParseUpdate reads an update from a JSON object of fields: a value to set, or for a list the items to add. Unknown
// fields are errors.
func (g *Graph[S]) ParseUpdate(data []byte) (Update[S], error) { return g.schema.parse(data) }

// UpdateOptions say what UpdateState does with a thread that has state. The zero value refuses it.
type UpdateOptions struct {
	// Replace lets the thread begin anew with the update. What it had before stays in its history.
	Replace bool
	// Merge applies the update to the thread's state. It has no effect beside Replace.
	Merge bool
}

// UpdateState gives a thread a state without running anything: the update goes through the reducers into one
// checkpoint, and the next turn begins at Start. For a thread that has state and no option that allows it the error
// wraps ErrHasState.
//
// On a thread that waits for an answer, Merge edits the turn that waits: nodes that had settled do not run again, those
// that run from now on read the edit, and the questions stay as they are. Everything else is an ErrWaiting there.
func (g *Graph[S]) UpdateState(ctx context.Context, thread string, u Update[S],
	o UpdateOptions) (Checkpoint[S], error) {
	switch waiting, err := g.Waiting(ctx, thread); {
	case err != nil:
		return Checkpoint[S]{}, err
	case len(waiting) > 0 && (o.Replace || !o.Merge):
		return Checkpoint[S]{}, fmt.Errorf("thread %q: %w: merge the update, or abandon the turn", thread, ErrWaiting)
	case len(waiting) > 0:
		return g.edit(ctx, thread, u)
	}
	last, newest, err := g.load(ctx, thread, "")
	if err != nil {
		return Checkpoint[S]{}, err
	}
	r, state := Record{Source: SourceUpdate}, new(S)
	switch {
	case last.ID == "":
	case o.Replace:
		r.Source = SourceFork // from nothing
	case o.Merge:
		r.Parent, r.Turn, state = last.ID, last.Turn, newest
	default:
		return Checkpoint[S]{}, fmt.Errorf(
			"thread %q: %w: use another thread, or say that it is to be replaced or merged", thread, ErrHasState)
	}
	if u, err = g.schema.checked(slices.Clone(u)); err != nil {
		return Checkpoint[S]{}, err
	}
	if err := try(ctx, g.log, "thread", "update", func() error {
		state = g.schema.applied(state, u)
		return nil
	}); err != nil {
		return Checkpoint[S]{}, err
	}
	return g.saved(ctx, thread, r, state, u)
}

// Delete forgets a thread.
func (g *Graph[S]) Delete(ctx context.Context, thread string) error {
	defer g.recall.forget(thread)
	return g.store.Delete(ctx, thread)
}

// load returns a checkpoint and its state, both empty for an unknown thread. The state is shared.
func (g *Graph[S]) load(ctx context.Context, thread, id string) (Record, *S, error) {
	r, known, err := g.recalled(ctx, thread, id)
	return r, known.state, err
}

// recalled is load, with all that is known of the checkpoint.
func (g *Graph[S]) recalled(ctx context.Context, thread, id string) (Record, recalled[S], error) {
	var none recalled[S]
	if thread == "" {
		return Record{}, none, errNoName
	}
	known := g.recall.of(thread)
	if id == "" && known.records > 0 && g.peeker != nil {
		switch newest, err := g.peeker.Newest(ctx, thread); {
		case err != nil:
			return Record{}, none, fmt.Errorf("loading thread %q: %w", thread, err)
		case newest == known.last.ID:
			return known.last, known, nil
		}
	}
	chain, err := g.store.Load(ctx, thread, id)
	if err != nil {
		return Record{}, none, fmt.Errorf("loading thread %q: %w", thread, err)
	}
	if len(chain) == 0 {
		g.recall.forget(thread)
		return Record{}, recalled[S]{state: new(S)}, nil
	}
	err = try(ctx, g.log, "thread", "load", func() (err error) {
		known, err = g.schema.decode(chain, known)
		return err
	})
	if err != nil {
		return Record{}, none, fmt.Errorf("loading thread %q: %w", thread, err)
	}
	if id == "" {
		g.recall.remember(thread, known)
	}
	return chain[len(chain)-1], known, nil
}

// saved stores a checkpoint of a state like save, and returns it.
func (g *Graph[S]) saved(ctx context.Context, thread string, r Record, state *S,
	writes Update[S]) (Checkpoint[S], error) {
	r, err := g.save(ctx, thread, r, state, writes)
	if err != nil {
		return Checkpoint[S]{}, err
	}
	return checkpoint(r, *g.schema.copyOf(state)), nil
}

// save stores a checkpoint of a state; the writes are those that have led to it.
func (g *Graph[S]) save(ctx context.Context, thread string, r Record, state *S, writes Update[S]) (Record, error) {
	now := time.Now()
	r.ID, r.At = newID(r.Parent, now), now.UTC().Truncate(time.Microsecond) // as every saver gives it back
	err := try(ctx, g.log, "thread", "save", func() error { return g.schema.encode(&r, state, writes) })
	if err == nil {
		err = g.store.Save(ctx, thread, r)
	}
	if err != nil {
		return Record{}, fmt.Errorf("saving thread %q: %w", thread, err)
	}
	g.follow(ctx, thread, r, state, writes)
	return r, nil
}

// follow recalls a record that was just saved, so that nobody has to read what this process has written.
func (g *Graph[S]) follow(ctx context.Context, thread string, r Record, state *S, writes Update[S]) {
	known := g.recall.of(thread)
	if known.records == 0 || known.last.ID != r.Parent {
		return
	}
	_ = try(ctx, g.log, "thread", "recall", func() error {
		if next, ok := g.schema.follow(known, r, state, writes); ok {
			g.recall.remember(thread, next)
		}
		return nil
	})
}

func checkpoint[S any](r Record, state S) Checkpoint[S] {
	return Checkpoint[S]{ID: r.ID, Parent: r.Parent, Turn: r.Turn, Source: r.Source, At: r.At, State: state}
}

// newID returns an id that sorts after that of the parent, even when the clock was set back.
func newID(parent string, at time.Time) string {
	now := at.UnixNano()
	if before, _, ok := strings.Cut(parent, "-"); ok {
		if last, err := strconv.ParseInt(before, 16, 64); err == nil {
			now = max(now, last+1)
		}
	}
	return fmt.Sprintf("%016x-%08x", now, rand.Uint32())
}

// edit adds an update to the turn that waits, after all that its nodes have written so far.
func (g *Graph[S]) edit(ctx context.Context, thread string, update Update[S]) (at Checkpoint[S], err error) {
	update, err = g.schema.checked(slices.Clone(update))
	if err != nil {
		return at, err
	}
	var writes json.RawMessage
	if err := try(ctx, g.log, "thread", "update", func() (err error) {
		writes, err = g.schema.encodeUpdate(update)
		return err
	}); err != nil {
		return at, err
	}
	err = g.claimed(ctx, thread, func(ctx context.Context) error {
		last, known, err := g.recalled(ctx, thread, "")
		if err != nil {
			return err
		}
		u, err := g.unfinished(ctx, thread, last)
		if err != nil {
			return err
		}
		if len(u.questions()) == 0 {
			return fmt.Errorf("thread %q: %w", thread, ErrConflict)
		}
		u.edits = append(u.edits, writes)
		if at, err = g.soFar(ctx, thread, last, known, u); err != nil {
			return err
		}
		text, err := json.Marshal(stepText{Kind: stepEdit, Run: u.text.Run, Writes: writes})
		if err != nil {
			return err
		}
		step := Step{Turn: last.Turn + 1, Node: Start, At: time.Now(), Writes: text}
		return g.saver.SaveStep(ctx, thread, step)
	})
	if err != nil {
		return Checkpoint[S]{}, err
	}
	return at, nil
}

// editsOf returns the edits of an unfinished turn.
func (g *Graph[S]) editsOf(u *unfinished) ([]Update[S], error) {
	if u == nil {
		return nil, nil
	}
	var edits []Update[S]
	for _, text := range u.edits {
		edit, err := g.schema.decodeUpdate(text)
		if err != nil {
			return nil, err
		}
		edits = append(edits, edit)
	}
	return edits, nil
}
