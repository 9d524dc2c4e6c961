package replay

import "strings"

// supported reports whether the logged message of turn i answers what the agent has asked for: it stands in the logged state, or asks for the
// same field or options, or has just said the same words. A message that answers another question says nothing of the agent (X24).
func (p *player) supported(i int, state string) bool {
	was := p.observed[i].Before
	if state == was {
		return true
	}
	if asks := p.agent.Asks(state); asks != "" && asks == p.agent.Asks(was) {
		return true
	}
	if i == 0 {
		return false
	}
	said := plainWords(p.asked)
	return said != "" && said == plainWords(p.observed[i-1].Bot)
}

// plainWords makes texts equal that differ in case and white space only.
func plainWords(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// supportedTurns is how many turns a lane was on the log's path: from the beginning, or all those that could be taken in forced mode.
func supportedTurns(l *Lane) int {
	n := 0
	for i := range l.Turns {
		if l.Turns[i].Supported {
			n++
		}
	}
	return n
}
