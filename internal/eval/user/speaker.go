package user

import (
	"strings"
	"sync"
	"unicode"
)

// speakers are the English labels before a speaker's words, as plain returns them.
const speakers = `agent, ai, ai agent, ai assistant, assistant, virtual assistant, support assistant, bot, chatbot, chat bot, robot, support,
support agent, customer support, customer service, customer service agent, service agent, human agent, operator, representative, rep, advisor, adviser,
consultant, user, simulated user, customer, simulated customer, client, caller, visitor, human, me, you`

var speakerLabels = sync.OnceValue(func() map[string]bool {
	labels := map[string]bool{}
	for label := range strings.SplitSeq(speakers, ",") {
		labels[labelKey(label)] = true
	}
	return labels
})

// maxLabel is the longest beginning of a line in which a label is looked for, in bytes.
const maxLabel = 120

// speaker returns the label of a speaker with which a line of the message begins; nothing when no line has one.
func speaker(said string) string {
	lines := strings.FieldsFunc(said, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\v' || r == '\f'
	})
	for _, line := range lines {
		if len(line) > maxLabel {
			line = strings.ToValidUTF8(line[:maxLabel], "")
		}
		before, _, ok := strings.Cut(plain(line), ":")
		if ok && speakerLabels()[labelKey(before)] {
			return strings.TrimSpace(before) + ":"
		}
	}
	return ""
}

// labelKey returns the words of a label, without what is around it in a transcript: marks, brackets, a number, a name
// in parentheses.
func labelKey(label string) string {
	label = plain(label)
	label = label[max(0, strings.IndexFunc(label, unicode.IsLetter)):]
	if aside := strings.IndexAny(label, "(["); aside > 0 {
		label = label[:aside]
	}
	fields := strings.FieldsFunc(label, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	return strings.Join(fields, " ")
}
