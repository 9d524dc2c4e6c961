package curl

import (
	"fmt"
	"strings"
)

// option is what curl calls an option: its letter, if it has one, and what it does with its value. Options without a value have no take.
type option struct {
	letter byte
	name   string
	take   func(l *parsed, value string) error
	do     func(l *parsed)
}

// options are those that are understood (curl.se/docs/manpage.html). Those that neither take nor do change nothing of a request.
var options = [...]option{
	{'X', "request", func(l *parsed, v string) error { l.method = v; return nil }, nil},
	{'H', "header", (*parsed).header, nil},
	{'d', "data", (*parsed).plainData, nil},
	{0, "data-ascii", (*parsed).plainData, nil},
	{0, "data-binary", (*parsed).plainData, nil},
	{0, "data-raw", func(l *parsed, v string) error { return l.add(v, "&") }, nil},
	{0, "data-urlencode", (*parsed).encoded, nil},
	{0, "json", (*parsed).jsonData, nil},
	{'G', "get", nil, func(l *parsed) { l.get = true }},
	{'u', "user", func(l *parsed, v string) error { l.user = v; return nil }, nil},
	{'b', "cookie", (*parsed).cookie, nil},
	{'A', "user-agent", func(l *parsed, v string) error { return l.header("User-Agent: " + v) }, nil},
	{'e', "referer", func(l *parsed, v string) error { return l.header("Referer: " + strings.TrimSuffix(v, ";auto")) }, nil},
	{0, "url", (*parsed).target, nil},
	{'s', "silent", nil, nil},
	{'S', "show-error", nil, nil},
	{'L', "location", nil, nil},
	{'i', "include", nil, nil},
	{'i', "show-headers", nil, nil},
	{'v', "verbose", nil, nil},
	{'N', "no-buffer", nil, nil},
	{0, "compressed", nil, nil},
}

func (l *parsed) long(word string) error {
	for _, o := range options {
		if "--"+o.name == word {
			return l.apply(o, word, "", false)
		}
	}
	return unknown(word)
}

// short reads letters behind one -, such as -sX POST or -XPOST.
func (l *parsed) short(word string) error {
	for rest := word[1:]; rest != ""; rest = rest[1:] {
		o, ok := byLetter(rest[0])
		if !ok {
			return unknown("-" + strings.ToValidUTF8(rest[:1], "?"))
		}
		if o.take != nil {
			return l.apply(o, "-"+rest[:1], rest[1:], rest[1:] != "")
		}
		if err := l.apply(o, "", "", false); err != nil {
			return err
		}
	}
	return nil
}

func byLetter(letter byte) (option, bool) {
	for _, o := range options {
		if o.letter == letter {
			return o, true
		}
	}
	return option{}, false
}

func unknown(word string) error {
	return fmt.Errorf("%s of curl is not understood here: leave it out, or write the target into rehearse.yaml", word)
}

// apply carries an option out. Its value is the given one, else the next word.
func (l *parsed) apply(o option, shown, value string, given bool) error {
	switch {
	case o.do != nil:
		o.do(l)
	case o.take != nil && given:
		return o.take(l, value)
	case o.take != nil:
		if len(l.words) == 0 {
			return fmt.Errorf("%s of curl needs a value", shown)
		}
		value, l.words = l.words[0], l.words[1:]
		return o.take(l, value)
	}
	return nil
}
