package grader

import (
	"strings"
	"unicode"
)

// words returns the case-folded words of a text: runs of letters, marks and digits. A Chinese or Japanese character is
// a word of its own, since such text has no spaces, and so is a symbol: 👍, € and % are words.
func words(s string) []string {
	var all []string
	start, skip := -1, 0
	end := func(at int) {
		if start >= 0 {
			all = append(all, s[start:at])
		}
		start = -1
	}
	s = caseIgnored.of(s)
	for i, r := range s {
		if i < skip {
			continue
		}
		symbol := symbolAt(s[i:])
		switch {
		case symbol > 0:
			end(i)
			skip = i + symbol
			all = append(all, plainSymbol(s[i:skip]))
		case ideograph(r):
			end(i)
			all = append(all, string(r))
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r):
			if start < 0 {
				start = i
			}
		default:
			end(i)
		}
	}
	end(len(s))
	return all
}

// ideograph reports whether a character is a word of a script that writes without spaces.
func ideograph(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// byWords compares two texts by a measure of their words. Where a text has none, such as "?!", the texts themselves are
// compared.
func byWords(text, reference string, m func(text, reference []string) float64) float64 {
	t, r := words(text), words(reference)
	switch {
	case len(t) > 0 && len(r) > 0:
		return m(t, r)
	case caseIgnored.of(text) == caseIgnored.of(reference):
		return 1
	}
	return 0
}

// noWord stands for every word that is not in the reference.
const noWord = -1

// numbered gives each different word of the reference a number and returns both texts as numbers.
func numbered(text, reference []string) (textNumbers, referenceNumbers []int32) {
	numbers := map[string]int32{}
	referenceNumbers = make([]int32, len(reference))
	for i, w := range reference {
		n, ok := numbers[w]
		if !ok {
			n = int32(len(numbers))
			numbers[w] = n
		}
		referenceNumbers[i] = n
	}
	textNumbers = make([]int32, len(text))
	for i, w := range text {
		textNumbers[i] = noWord
		if n, ok := numbers[w]; ok {
			textNumbers[i] = n
		}
	}
	return textNumbers, referenceNumbers
}

// maxGram is the longest run of words that is counted.
const maxGram = 4

// overlap counts the runs of n words, at most maxGram, that text and reference share. Each run counts as often as it
// occurs in both.
func overlap(text, reference []int32, n int) int {
	available := map[[maxGram]int32]int{}
	for i := 0; i+n <= len(reference); i++ {
		available[gram(reference[i:i+n])]++
	}
	shared := 0
	for i := 0; i+n <= len(text); i++ {
		if g := gram(text[i : i+n]); available[g] > 0 {
			available[g]--
			shared++
		}
	}
	return shared
}

// grams returns the number of runs of n words in a text with the given number of words.
func grams(words, n int) int { return max(0, words-n+1) }

func gram(run []int32) (g [maxGram]int32) {
	copy(g[:], run)
	return g
}

// frequencies counts words.
func frequencies(words []string) map[string]int {
	counts := map[string]int{}
	for _, w := range words {
		counts[strings.Clone(w)]++
	}
	return counts
}
