package value

import (
	"slices"
	"strings"
)

// denials are the words, or several, that take away what comes next, as fold returns them. A word with an apostrophe is written with it.
var denials = phrases(`
	not; dont; doesnt; isnt; wont; cant; never; cannot; no; nor; instead of; rather than
	pas; jamais; n'* plus; ne * plus; au lieu de|du|d'*; a la place de|du|d'*; plutot que|qu'*
	no; nunca; tampoco; en lugar|vez de|del
	nicht; nie; niemals; kein|keine|keinen|keiner|keinem|keines; statt; anstatt; anstelle; anstelle von|der|des
	non; invece di|del|della|che; al posto di|del|della; anziche
	nao; nunca; em vez|lugar de|do|da; no lugar de|do|da; ao inves de|do|da
	niet; nooit; geen; in plaats van`)

// longestDenial is how many words a denial has at most.
const longestDenial = 4

// denies reports whether words end with a denial.
func denies(words []string) bool {
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return strings.HasSuffix(last, "n't") || slices.ContainsFunc(denials, func(denial [][]string) bool {
		from := len(words) - len(denial)
		if from < 0 {
			return false
		}
		for i, choices := range denial {
			if !slices.ContainsFunc(choices, func(c string) bool { return fits(words[from+i], c) }) {
				return false
			}
		}
		return true
	})
}

// behindNo are words that make of a "no" before them the Portuguese "in the".
var behindNo = strings.Fields("meu nosso seu email e mail e-mail dia mes fim final proximo inicio comeco")

// isPlace reports whether words end with such a "no" and what it is about.
func isPlace(words []string) bool {
	n := len(words)
	return n > 1 && words[n-2] == "no" && slices.Contains(behindNo, words[n-1])
}

// fits reports whether a word is a choice; a * at its end stands for whatever follows.
func fits(word, choice string) bool {
	if before, open := strings.CutSuffix(choice, "*"); open {
		return strings.HasPrefix(word, before)
	}
	return word == choice
}

// phrases reads phrases apart by ; or a new line: each is a row of words, and each word one of several with | between them.
func phrases(list string) [][][]string {
	var all [][][]string
	for phrase := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ';' || r == '\n' }) {
		var words [][]string
		for choices := range strings.FieldsSeq(phrase) {
			words = append(words, strings.Split(choices, "|"))
		}
		if len(words) > 0 {
			all = append(all, words)
		}
	}
	return all
}

// plainWord returns a word as denials are written.
func plainWord(text string) string {
	return strings.Trim(fold(strings.ReplaceAll(text, "’", "'")), `:"“”«»()<>[]`)
}
