package process

import (
	"errors"
	"strings"
	"unicode"
)

// Words splits a command line into words at white space. Quotes keep white space, and outside of single quotes a backslash keeps
// the next character. It does nothing else that a shell does. A line without a word is an error.
func Words(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, escaped := false, false
	quoted := rune(0)
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quoted != '\'':
			escaped, inWord = true, true
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quoted, inWord = r, true
		case unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quoted != 0 || escaped {
		return nil, errors.New("a quote or backslash has no end")
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}
