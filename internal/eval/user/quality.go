package user

import (
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// stated is the share of the goal's words from which the goal counts as said.
const stated = 0.5

// quality says by the words of a user's messages what it told of its goal and its facts.
func quality(u *suite.User, said []chat.Content, faults []result.UserFault) *result.UserQuality {
	q := &result.UserQuality{FactsGiven: []string{}, FactsWithheld: []string{}}
	messages := make([][]word, 0, len(said))
	heard := map[string]bool{}
	for _, c := range said {
		message := words(c.String(), false)
		messages = append(messages, message)
		for _, w := range contentWords(message) {
			heard[w] = true
		}
	}
	if goal := contentWords(words(u.Goal, false)); len(goal) > 0 {
		share := share(goal, heard)
		q.GoalOverlap, q.GoalStated = &share, new(share >= stated)
	}
	for _, f := range u.Facts {
		name := excerpt(f.Value)
		if f.Name != "" {
			name = excerpt(f.Name)
		}
		if given(f, messages) {
			q.FactsGiven = append(q.FactsGiven, name)
		} else {
			q.FactsWithheld = append(q.FactsWithheld, name)
		}
	}
	for _, f := range faults {
		if f.Code == Repeats {
			q.Repeats++
		}
	}
	return q
}

// given reports whether a message says the value of a fact. A fact that is a text of its own is also said by a message
// with all of its telling words.
func given(f suite.Fact, messages [][]word) bool {
	value := words(f.Value, false)
	for _, message := range messages {
		if contains(message, value) {
			return true
		}
		if f.Name != "" {
			continue
		}
		heard := map[string]bool{}
		for _, w := range contentWords(message) {
			heard[w] = true
		}
		if all := contentWords(value); len(all) > 0 && share(all, heard) == 1 {
			return true
		}
	}
	return false
}

// contains reports whether a message has the value as whole words in a row, however the value is divided: 98-765 says
// 98765.
func contains(message, value []word) bool {
	want := strings.ReplaceAll(joined(value), " ", "")
	if want == "" {
		return false
	}
	for i := range message {
		rest := want
		for _, w := range message[i:] {
			after, ok := strings.CutPrefix(rest, w.text)
			if !ok {
				break
			}
			if rest = after; rest == "" {
				return true
			}
		}
	}
	return false
}

// contentWords returns the words of a text that tell something: those of four letters and more and those with a digit,
// or all where there are none. In scripts without spaces they are pairs of letters.
func contentWords(all []word) []string {
	var long, every []string
	for i, w := range all {
		if w.weight < 4 {
			if i+1 < len(all) && all[i+1].weight < 4 {
				long = append(long, w.text+all[i+1].text)
			}
			every = append(every, w.text)
			continue
		}
		every = append(every, w.text)
		if utf8.RuneCountInString(w.text) >= 4 || strings.ContainsAny(w.text, "0123456789") {
			long = append(long, w.text)
		}
	}
	if len(long) == 0 {
		return every
	}
	return long
}

// share returns which part of the words was heard. A word counts as heard also by another of its forms: one begins with
// the other.
func share(all []string, heard map[string]bool) float64 {
	n := 0
	for _, w := range all {
		if heard[w] || hasForm(w, heard) {
			n++
		}
	}
	return float64(n) / float64(len(all))
}

func hasForm(w string, heard map[string]bool) bool {
	if utf8.RuneCountInString(w) < 4 || strings.ContainsAny(w, "0123456789") {
		return false
	}
	for other := range heard {
		if utf8.RuneCountInString(other) >= 4 && (strings.HasPrefix(other, w) || strings.HasPrefix(w, other)) {
			return true
		}
	}
	return false
}
