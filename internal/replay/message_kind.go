package replay

import (
	"slices"
	"strings"
	"unicode"
)

// The kinds of a user's messages, as far as they can be told by their place and their words.
const (
	opening = iota
	question
	answer
	correction
	thanks
	other
	messageKinds
)

// Words that give a kind away, at the beginning of a message or anywhere. They are English, and a few of other
// languages of Europe.
var (
	corrects = []string{"no", "nope", "not", "actually", "sorry", "wrong", "instead", "wait", "nein", "non", "nicht"}
	asks     = []string{
		"what", "which", "when", "where", "who", "why", "how", "can", "could", "do", "does", "is", "are", "will",
		"would", "was", "wie", "wann", "wo",
	}
	thankful = []string{"thanks", "thank", "thx", "cheers", "danke", "merci", "gracias", "bye", "goodbye"}
)

// kindOf returns the kind of message i of a user, which the bot had said something before.
func kindOf(i int, said, before string) int {
	words := wordsOf(said)
	has := func(list []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	first := words[:min(len(words), 1)]
	switch {
	case i == 0:
		return opening
	case has(thankful):
		return thanks
	case len(first) > 0 && slices.Contains(corrects, first[0]):
		return correction
	case strings.Contains(said, "?"), len(first) > 0 && slices.Contains(asks, first[0]):
		return question
	case strings.Contains(before, "?"):
		return answer
	}
	return other
}

// wordsOf are the words of a text in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
}

// leastDice is the similarity from which two messages say the same.
const leastDice = 0.5

// counterpart reports whether one of the messages says the same: twice the words that both have, over the words of
// both, is leastDice or more.
//
// Source: L. R. Dice, Measures of the Amount of Ecologic Association Between Species, Ecology 26 (1945).
func counterpart(message string, among []string) bool {
	return slices.ContainsFunc(among, func(one string) bool {
		return dice(wordsOf(message), wordsOf(one)) >= leastDice
	})
}

func dice(a, b []string) float64 {
	if len(a)+len(b) == 0 {
		return 1
	}
	left := map[string]int{}
	for _, w := range a {
		left[w]++
	}
	both := 0
	for _, w := range b {
		if left[w] > 0 {
			left[w]--
			both++
		}
	}
	return 2 * float64(both) / float64(len(a)+len(b))
}
