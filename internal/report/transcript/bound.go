package transcript

import (
	"html/template"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// What a page needs around texts, in bytes, for a turn and for each thing in it.
const (
	aroundTurn  = 900
	aroundThing = 300
)

// Bound leaves turns out until the rest takes so many bytes of a page, or is one turn. Those that did not pass stay
// longest, then those from a turn on, then the first ones. Of the messages before the first turn the last ones stay, as
// far as a quarter of the bytes reaches.
func (k *Transcript) Bound(most, from int) {
	left := most / 4
	for i := len(k.Earlier) - 1; i >= 0; i-- {
		if left -= k.Earlier[i].weight(); left < 0 {
			k.EarlierLeft, k.Earlier = k.EarlierLeft+i+1, k.Earlier[i+1:]
			break
		}
	}
	if len(k.Earlier) > 0 {
		most -= most / 4
	}
	told := Fitting(len(k.Turns), most, func(i int) int { return k.Turns[i].Weight() },
		func(i int) bool { return k.Turns[i].Verdict == result.Fail || k.Turns[i].Verdict == result.Error },
		func(i int) bool { return k.Turns[i].N >= from })
	var shown []Turn
	for i, t := range k.Turns {
		switch {
		case told[i]:
			shown = append(shown, t)
		case k.LeftFrom == 0 || k.LeftFrom < from && t.N > from: // on from there, else from the beginning
			k.LeftFrom = t.N
		}
	}
	k.Left += len(k.Turns) - len(shown)
	k.Turns = shown
}

// Fitting chooses, of n things, what fits into so many bytes. Things for which the first of the tests is true come
// first, then those of the second test, and so on; all others come last. The first thing is chosen however large it is.
func Fitting(n, most int, weight func(int) int, first ...func(int) bool) []bool {
	told, full, any := make([]bool, n), false, false
	for _, fits := range append(first, func(int) bool { return true }) {
		for i := range n {
			if full || told[i] || !fits(i) {
				continue
			}
			most -= weight(i)
			if full = most < 0 && any; !full {
				told[i], any = true, true
			}
		}
	}
	return told
}

// Weight is about how many bytes of a page a turn takes.
func (t *Turn) Weight() int {
	n := aroundTurn + t.User.weight() + t.Reply.weight() + escaped(t.StateJSON) + t.Item.Weight()
	for _, c := range t.Calls {
		n += c.Weight()
	}
	for _, changes := range [][]Change{t.State, t.Learned} {
		for _, c := range changes {
			n += aroundThing + escaped(c.Path) + escaped(c.Old) + escaped(c.New)
		}
	}
	for _, x := range t.Judge {
		n += aroundThing + escaped(x.Prompt) + escaped(x.Reply)
	}
	return n
}

// Weight is about how many bytes of a page a call takes.
func (c ToolCall) Weight() int {
	return aroundThing + escaped(c.Name) + escaped(c.Args) + escaped(c.Result)
}

// Weight is about how many bytes of a page a graded part takes; a nil one takes none.
func (i *Item) Weight() (n int) {
	if i == nil {
		return 0
	}
	for _, a := range i.Assertions {
		n += aroundThing + escaped(a.Text) + escaped(a.Evidence)
		for _, v := range a.Voters {
			n += aroundThing + escaped(v.Model) + escaped(v.Reasoning) + escaped(v.Missing)
		}
	}
	for _, f := range i.Failures {
		n += aroundThing + escaped(f.Message)
	}
	return n
}

func (m *Message) weight() (n int) {
	for _, p := range m.Parts {
		n += aroundThing + len(p.Head) + len(p.Folded) + len(p.Plain) + len(p.Image)
	}
	return n
}

// escaped is how long a text is on a page.
func escaped(s string) int { return len(template.HTMLEscapeString(s)) }
