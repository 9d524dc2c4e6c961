package user

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// identifiers are the patterns of what names one thing: an address of mail, capital letters with three digits or more,
// a mixture of both, five digits or more, and figures behind a word for a number. Dates, times, amounts, round numbers
// and years are none.
var identifiers = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`()([\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+)`),
		regexp.MustCompile(`(^|[^\pL\pN.,/:$€£¥])(\p{Lu}{1,8}[-_/#]?\d{3,}(?:[-_/]?[\p{Lu}\d]+)*|` +
			`\d+\p{Lu}+\d[\p{Lu}\d]{3,})(?:$|[^\pL\pN])`),
		regexp.MustCompile(`(^|[^\pL\pN.,/:$€£¥-])(\+?\d(?:-?\d){4,})` +
			`(?:$|[^\pL\pN.,/:%€£¥-]|[.,:/-](?:$|[^\d]))`),
		regexp.MustCompile(`(?i)(\b(?:number|id|code|pin|reference)(?: is|:| was)? ?#?|#)(\d{3,})(?:$|[^\pL\pN.,/:%])`),
	}
})

// date matches figures that are a date or a range of years, money what follows an amount.
var (
	date = regexp.MustCompile(`^(?:(?:19|20)\d\d-\d\d?-\d\d?|\d\d?-\d\d?-(?:19|20)\d\d|` +
		`(?:19|20)\d\d-(?:19|20)?\d\d)$`)
	money = regexp.MustCompile(`(?i)^\s*(?:dollars|euros?|pounds|yen|usd|eur|gbp)\b`)
)

// known is what a user may repeat: the texts of its part, and the conversation.
type known struct {
	facts []suite.Fact
	texts []string
}

// has reports whether a value was given, as whole words in a row however it is divided, or as the end of a number.
func (k known) has(value string) bool {
	all := words(value, false)
	for _, text := range k.texts {
		if contains(words(text, false), all) {
			return true
		}
	}
	figures := strings.TrimLeft(joinedDigits(value), "0")
	number := joinedDigits(value) == strings.ReplaceAll(joined(all), " ", "")
	return number && len(figures) >= 4 && slices.ContainsFunc(k.facts, func(f suite.Fact) bool {
		return strings.HasSuffix(joinedDigits(f.Value), figures)
	})
}

func joinedDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, plain(s))
}

// shape returns a value with a 9 for each digit and an A for each letter.
func shape(value string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '9'
		case unicode.IsLetter(r):
			return 'A'
		}
		return r
	}, value)
}

// contradiction returns what a message has in place of a fact: a value of the same shape that nothing gave. A fact
// that is a plain number must be named right before or behind it.
func (k known) contradiction(said string) string {
	tokens := strings.FieldsFunc(said, unicode.IsSpace)
	for i := range tokens {
		tokens[i] = strings.TrimFunc(tokens[i], func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Sc, r)
		})
	}
	for _, f := range k.facts {
		value := strings.TrimSpace(f.Value)
		form := shape(value)
		if !strings.Contains(form, "9") || strings.ContainsFunc(value, unicode.IsSpace) {
			continue
		}
		plainNumber := strings.Trim(form, "9") == ""
		for i, token := range tokens {
			if shape(token) != form || k.has(token) || plainNumber && !near(tokens, i, f.Name) {
				continue
			}
			name := "a fact"
			if f.Name != "" {
				name = excerpt(f.Name)
			}
			return fmt.Sprintf("%q, where %s is %q", excerpt(token), name, excerpt(value))
		}
	}
	return ""
}

// near reports whether the last word of a fact's name stands within three words before a token, or right behind it.
func near(tokens []string, i int, name string) bool {
	all := words(strings.ReplaceAll(name, "_", " "), false)
	if len(all) == 0 {
		return false
	}
	last := all[len(all)-1].text
	around := tokens[max(0, i-3):min(len(tokens), i+2)]
	return slices.ContainsFunc(around, func(t string) bool { return plain(t) == last })
}

// invented returns an identifier of a message that nothing gave.
func (k known) invented(said string) string {
	for i, pattern := range identifiers() {
		for _, m := range pattern.FindAllStringSubmatchIndex(said, 20) {
			value := said[m[4]:m[5]]
			amount := i == 2 && (strings.HasSuffix(value, "000") || date.MatchString(value) ||
				money.MatchString(said[m[5]:]))
			if !amount && !k.has(value) {
				return fmt.Sprintf("%q, which nothing gives", excerpt(value))
			}
		}
	}
	return ""
}
