package replay

import (
	"strings"
)

// untold takes out of a lane's metrics what its agent does not report: states, ends or data. A state that is not
// reported is not a wrong state, and a conversation that cannot complete has not failed to; nor has one that is
// censored.
func (l *Variation) untold(m *Metrics) {
	if m.Censored = l.Censored; l.Censored {
		m.CompletionMatch, m.Completed, m.CompletedOnPath, m.CompletedOffPath = nil, nil, nil, nil
	}
	if l.NoStates {
		m.StateProgression, m.FirstDivergence, m.Sequence, l.Alignment = nil, nil, nil, nil
	}
	if l.Endless {
		m.CompletionMatch, m.CompletionSeconds = nil, nil
		m.Completed, m.CompletedOnPath, m.CompletedOffPath, m.EndedEarly = nil, nil, nil, nil
	}
	if l.NoData {
		m.DataAccuracy, m.DataMatch, m.NormalAccuracy = nil, nil, nil
	}
	if on := m.OnSupport; on != nil {
		if l.NoData {
			on.DataAccuracy = nil
		}
		if l.NoStates {
			on.StateProgression = nil
		}
		if l.Endless || l.Censored {
			on.CompletionMatch = nil
		}
	}
}

// censored reports whether it is unknown how the conversation would have ended: the logged one completed, and the agent
// still waits for an answer to a question that the user has not answered in this conversation. An agent that repeats
// one that was answered has not completed. Neither has one that is silent, requests nothing or hangs up. In forced mode
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
		// Without states it is not known which message answers which question.
		if repeats && (l.NoStates || i < len(p.replied) && p.replied[i]) {
			return false
		}
	}
	return true
}

// answers reports whether a message of the simulated user answers the request of a state. One with which the real
// user answered another question does not.
func (p *player) answers(said, state string) bool {
	requested, logged := p.agent.RequestedField(state), false
	for i := range p.observed {
		if t := &p.observed[i]; t.User == said {
			if t.Before == state || requested != "" && p.agent.RequestedField(t.Before) == requested {
				return true
			}
			logged = true
		}
	}
	return !logged
}

// questionMarks end a question, in the scripts that have a mark for it.
const questionMarks = "?？؟\u037e՞፧"
