package replay

import "strings"

// censored reports whether it is unknown how the conversation would have ended: the logged one completed, and the agent
// still waits for an answer to a question that the user has not answered in this conversation. An agent that repeats
// one that was answered has not completed. Neither has one that says nothing, asks nothing or hangs up. In forced mode
// it is known: there a conversation completes if its last logged message leads to the end.
func (p *player) censored() bool {
	l := &p.lane
	if p.replayer.Mode == Forced || !p.session.Completed || l.Completed || l.Error != "" || l.Endless || p.early ||
		p.ended || len(l.Turns) == 0 {
		return false
	}
	last := &l.Turns[len(l.Turns)-1]
	field := p.agent.RequestedField(last.State)
	if blank(last.Bot) || field == "" && !strings.ContainsAny(last.Bot, questionMarks) {
		return false
	}
	name, isField := strings.CutPrefix(field, fieldPrefix)
	if _, known := p.known[name]; isField && known {
		return false
	}
	question := plainWords(last.Bot)
	for i := range l.Turns {
		t := &l.Turns[i]
		repeats := t.Before != "" && t.Before == last.State || isField && p.agent.RequestedField(t.Before) == field
		repeats = repeats || i > 0 && plainWords(l.Turns[i-1].Bot) == question
		// Of an agent that reports no states it is not known which message answers what it asks.
		if repeats && (l.NoStates || i < len(p.replied) && p.replied[i]) {
			return false
		}
	}
	return true
}

// answers reports whether a message of the simulated user's answers what is asked for in a state. One that the real user
// gave to another question does not.
func (p *player) answers(said, state string) bool {
	asks, logged := p.agent.RequestedField(state), false
	for i := range p.observed {
		if t := &p.observed[i]; t.User == said {
			if t.Before == state || asks != "" && p.agent.RequestedField(t.Before) == asks {
				return true
			}
			logged = true
		}
	}
	return !logged
}

// questionMarks end a question, in the scripts that have a mark for it.
const questionMarks = "?？؟\u037e՞፧"
