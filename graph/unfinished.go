package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// unfinished is a turn that was not saved: its steps.
type unfinished struct {
	stale bool // the thread has moved on since, or there is no input: nothing can go on with it
	text  stepText
	past  map[string][]*stepText // the steps of nodes and items, by visit
	open  []*question            // those without an answer, in order

	edits   []json.RawMessage // what UpdateState has written, in order
	settled []settledStep     // of past
}

// settledStep is the step of a node or an item.
type settledStep struct {
	step  Step
	text  *stepText
	visit string // of the node
}

// unfinished returns the unfinished turn of a thread whose newest record is known, nil when there is none.
func (g *Graph[S]) unfinished(ctx context.Context, thread string, last Record) (*unfinished, error) {
	if g.saver == nil {
		return nil, nil
	}
	steps, err := g.saver.Steps(ctx, thread)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	texts := make([]stepText, len(steps))
	u := &unfinished{stale: true, past: map[string][]*stepText{}}
	for i, s := range steps {
		if err := json.Unmarshal(s.Writes, &texts[i]); err != nil {
			return nil, fmt.Errorf("a step of node %q cannot be read: abandon the turn: %w", s.Node, err)
		}
		if texts[i].Kind == stepInput && s.Turn == last.Turn+1 {
			u.text, u.stale = texts[i], false
		}
	}
	if !u.stale {
		if u.stale, err = g.movedOn(ctx, thread, last, u.text.Base); err != nil {
			return nil, err
		}
	}
	for i, s := range steps {
		if text := &texts[i]; s.Turn == last.Turn+1 && text.Run == u.text.Run {
			u.add(s, text)
		}
	}
	u.open = slices.DeleteFunc(u.open, func(q *question) bool { return len(u.past[q.key]) > 0 })
	slices.SortFunc(u.open, (*question).compare)
	return u, nil
}

// questions returns the questions that wait for an answer, in order; none without an unfinished turn.
func (u *unfinished) questions() []*question {
	if u == nil || u.stale {
		return nil
	}
	return u.open
}

// answered checks that answers are those to questions that wait.
func (u *unfinished) answered(answers map[string]json.RawMessage) error {
	if len(answers) == 0 {
		return fmt.Errorf("the answers are empty: %w", errQuestion(u.open[0]))
	}
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		if !slices.ContainsFunc(u.open, func(q *question) bool { return q.text.ID == id }) {
			return fmt.Errorf("question %q: %w: %w", id, ErrUnknownQuestion, errQuestion(u.open[0]))
		}
	}
	return nil
}

// compare orders questions as the writes of their nodes: by step, then by name, within subgraphs after the outer nodes,
// then by item.
func (q *question) compare(other *question) int {
	return cmp.Or(comparePlaces(q.step, q.text.At, other.step, other.text.At),
		cmp.Compare(q.step.Item, other.step.Item))
}

// comparePlaces compares the places of two visits of which the names and the steps are known, from the outermost graph
// inwards.
func comparePlaces(a Step, aAt string, b Step, bAt string) int {
	aNames, bNames := strings.Split(a.Node, "/"), strings.Split(b.Node, "/")
	aSteps, bSteps := strings.Split(aAt, "."), strings.Split(bAt, ".")
	for i := range min(len(aNames), len(bNames), len(aSteps), len(bSteps)) {
		aStep, _ := strconv.Atoi(aSteps[i])
		bStep, _ := strconv.Atoi(bSteps[i])
		if c := cmp.Or(cmp.Compare(aStep, bStep), cmp.Compare(aNames[i], bNames[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(aNames), len(bNames))
}

// add sorts a step in.
func (u *unfinished) add(s Step, text *stepText) {
	key := visitKey(s.Node, text.At)
	visit := key
	text.edits = len(u.edits)
	switch text.Kind {
	case stepEdit:
		u.edits = append(u.edits, text.Writes)
	case stepItem:
		key = itemKey(key, s.Item)
		fallthrough
	case stepNode:
		u.past[key] = append(u.past[key], text)
		u.settled = append(u.settled, settledStep{s, text, visit})
	case stepQuestion:
		if text.IsItem {
			key = itemKey(key, s.Item)
		}
		// it was answered, and the node asks on
		u.open = slices.DeleteFunc(u.open, func(q *question) bool { return q.key == key })
		u.open = append(u.open, &question{key, s, *text})
	}
}

// movedOn reports whether a thread has moved on from a record by more than writes to Kept fields of turns that have
// failed.
func (g *Graph[S]) movedOn(ctx context.Context, thread string, last Record, base string) (bool, error) {
	if last.ID == base {
		return false, nil
	}
	records, err := g.store.List(ctx, thread)
	if err != nil {
		return false, err
	}
	byID := map[string]Record{}
	for _, r := range records {
		byID[r.ID] = r
	}
	for at, known := last, true; known && at.Source == SourceTurn && at.Turn == last.Turn; at, known = byID[at.Parent] {
		if byID[at.ID].Parent == base {
			return base == "" && last.Turn > 0, nil
		}
	}
	return true, nil
}

// drop forgets the steps of a thread.
func (g *Graph[S]) drop(ctx context.Context, thread string) error {
	if err := g.saver.DropSteps(ctx, thread); err != nil {
		return fmt.Errorf("thread %q: its unfinished turn cannot be dropped: %w", thread, err)
	}
	return nil
}

// abandon drops an unfinished turn, but for the writes to Kept fields that were not saved when it failed.
func (g *Graph[S]) abandon(ctx context.Context, thread string, last Record, state *S, u *unfinished) error {
	if u == nil {
		return nil
	}
	if !u.stale && u.text.Base == last.ID {
		kept, err := g.keptOf(u)
		if err == nil {
			err = g.keep(ctx, thread, last, state, kept)
		}
		if err != nil {
			return err
		}
	}
	return g.drop(ctx, thread)
}

// keptOf returns the writes to Kept fields of an unfinished turn, in the order in which they count.
func (g *Graph[S]) keptOf(u *unfinished) (Update[S], error) {
	if !slices.ContainsFunc(g.schema.columns, func(c Column[S]) bool { return c.about().kept }) {
		return nil, nil
	}
	all, err := g.pending(u)
	return slices.DeleteFunc(all, func(w Write[S]) bool { return !w.column().about().kept }), err
}

// pending returns the writes of an unfinished turn, in the order in which they count: what was written before an edit
// comes before it.
func (g *Graph[S]) pending(u *unfinished) (Update[S], error) {
	settled := slices.DeleteFunc(slices.Clone(u.settled), func(s settledStep) bool {
		return strings.Contains(s.step.Node, "/") || // of a subgraph, whose state is not that of the thread
			slices.ContainsFunc(u.open, func(q *question) bool { return strings.HasPrefix(q.key, s.visit+"\x00") })
	})
	slices.SortStableFunc(settled, func(a, b settledStep) int {
		return cmp.Or(cmp.Compare(a.text.edits, b.text.edits), comparePlaces(a.step, a.text.At, b.step, b.text.At),
			cmp.Compare(a.step.Item, b.step.Item))
	})
	parts := []json.RawMessage{u.text.Writes}
	edited := 0
	for _, s := range settled {
		parts = append(parts, u.edits[edited:s.text.edits]...)
		edited = s.text.edits
		parts = append(parts, s.text.Writes)
	}
	parts = append(parts, u.edits[edited:]...)
	var all Update[S]
	for _, part := range parts {
		writes, err := g.schema.decodeUpdate(part)
		if err != nil {
			return nil, err
		}
		all = append(all, writes...)
	}
	return all, nil
}
