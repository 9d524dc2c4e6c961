package graph

import (
	"encoding/json"
	"fmt"
	"slices"
)

// List is a field of the state that writes add to. A record holds only what its turn has added or taken away.
type List[S, E any] struct {
	traits
	at   func(*S) *[]E
	key  func(E) string
	free func(*E)   // makes an item share nothing; nil when assignment does
	form func(*[]E) // makes items what they are once they were stored; nil when that takes storing them
}

// Append declares a list.
//
//	var Messages = graph.Append(func(s *State) *[]Message { return &s.Messages })
func Append[S, E any](at func(*S) *[]E) *List[S, E] {
	l := &List[S, E]{at: at}
	l.free, _, l.err = detacher[E]()
	l.form = retainer[[]E]()
	l.traits.identify(pointer(at))
	l.list = true
	return l
}

// Keyed makes an item that is added take the place of the one with the same key, so that adding it again changes
// nothing. An item whose key is empty is always a new one.
func (l *List[S, E]) Keyed(key func(E) string) *List[S, E] {
	l.key = key
	return l
}

// PerTurn makes the list begin every turn empty.
func (l *List[S, E]) PerTurn() *List[S, E] {
	l.perTurn = true
	return l
}

// Add writes items at the end of the list, of which it takes copies.
func (l *List[S, E]) Add(items ...E) Write[S] {
	return l.write(&listWrite[S, E]{op: opAdd, items: items})
}

// Remove takes away the items with these keys, from a Keyed list. A key that no item has changes nothing, nor does an
// empty one.
func (l *List[S, E]) Remove(keys ...string) Write[S] {
	return &listWrite[S, E]{list: l, op: opRemove, keys: slices.Clone(keys)}
}

// Trim keeps only so many items, the newest.
func (l *List[S, E]) Trim(keep int) Write[S] {
	return &listWrite[S, E]{list: l, op: opTrim, keep: keep}
}

// Replace writes a copy of items in place of the whole list. Items with the same key become one, as with Add.
func (l *List[S, E]) Replace(items ...E) Write[S] {
	return l.write(&listWrite[S, E]{op: opReplace, items: items})
}

func (l *List[S, E]) write(w *listWrite[S, E]) Write[S] {
	w.list = l
	l.own(&w.items)
	return w
}

func (l *List[S, E]) own(items *[]E) {
	*items = slices.Clip(slices.Clone(*items))
	if l.free != nil {
		for i := range *items {
			l.free(&(*items)[i])
		}
	}
}

func (l *List[S, E]) bind(s *S) any { return l.at(s) }

func (l *List[S, E]) detach(s *S) { l.own(l.at(s)) }

func (l *List[S, E]) clear(s *S) { *l.at(s) = nil }

func (l *List[S, E]) parse(data []byte) (Write[S], error) {
	var items []E
	if err := decodeStrictly(data, &items); err != nil {
		return nil, err
	}
	return &listWrite[S, E]{list: l, op: opAdd, items: items}, nil
}

func (l *List[S, E]) read(op string, data []byte) (Write[S], error) {
	w := &listWrite[S, E]{list: l, op: op}
	var into any = &w.items
	switch op {
	case opAdd, opReplace:
	case opRemove:
		into = &w.keys
	case opTrim:
		into = &w.keep
	default:
		return nil, fmt.Errorf("unknown write %q of a list: it was stored by a newer program", op)
	}
	err := json.Unmarshal(data, into)
	w.items = slices.Clip(w.items)
	return w, err
}

func (l *List[S, E]) gather(u Update[S]) (items any, any, plain bool) {
	all, plain := l.items(u)
	return all, len(all) > 0 || !plain, plain
}

// items returns what an update adds; plain says that it does nothing else to the list.
func (l *List[S, E]) items(u Update[S]) (all []E, plain bool) {
	plain = true
	for _, w := range u {
		if w, ok := w.(*listWrite[S, E]); ok && w.list == l {
			all = append(all, w.items...)
			plain = plain && w.op == opAdd
		}
	}
	return all, plain
}

func (l *List[S, E]) whole(s *S) Write[S] { return l.Add(*l.at(s)...) }

func (l *List[S, E]) collect(s, from *S) { *l.at(s) = append(*l.at(s), *l.at(from)...) }

