package replay

import (
	"fmt"
	"strings"
)

const (
	// maxPairText bounds what all lanes of a session say, in bytes, once it is measured.
	maxPairText = 1 << 20
	// maxDetail bounds a session in JSON: stores keep no more than 32 MB.
	maxDetail = 30 << 20
)

// texts calls f for every text of a pair.
func (p *Pair) texts(f func(text *string)) {
	for i := range p.Lanes {
		for j := range p.Lanes[i].Turns {
			f(&p.Lanes[i].Turns[j].User)
			f(&p.Lanes[i].Turns[j].Bot)
		}
	}
}

// size is how many bytes the texts of a pair have.
func (p *Pair) size() int {
	n := 0
	p.texts(func(text *string) { n += len(*text) })
	return n
}

// shorten cuts the long texts of a pair that says too much to be kept. Its metrics are those of the whole texts.
func (p *Pair) shorten() {
	if p.size() <= maxPairText {
		return
	}
	n := 0
	p.texts(func(*string) { n++ })
	most := maxPairText / n
	p.texts(func(text *string) {
		if len(*text) > most {
			*text = strings.ToValidUTF8(strings.Clone((*text)[:most]), "") + "…" // a clone, so that the whole one need not be kept
		}
	})
}

// boundedOutcome returns what is kept of a pair. One of too many turns is dropped, since a session that no store keeps must not end the run.
func boundedOutcome(p *Pair) (Outcome, error) {
	p.shorten()
	o, err := outcomeOf(p)
	if err != nil || len(o.Detail) <= maxDetail {
		return o, err
	}
	p.Dropped = fmt.Sprintf("the session is too long to be kept: %d MB with all of its turns, of which %d MB can be", len(o.Detail)>>20, maxDetail>>20)
	for i := range p.Lanes {
		p.Lanes[i] = Lane{Name: p.Lanes[i].Name, Turns: []LaneTurn{}}
	}
	return outcomeOf(p)
}
