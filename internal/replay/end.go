package replay

import (
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// measureEnd fills in how the lane ended: whether it completed on the log's path, whether the user was heard out, and
// whether each message got an answer.
func (l *Variation) measureEnd(m *Metrics, s *Session, observed *Variation, mode Mode) {
	m.Answered = l.answered(len(observed.Turns))
	switch mode {
	case Forced:
		m.EndedEarly, m.NeverSent = nil, nil
	case Simulated:
		unsaid := Scene{Observed: observed.Turns, Turns: l.Turns}.unsaid()
		m.NeverSent = nil
		if n := len(observed.Turns); n > 0 {
			m.NeverSent = new(float64(len(unsaid)) / float64(n))
		}
		m.EndedEarly = new(oneIf(l.Completed && l.leavesUngiven(s.Data, observed.Turns, len(unsaid) > 0)))
	}
	heardOut := l.Completed && (m.EndedEarly == nil || *m.EndedEarly == 0)
	onPath := supportedTurns(l) == len(l.Turns)
	m.CompletedOnPath, m.CompletedOffPath = new(oneIf(heardOut && onPath)), new(oneIf(heardOut && !onPath))
}

// leavesUngiven reports whether the user has not given all of the session's data that the real user gave. Values that
// nobody said, which an agent looked up or wrote in its own way, are not the user's to give. Of a session without any
// it is whether messages are left.
func (l *Variation) leavesUngiven(data map[string]any, observed []VariationTurn, messagesLeft bool) bool {
	gave, gives := normalText(observed), normalText(l.Turns)
	given := false
	for _, value := range data {
		text := normalValue(value)
		if text == "" || !strings.Contains(gave, text) {
			continue
		}
		if given = true; !strings.Contains(gives, text) {
			return true
		}
	}
	return !given && messagesLeft
}

// normalText is all that the user says, made alike.
func normalText(turns []VariationTurn) string {
	var said strings.Builder
	for i := range turns {
		said.WriteString(" " + normalValue(turns[i].User))
	}
	return said.String()
}

// hasAnswered is what was measured, or else what the turns say.
func (l *Variation) hasAnswered(logged int) *float64 {
	if l.Metrics != nil {
		return l.Metrics.Answered
	}
	return l.answered(logged)
}

// answered is 1 when the lane has answered each message, else 0; nil where there was none to answer. A lane that failed
// has not, and neither has one that had nothing to say while the log has messages.
func (l *Variation) answered(logged int) *float64 {
	switch {
	case l.Error != "":
		return new(0.0)
	case len(l.Turns) == 0 && logged == 0:
		return nil
	case len(l.Turns) == 0:
		return new(0.0)
	}
	for i := range l.Turns {
		if t := &l.Turns[i]; t.ToolCalls == 0 && blank(t.Bot) {
			return new(0.0)
		}
	}
	return new(1.0)
}

// blankBraille is a letter without dots: it looks like a space and is none.
const blankBraille = '\u2800'

// blank reports whether nothing of a reply can be seen.
func blank(reply string) bool {
	return strings.IndexFunc(reply, func(r rune) bool {
		return !unicode.IsSpace(r) && !text.Dangerous(r) &&
			!unicode.In(r, unicode.Join_Control, unicode.Variation_Selector) && r != blankBraille
	}) < 0
}
