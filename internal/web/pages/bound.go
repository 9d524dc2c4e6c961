package pages

import (
	"net/url"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/report/transcript"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// fromTurn is the parameter that names a turn which a page shows, with those after it, where not all of a conversation
// fit.
const fromTurn = "turn"

// maxPage is about how many bytes the conversations of a page take.
const maxPage = 800_000

// bound leaves out what would make the page too large, and leads to it.
func (p *conversationPage) bound(q url.Values, of runindex.Test) {
	from, _ := strconv.Atoi(q.Get(fromTurn)) // what is no number is no turn
	for i := range p.Shown {
		t := &p.Shown[i].Transcript
		if t.Bound(maxPage/len(p.Shown), from); t.LeftFrom > 0 {
			values := frame.Only(q, "suite", "target", "trial", "view", "from")
			values.Set("suite", of.Suite)
			values.Set("target", of.Target)
			values.Set(fromTurn, strconv.Itoa(t.LeftFrom))
			t.LeftAt = frame.Address(addressOfRun(p.Run)+"/tests/"+frame.Segment(of.ID), values) + "#" + t.Prefix +
				"turn-" + strconv.Itoa(t.LeftFrom)
		}
	}
}

// bound leaves out what would make the page too large, and leads to it. What differs stays longest.
func (p *comparedConversation) bound(q url.Values) {
	from, _ := strconv.Atoi(q.Get(fromTurn)) // what is no number is no turn
	told := transcript.Fitting(len(p.Pairs), maxPage, func(i int) int {
		pair := &p.Pairs[i]
		p.mark(pair)
		return aroundPair + pair.A.weight() + pair.B.weight()
	},
		func(i int) bool { return p.Pairs[i].N >= from && p.Pairs[i].Differs },
		func(i int) bool { return p.Pairs[i].N >= from })
	var shown []turnPair
	for i, pair := range p.Pairs {
		switch {
		case told[i]:
			shown = append(shown, pair)
		case p.LeftFrom == 0 || p.LeftFrom < from && pair.N > from: // on from there, else from the beginning
			p.LeftFrom = pair.N
		}
	}
	p.Left += len(p.Pairs) - len(shown)
	p.Pairs = shown
	if p.LeftFrom > 0 {
		q.Set(fromTurn, strconv.Itoa(p.LeftFrom))
		p.LeftAt = frame.Address("/compare/tests/"+frame.Segment(p.Test), q) + "#turn-" + strconv.Itoa(p.LeftFrom)
	}
}

// mark marks the words that differ. It takes its time, and is done for what is shown.
func (p *comparedConversation) mark(pair *turnPair) {
	x, y := p.A.turns[pair.N], p.B.turns[pair.N]
	pair.A.User, pair.B.User = differing(x.Input.String(), y.Input.String(), pair.A.There && pair.B.There)
	pair.A.Reply, pair.B.Reply = differing(x.Output, y.Output, pair.A.There && pair.B.There)
}

// aroundPair is what a page needs around the texts of two turns, in bytes.
const aroundPair = 1_500

// weight is about how many bytes of a page a turn takes.
func (s turnSide) weight() int {
	n := len(s.User) + len(s.Reply) + s.Item.Weight()
	for _, c := range s.Calls {
		n += c.Weight()
	}
	return n
}
