package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// test is one conversation of the suite to write.
type test struct {
	id string
	// input is what was said before the turns.
	input []message
	turns []turn
	// user is the mapping of a simulated user; nil for scripted turns.
	user pairs
	// whole are the assertions about the whole conversation.
	whole     []any
	execution pairs
	metadata  pairs
	// more are other keys of a test.
	more pairs
	// conversation is true for a test that is a conversation though it has one turn.
	conversation bool
	// skipShared is true for a test without the checks that all tests of its file have.
	skipShared bool
}

// attach adds checks to the test: to its only turn, or to the whole conversation.
func (t *test) attach(checks []any) {
	if t.user == nil && len(t.turns) == 1 && len(t.whole) == 0 && !t.conversation {
		t.turns[0].assertions = append(slices.Clip(t.turns[0].assertions), checks...)
		return
	}
	t.whole = append(slices.Clip(t.whole), checks...)
}

type message struct {
	role string
	text any // string or written
}

type turn struct {
	text       any // string or written
	expected   any
	assertions []any
}

// pairs is a mapping with an order.
type pairs []pair

type pair struct {
	name  string
	value any
}

// with returns the mapping with an entry added, unless the value is empty.
func (p pairs) with(name string, value any) pairs {
	switch v := value.(type) {
	case nil:
		return p
	case string:
		if v == "" {
			return p
		}
	case written:
		if v == "" {
			return p
		}
	case []any:
		if len(v) == 0 {
			return p
		}
	case pairs:
		if len(v) == 0 {
			return p
		}
	case source.Value:
		if empty(v) {
			return p
		}
	}
	return append(p, pair{name, value})
}

// get returns the value of an entry, or nil.
func (p pairs) get(name string) any {
	for _, one := range p {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

// written is a text as it stands in a suite: placeholders work in it, and a plain {{ has a backslash before it.
type written string

// escape returns a text as it is written in a suite.
func escape(s string) written { return written(strings.ReplaceAll(s, "{{", `\{{`)) }

// plain returns what a suite makes of a text or written text, placeholders aside.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case written:
		return strings.ReplaceAll(string(v), `\{{`, "{{")
	}
	return ""
}

func blank(v any) bool {
	if blocks, ok := v.([]any); ok {
		return len(blocks) == 0
	}
	return strings.TrimSpace(plain(v)) == ""
}

// add adds the test that v is under an id of its own, with the unsupported checks that were found while it was read.
// Turns without a text are lost, and a test that is left without a user's message becomes a placeholder.
func (r *reader) add(v source.Value, t *test) {
	if t.user == nil && !slices.ContainsFunc(t.turns, func(one turn) bool { return !blank(one.text) }) {
		r.placeholder(v, t.id, "it has no message of a user with a text")
		return
	}
	t.turns = slices.DeleteFunc(slices.Clone(t.turns), func(one turn) bool {
		if !blank(one.text) {
			return false
		}
		what := "a turn of " + t.id
		if checks := asValue(pairs{}.with("expected_output", one.expected).
			with("assertions", one.assertions)); len(checks.Fields) > 0 {
			checks.Line, checks.Column = v.Line, v.Column
			r.unsupported(checks, what, "its message has no text")
		} else {
			r.lose(v.Line, what, "its message has no text")
		}
		return true
	})
	t.input = slices.DeleteFunc(t.input, func(m message) bool {
		if blank(m.text) {
			r.lose(v.Line, "a message of "+m.role, "it has no text")
		}
		return blank(m.text)
	})
	t.attach(r.taken())
	r.append(t)
}

// placeholder adds a test that stands for one, or for a file of them, which cannot be read. It cannot pass.
func (r *reader) placeholder(v source.Value, id, format string, args ...any) {
	what := "test " + id
	r.leave(v, what, fmt.Sprintf(format, args...), "a test of your own")
	t := &test{id: id, turns: []turn{{text: what + " was not imported"}}}
	t.attach(r.taken())
	r.append(t)
	r.placeholders++
}

func (r *reader) append(t *test) {
	if r.full() {
		return
	}
	t.id = r.unique(t.id)
	r.size += size(t.pairs())
	r.tests = append(r.tests, t)
}

// unique returns an id of one line, with a number behind it if it is taken, and takes it.
func (r *reader) unique(id string) string {
	id = brief(strings.ToValidUTF8(id, ""))
	if id == "" {
		id = fmt.Sprintf("test-%d", len(r.tests)+1)
	}
	free := id
	for r.ids[free] > 0 {
		r.ids[id]++
		free = fmt.Sprintf("%s-%d", id, r.ids[id])
	}
	r.ids[free] = 1
	return free
}

// size returns about how many bytes a value takes when it is written.
func size(v any) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case written:
		return len(v)
	case []any:
		for _, one := range v {
			n += size(one) + 2
		}
	case pairs:
		for _, one := range v {
			n += len(one.name) + size(one.value) + 4
		}
	case source.Value:
		n = len(v.Scalar)
		for _, item := range v.Items {
			n += size(item) + 2
		}
		for _, f := range v.Fields {
			n += len(f.Name) + size(f.Value) + 4
		}
	}
	return n
}

// turnCount returns how many turns are written out; those of a simulated user are not known.
func (t *test) turnCount() int { return len(t.turns) }

// pairs returns the test as it is written.
func (t *test) pairs() pairs {
	p := pairs{{"id", t.id}}
	if t.user == nil && len(t.turns) == 1 && len(t.whole) == 0 && !t.conversation {
		one := t.turns[0]
		p = p.with("input", messages(append(slices.Clip(t.input), message{"user", one.text})))
		p = p.with("expected_output", one.expected).with("assertions", one.assertions)
	} else {
		if t.user == nil {
			p = append(p, pair{"mode", "conversation"})
		}
		if len(t.input) > 0 {
			p = append(p, pair{"input", listed(t.input)})
		}
		var turns []any
		for _, one := range t.turns {
			turns = append(turns, pairs{{"input", one.text}}.with("expected_output", one.expected).
				with("assertions", one.assertions))
		}
		p = p.with("turns", turns).with("user", t.user).with("assertions", t.whole)
	}
	execution := t.execution
	if t.skipShared {
		execution = append(slices.Clip(execution), pair{"skip_defaults", true})
	}
	return append(p, t.more...).with("execution", execution).with("metadata", t.metadata)
}

// messages returns messages as an input: a single one of the user as its text.
func messages(all []message) any {
	if _, blocks := all[0].text.([]any); len(all) == 1 && !blocks {
		return all[0].text
	}
	return listed(all)
}

func listed(all []message) []any {
	var list []any
	for _, m := range all {
		list = append(list, pairs{{"role", m.role}, {"content", m.text}})
	}
	return list
}
