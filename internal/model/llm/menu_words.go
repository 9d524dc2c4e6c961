package llm

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// eachWord yields the words of a text as menus compare them, and whether a word is one that carries little meaning.
// The word is valid until the next one.
//
// A word is a run of letters, marks and digits in Unicode's composed form (NFC) and in lower case. Scripts that set no
// spaces, such as Chinese or Thai, give pairs of neighbouring characters instead. The plural of English, Spanish,
// French and others loses its s. Numbers of four digits and more are all the same but for their length: 2024-11 is a
// month, and AC-104729 an order like AC-000000.
func eachWord(text string, yield func(word []byte, function bool)) {
	w := splitter{yield: yield, word: make([]byte, 0, 48)}
	for _, r := range norm.NFC.String(text) {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			w.end()
		case r >= firstSpaceless && unicode.In(r, spaceless...):
			w.character(r)
		default:
			w.letter(r)
		}
	}
	w.end()
}

// spaceless are the scripts that set no spaces between words, firstSpaceless the first of their characters.
var spaceless = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

const firstSpaceless = 'ก'

// splitter puts words together from characters.
type splitter struct {
	yield func(word []byte, function bool)
	word  []byte
	// previous is the last character of a run without spaces, 0 outside of one; paired says that it was given out
	// already.
	previous rune
	paired   bool
}

func (w *splitter) letter(r rune) {
	if w.previous != 0 {
		w.end()
	}
	w.word = utf8.AppendRune(w.word, unicode.ToLower(r))
}

func (w *splitter) character(r rune) {
	if w.previous == 0 {
		w.end()
		w.previous = r
		return
	}
	w.word = utf8.AppendRune(utf8.AppendRune(w.word[:0], w.previous), r)
	w.yield(w.word, false)
	w.word, w.previous, w.paired = w.word[:0], r, true
}

func (w *splitter) end() {
	switch {
	case w.previous != 0 && !w.paired:
		w.yield(utf8.AppendRune(w.word[:0], w.previous), false)
	case len(w.word) > 0:
		function := isFunctionWord(w.word)
		w.yield(fold(w.word), function)
	}
	w.word, w.previous, w.paired = w.word[:0], 0, false
}

// fold takes the plural from a word and the value from a long number.
func fold(word []byte) []byte {
	n := len(word)
	has := func(suffix string) bool { return bytes.HasSuffix(word, []byte(suffix)) }
	switch {
	case n >= 4 && isNumber(word):
		for i := range word {
			word[i] = '0'
		}
	case n < 4 || word[n-1] != 's' || has("ss") || has("us") || has("is"):
	case n > 4 && has("ies"):
		return append(word[:n-3], 'y')
	case has("sses") || has("xes") || has("ches") || has("shes") || has("zes"):
		return word[:n-2]
	default:
		return word[:n-1]
	}
	return word
}

func isNumber(word []byte) bool {
	for _, c := range word {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isFunctionWord reports whether a word has little meaning of its own. Besides the most frequent ones of some languages
// these are single letters: what is left of words like don't and l'ordre, which are split at the apostrophe.
// Words that answer a question (yes, no, nada) are never among them.
func isFunctionWord(word []byte) bool {
	if len(word) == 1 {
		return word[0] < '0' || word[0] > '9'
	}
	switch string(word) {
	case "an", "the", "this", "that", "these", "those", "it", "its", "he", "she", "we", "you", "they", "me",
		"my", "your", "our", "us", "am", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "don",
		"have", "has", "had", "having", "can", "could", "will", "would", "should", "shall", "may", "might", "must",
		"ll", "ve", "re", "of", "to", "in", "on", "at", "by", "for", "from", "with", "as", "about", "into", "and", "or",
		"but", "if", "so", "then", "than", "not", "what", "which", "who", "how", "when", "where", "there", "here",
		"please", "just", "want", "like", "get", "some", "any":
		return true
	case "der", "die", "das", "den", "dem", "ein", "eine", "einen", "einem", "einer", "ich", "du", "er", "sie", "es",
		"wir", "ihr", "mich", "mir", "mein", "meine", "meinen", "ist", "sind", "bin", "war", "habe", "hat", "haben",
		"und", "oder", "zu", "im", "mit", "von", "auf", "für", "bitte", "möchte", "kann", "wie", "wo", "nicht":
		return true
	case "le", "la", "les", "un", "une", "des", "de", "et", "je", "tu", "il", "elle", "nous", "vous", "mon", "ma",
		"mes", "votre", "est", "sont", "ai", "que", "qui", "ce", "cette", "au", "pour", "avec", "dans", "sur", "veux",
		"voudrais", "plaît", "ne", "pas":
		return true
	case "el", "los", "las", "uno", "una", "lo", "yo", "mi", "mis", "su", "se", "son", "está", "en", "del", "al", "por",
		"para", "con", "quiero", "puedo", "como", "favor", "gli", "di", "che", "per", "sono", "ho", "vorrei", "os",
		"um", "uma", "eu", "meu", "minha":
		return true
	}
	return false
}
