package replay

import "encoding/json"

// Erased stands where an erased session had words: what was said, and reasons of failures, which may quote it.
const Erased = "the session was erased"

// WithoutWords returns the outcome of a session that is erased: nobody's words are in it, nor values of the visitor's,
// nor who it was. What was counted stays, with times and states, so that the figures of the run remain those of its
// sessions.
func (o Outcome) WithoutWords() (Outcome, error) {
	erase(&o.Dropped)
	if o.Detail == nil {
		return o, nil
	}
	pair, err := o.Pair()
	if err != nil { // nobody can read it, but its words are there
		o.Detail = nil
		return o, nil //nolint:nilerr // there is nothing left to erase
	}
	for _, time := range pair.Times() {
		time.eraseWords()
	}
	o.Detail, err = json.Marshal(detail{Pair: pair, Again: pair.Again}) // without records, which have words
	return o, err
}

// eraseWords leaves of one time that a session was replayed what was counted.
func (p *Pair) eraseWords() {
	p.UnitID, p.Slices = "", nil
	erase(&p.Dropped)
	if p.Preference != nil {
		erase(&p.Preference.Reason)
	}
	for i := range p.Variations {
		lane := &p.Variations[i]
		lane.Data = nil
		erase(&lane.Error)
		for j := range lane.Turns {
			erase(&lane.Turns[j].User)
			erase(&lane.Turns[j].Bot)
		}
	}
}

// erase replaces a text. One that is empty says something by being so: nothing failed, or nothing was answered.
func erase(text *string) {
	if *text != "" {
		*text = Erased
	}
}

// EraseSession takes the words of the sessions of an id in the log out of a report, as WithoutWords does. It reports
// whether there were any.
func (r *Report) EraseSession(session string) (there bool) {
	for i := range r.Sessions {
		if LoggedID(r.Sessions[i].SessionID) == session {
			r.Sessions[i].eraseWords()
			there = true
		}
	}
	return there
}