func (l *List[S, E]) extend(s, by *S) { *l.at(s) = l.added(*l.at(s), *l.at(by)) }

func (l *List[S, E]) take(s, from *S) { *l.at(s) = *l.at(from) }

func (l *List[S, E]) decode(s *S, data []byte) error {
	err := json.Unmarshal(data, l.at(s))
	l.detach(s)
	return err
}

func (l *List[S, E]) retain(s, from *S, data []byte) error {
	if l.form == nil || !retainable(data) {
		return l.decode(s, data)
	}
	l.take(s, from)
	l.form(l.at(s))
	return nil
}

func (l *List[S, E]) retainAdded(s *S, u Update[S], stored []byte) bool {
	items, _ := l.items(u)
	if len(items) == 0 {
		return true
	}
	if l.form == nil || !retainable(stored) {
		return false
	}
	l.form(&items)
	*l.at(s) = l.added(*l.at(s), items)
	return true
}

// added returns a new list with the items. The old one is not touched: others still read it.
func (l *List[S, E]) added(old, items []E) []E {
	if len(items) == 0 {
		return old
	}
	if l.key == nil {
		return slices.Clip(slices.Concat(old, items))
	}
	list := make([]E, len(old), len(old)+len(items))
	copy(list, old)
	find := l.finder(len(items))
	for _, e := range items {
		key := l.key(e)
		if i := find(list, key); i >= 0 && key != "" {
			list[i] = e
			continue
		}
		list = append(list, e)
	}
	return slices.Clip(list)
}

// finder returns a function that finds the index of a key in a growing list, or -1: by a map when it is called often,
// else by a search.
func (l *List[S, E]) finder(times int) func(list []E, key string) int {
	if times <= 4 {
		return func(list []E, key string) int {
			return slices.IndexFunc(list, func(e E) bool { return l.key(e) == key })
		}
	}
	place, indexed := make(map[string]int, times), 0
	return func(list []E, key string) int {
		for ; indexed < len(list); indexed++ {
			place[l.key(list[indexed])] = indexed
		}
		if i, known := place[key]; known {
			return i
		}
		return -1
	}
}

// The writes of lists, as they are called where they are stored.
const (
	opAdd     = "add"
	opRemove  = "remove"
	opTrim    = "trim"
	opReplace = "replace"
)

type listWrite[S, E any] struct {
	list  *List[S, E]
	op    string
	items []E      // to add, or the whole new list
	keys  []string // to remove
	keep  int
}

func (w *listWrite[S, E]) column() Column[S] { return w.list }

func (w *listWrite[S, E]) apply(s *S) {
	at := w.list.at(s)
	switch w.op {
	case opAdd:
		*at = w.list.added(*at, w.items)
	case opReplace:
		*at = w.list.added(nil, w.items)
	case opTrim:
		if drop := len(*at) - w.keep; drop > 0 {
			*at = slices.Clip(slices.Clone((*at)[drop:]))
		}
	case opRemove:
		*at = w.list.without(*at, w.keys)
	}
}

// without returns a new list without the items of some keys, or the old one when it has none of them.
func (l *List[S, E]) without(old []E, keys []string) []E {
	gone := make(map[string]bool, len(keys))
	for _, key := range keys {
		gone[key] = key != ""
	}
	isGone := func(e E) bool { return gone[l.key(e)] }
	if !slices.ContainsFunc(old, isGone) {
		return old
	}
	return slices.Clip(slices.DeleteFunc(slices.Clone(old), isGone))
}

func (w *listWrite[S, E]) fault() error {
	switch {
	case w.op == opRemove && w.list.key == nil:
		return fmt.Errorf("items are removed from list %q, which has no keys: declare it Keyed", w.list.name)
	case w.op == opTrim && w.keep < 0:
		return fmt.Errorf("list %q is trimmed to %d items: keep 0 or more", w.list.name, w.keep)
	}
	return nil
}

func (w *listWrite[S, E]) stored() (op string, value any) {
	switch w.op {
	case opRemove:
		return w.op, w.keys
	case opTrim:
		return w.op, w.keep
	}
	if w.items == nil {
		return w.op, []E{}
	}
	return w.op, w.items
}
