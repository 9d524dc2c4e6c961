package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// What a record takes away from lists stands in its Appended under the empty name, which no field has: by list, the
// writes in their order. A list that a record only adds to stands there as an array, so that records of conversations
// which only grow are as short as they can be.
var changedPrefix = []byte(`{"":`)

// storedWrite is a write as records and steps keep it.
type storedWrite struct {
	Field string          `json:"field,omitempty"` // left out where the list is known
	Op    string          `json:"op"`
	Value json.RawMessage `json:"value"`
}

// encodeChanged returns the writes to lists that are not only added to, nil when there are none.
func (s *schema[S]) encodeChanged(u Update[S]) ([]byte, error) {
	var changed map[string][]storedWrite
	for _, c := range s.growing {
		if _, any, plain := c.gather(u); !any || plain {
			continue
		}
		if changed == nil {
			changed = map[string][]storedWrite{}
		}
		name := c.about().name
		for _, w := range u {
			if w.column() != Column[S](c) {
				continue
			}
			stored, err := storeWrite(w)
			if err != nil {
				return nil, err
			}
			changed[name] = append(changed[name], stored)
		}
	}
	if changed == nil {
		return nil, nil
	}
	return json.Marshal(changed)
}

func storeWrite[S any](w Write[S]) (storedWrite, error) {
	op, value := w.stored()
	o := newObject()
	err := o.value(value)
	text := o.end()
	if err != nil {
		return storedWrite{}, fmt.Errorf("field %q cannot be stored: %w", w.column().about().name, err)
	}
	return storedWrite{Op: op, Value: text[1 : len(text)-1]}, nil
}

// change applies to a state what a record takes away from lists. Lists that the state no longer has are ignored.
func (s *schema[S]) change(r Record, state *S) error {
	var all, changed map[string]json.RawMessage
	err := json.Unmarshal(r.Appended, &all)
	if err == nil {
		err = json.Unmarshal(all[""], &changed)
	}
	if err != nil {
		return fmt.Errorf("checkpoint %s: what it changes: %w", r.ID, err)
	}
	for _, c := range s.growing {
		var writes []storedWrite
		data, any := changed[c.about().name]
		if !any {
			continue
		}
		err := json.Unmarshal(data, &writes)
		for _, stored := range writes {
			var w Write[S]
			if w, err = c.read(stored.Op, stored.Value); err == nil {
				err = w.fault()
			}
			if err != nil {
				break
			}
			w.apply(state)
		}
		if err != nil {
			return fmt.Errorf("checkpoint %s: what it changes in %q: %w", r.ID, c.about().name, err)
		}
	}
	return nil
}

// Compactor is a Checkpointer that can replace all records of a thread by one.
type Compactor interface {
	// Compact makes a record, whose ID is that of the newest, the only one of its thread; with any other ID it fails
	// with ErrConflict and changes nothing. Steps of an unfinished turn stay. Atomic.
	Compact(ctx context.Context, thread string, r Record) error
}

var errNoCompactor = errors.New("the checkpoints cannot be compacted: use ones that implement Compactor")

// Compact makes the newest state of a thread its only record: what was removed from lists is gone for good then, and so
// is the way back to earlier checkpoints. The newest checkpoint keeps its id. A thread without state stays as it is.
func (g *Graph[S]) Compact(ctx context.Context, thread string) error {
	c, ok := g.store.(Compactor)
	if !ok {
		return fmt.Errorf("thread %q: %w", thread, errNoCompactor)
	}
	r, state, err := g.load(ctx, thread, "")
	if err != nil || r.ID == "" {
		return err
	}
	r.Parent = ""
	err = try(ctx, g.log, "thread", "compact", func() error {
		return g.schema.encode(&r, state, g.schema.whole(state))
	})
	if err == nil {
		err = c.Compact(ctx, thread, r)
	}
	if err != nil {
		return fmt.Errorf("compacting thread %q: %w", thread, err)
	}
	g.recall.forget(thread)
	return nil
}
