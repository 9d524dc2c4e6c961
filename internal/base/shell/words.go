// Package shell reads command lines as a shell quotes them. It runs nothing and expands nothing.
package shell

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Words splits a line into its words, by the quoting rules of a POSIX shell (POSIX.1-2017, XCU 2.2) and $'…' as bash has it. Blanks and line
// ends separate words, and a backslash takes away the line end behind it. Nothing else is special: variables, patterns and operators such as
// | stay as they are written.
func Words(line string) ([]string, error) {
	r := reader{rest: strings.ReplaceAll(line, "\r\n", "\n")}
	var words []string
	for {
		r.rest = strings.TrimLeft(r.rest, " \t\n\r")
		if after, ok := strings.CutPrefix(r.rest, "\\\n"); ok {
			r.rest = after
			continue
		}
		if r.rest == "" {
			return words, nil
		}
		word, err := r.word()
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
}

// reader holds what is still to be read.
type reader struct{ rest string }

// word reads one word, which begins here.
func (r *reader) word() (string, error) {
	var b strings.Builder
	for r.rest != "" && !strings.ContainsRune(" \t\n\r", rune(r.rest[0])) {
		var err error
		switch {
		case r.rest[0] == '\'':
			err = r.single(&b)
		case r.rest[0] == '"':
			err = r.double(&b)
		case strings.HasPrefix(r.rest, "$'"):
			err = r.escaped(&b)
		case r.rest[0] == '\\':
			err = r.backslash(&b)
		default:
			b.WriteByte(r.next())
		}
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// next takes one byte. There is one.
func (r *reader) next() byte {
	c := r.rest[0]
	r.rest = r.rest[1:]
	return c
}

func (r *reader) backslash(b *strings.Builder) error {
	if len(r.rest) == 1 {
		return errors.New(`the line ends behind a \`)
	}
	if c := r.rest[1]; c != '\n' {
		b.WriteByte(c)
	}
	r.rest = r.rest[2:]
	return nil
}

func (r *reader) single(b *strings.Builder) error {
	inside, after, closed := strings.Cut(r.rest[1:], "'")
	if !closed {
		return errors.New("a ' is never closed")
	}
	b.WriteString(inside)
	r.rest = after
	return nil
}

// double reads "…", in which a backslash takes away the meaning of $, `, ", \ and of a line end only.
func (r *reader) double(b *strings.Builder) error {
	r.next()
	for r.rest != "" {
		c := r.next()
		switch {
		case c == '"':
			return nil
		case c == '\\' && r.rest != "" && strings.ContainsRune("$`\"\\\n", rune(r.rest[0])):
			if c = r.next(); c != '\n' {
				b.WriteByte(c)
			}
		default:
			b.WriteByte(c)
		}
	}
	return errors.New(`a " is never closed`)
}

// letters are the escapes of $'…' that stand for one character.
var letters = map[byte]byte{
	'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// escaped reads $'…', in which a backslash begins an escape of the C language.
func (r *reader) escaped(b *strings.Builder) error {
	r.rest = r.rest[2:]
	for r.rest != "" {
		c := r.next()
		switch {
		case c == '\'':
			return nil
		case c != '\\' || r.rest == "":
			b.WriteByte(c)
		default:
			r.escape(b)
		}
	}
	return errors.New("a $' is never closed")
}

func (r *reader) escape(b *strings.Builder) {
	c := r.next()
	if letter, ok := letters[c]; ok {
		b.WriteByte(letter)
		return
	}
	switch c {
	case 'x', 'u', 'U':
		most := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		code, ok := r.number(16, most)
		switch {
		case !ok:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == 'x':
			b.WriteByte(byte(code))
		case code > utf8.MaxRune:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(rune(code))
		}
	case '0', '1', '2', '3', '4', '5', '6', '7':
		r.rest = string(c) + r.rest
		code, _ := r.number(8, 3)
		b.WriteByte(byte(code))
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
}

// number reads at most that many digits of a base. ok is false when there is none.
func (r *reader) number(base, most int) (n int, ok bool) {
	const digits = "0123456789abcdef"
	for ; most > 0 && r.rest != ""; most-- {
		c := r.rest[0]
		if c >= 'A' && c <= 'F' {
			c += 'a' - 'A'
		}
		d := strings.IndexByte(digits[:base], c)
		if d < 0 {
			break
		}
		n, ok = n*base+d, true
		r.next()
	}
	return n, ok
}
