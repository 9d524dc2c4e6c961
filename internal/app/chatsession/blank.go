package chatsession

import (
	"slices"
	"strconv"
	"strings"
)

// Savable reports whether a conversation has something that a test can say.
func Savable(turns []Turn) bool {
	return slices.ContainsFunc(turns, func(t Turn) bool { return strings.TrimSpace(t.Message) != "" })
}

// leaveOutBlank takes out the turns with empty messages, and returns their numbers.
func (s *Message) leaveOutBlank() (left []int) {
	var turns []Turn
	for i, turn := range s.Turns {
		if strings.TrimSpace(turn.Message) == "" {
			left = append(left, i+1)
			continue
		}
		turns = append(turns, turn)
	}
	s.Turns = turns
	return left
}

// maxNamed is how many turns are named that are left out.
const maxNamed = 20

// turnsNamed names turns as the subject of a sentence.
func turnsNamed(numbers []int) string {
	var names []string
	for _, n := range numbers[:min(len(numbers), maxNamed)] {
		names = append(names, strconv.Itoa(n))
	}
	switch more := len(numbers) - len(names); {
	case more > 0:
		return "turns " + strings.Join(names, ", ") + " and " + strconv.Itoa(more) + " more are"
	case len(names) == 1:
		return "turn " + names[0] + " is"
	}
	return "turns " + strings.Join(names, ", ") + " are"
}
