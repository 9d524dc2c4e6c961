package graph

import "slices"

// List is a field of the state that writes add to. A record holds only what its turn has added.
type List[S, E any] struct {
	traits
	at   func(*S) *[]E
	key  func(E) string
	free func(*E) // makes an item share nothing; nil when assignment does
}

// Append declares a list.
//
//	var Messages = graph.Append(func(s *State) *[]Message { return &s.Messages })
func Append[S, E any](at func(*S) *[]E) *List[S, E] {
	l := &List[S, E]{at: at}
	l.free, _, l.err = detacher[E]()
	l.traits.identify(pointer(at))
	l.list = true
	return l
}

// Keyed makes an item that is added take the place of the one with the same key, so that adding it again changes nothing.
// An item whose key is empty is always a new one.
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
	w := &listWrite[S, E]{l, items}
	l.own(&w.added)
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
	return &listWrite[S, E]{l, items}, nil
}

func (l *List[S, E]) gather(u Update[S]) (items any, any bool) {
	var all []E
	for _, w := range u {
		if w, ok := w.(*listWrite[S, E]); ok && w.list == l {
			all = append(all, w.added...)
		}
	}
	return all, len(all) > 0
}

func (l *List[S, E]) whole(s *S) Write[S] { return l.Add(*l.at(s)...) }

func (l *List[S, E]) collect(s, from *S) { *l.at(s) = append(*l.at(s), *l.at(from)...) }

func (l *List[S, E]) extend(s, by *S) { *l.at(s) = l.added(*l.at(s), *l.at(by)) }

func (l *List[S, E]) take(s, from *S) { *l.at(s) = *l.at(from) }

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

// finder returns a function that finds the index of a key in a growing list, or -1: by a map when it is called often, else by a search.
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

type listWrite[S, E any] struct {
	list  *List[S, E]
	added []E
}

func (w *listWrite[S, E]) column() Column[S] { return w.list }

func (w *listWrite[S, E]) apply(s *S) {
	at := w.list.at(s)
	*at = w.list.added(*at, w.added)
}
