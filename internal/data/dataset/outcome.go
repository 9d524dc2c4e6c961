package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/model/langfuse"
)

// Outcome is what a change of a dataset came to. The zero value is no change.
type Outcome struct {
	// Deleted, New, Changed and Unchanged count items.
	Deleted, New, Changed, Unchanged int
	// Failed are the items that could not be put or deleted. NotTried are the ids of those that were left alone after a
	// failure. After an interruption it also has those that were sent without an answer.
	Failed   []Failure
	NotTried []string
	// Deleting is set when what is in Failed and NotTried was to be deleted. Else it was to be put.
	Deleting bool
	// Archived are the ids of items that were put and are archived in Langfuse, which they stay.
	Archived []string
	// Interrupted is set when the context ended before all was done.
	Interrupted bool
}

// Failure is an item that could not be put or deleted.
type Failure struct {
	ID  string
	Err error
}

// Complete reports whether everything was done.
func (o *Outcome) Complete() bool { return len(o.Failed)+len(o.NotTried) == 0 && !o.Interrupted }

// String says in words what was changed.
func (o *Outcome) String() string {
	var parts []string
	if o.Deleted > 0 {
		parts = append(parts, text.Plural(o.Deleted, "item")+" deleted")
	}
	if n := o.New + o.Changed; n > 0 {
		parts = append(parts, fmt.Sprintf("%s put (%d new, %d changed)", text.Plural(n, "item"), o.New, o.Changed))
	}
	if o.Unchanged > 0 {
		parts = append(parts, fmt.Sprintf("%d unchanged", o.Unchanged))
	}
	if len(parts) == 0 {
		return "nothing was changed"
	}
	return strings.Join(parts, ", ")
}

// partSize is how many items are sent between two looks at the context and two calls of Progress.
const partSize = 50

// inParts does something with many items, part by part, and records in o what failed. It returns the ids of those that
// were done.
func (p *remote) inParts(
	ctx context.Context, o *Outcome, what string, ids []string, do func(ctx context.Context, ids []string) error,
) (done []string) {
	tried := 0
	for part := range slices.Chunk(ids, partSize) {
		err := do(ctx, part)
		push, ok := errors.AsType[*langfuse.PushError](err)
		switch {
		case err == nil:
			push = &langfuse.PushError{Done: part}
		case !ok:
			push = &langfuse.PushError{Failed: []langfuse.Failure{{ID: part[0], Err: err}}, Rest: part[1:]}
		}
		tried += len(push.Done) + len(push.Failed)
		for _, id := range push.Done {
			done = append(done, id)
			p.places.done(what, len(done))
		}
		for _, f := range push.Failed {
			if errors.Is(f.Err, context.Canceled) { // it may have been done
				o.NotTried = append(o.NotTried, f.ID)
				continue
			}
			o.Failed = append(o.Failed, Failure(f))
		}
		if len(push.Rest) > 0 || ctx.Err() != nil {
			o.Interrupted = ctx.Err() != nil && len(done) < len(ids)
			o.NotTried = append(o.NotTried, ids[tried:]...)
			break
		}
	}
	return done
}

// Few lists ids, as many as somebody reads.
func Few(ids []string) string {
	const most = 10
	list := strings.Join(ids[:min(len(ids), most)], ", ")
	if more := len(ids) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
