package replay

import "encoding/json"

// wasErased stands where an erased session had the reason of a failure, which may quote what was said.
const wasErased = "the session was erased"

// WithoutWords returns the outcome of a session that is erased: nobody's words are in it, nor values of the visitor's, nor who it was. What was
// counted stays, with times and states, so that the figures of the run remain those of its sessions.
func (o Outcome) WithoutWords() (Outcome, error) {
	if o.Dropped != "" {
		o.Dropped = wasErased
	}
	if o.Detail == nil {
		return o, nil
	}
	pair, err := o.Pair()
	if err != nil { // nobody can read it, but its words are there
		o.Detail = nil
		return o, nil
	}
	for _, time := range pair.Times() {
		time.eraseWords()
	}
	o.Detail, err = json.Marshal(detail{pair, pair.Again})
	return o, err
}

// eraseWords leaves of one time that a session was replayed what was counted.
func (p *Pair) eraseWords() {
	p.UnitID = ""
	if p.Dropped != "" {
		p.Dropped = wasErased
	}
	for i := range p.Lanes {
		lane := &p.Lanes[i]
		lane.Data = nil
		if lane.Error != "" {
			lane.Error = wasErased
		}
		for j := range lane.Turns {
			lane.Turns[j].User, lane.Turns[j].Bot = "", ""
		}
	}
}

// EraseSession takes the words of a session out of a report, as WithoutWords takes them out of its outcome. It reports whether there were any.
func (r *Report) EraseSession(session string) (there bool) {
	for i := range r.Sessions {
		if r.Sessions[i].SessionID == session {
			r.Sessions[i].eraseWords()
			there = true
		}
	}
	return there
}
