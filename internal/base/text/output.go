package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Output passes text on to where people or a CI system read it, so that it is shown and does nothing else: dangerous
// characters but the codes of colours are escaped, in a way that JSON understands, and what a CI system would take for
// a command is broken by a space of no width (NoCommand), also where a command comes in several writes. It is safe for
// concurrent use. Flush it at the end.
type Output struct {
	to io.Writer

	mu      sync.Mutex
	waiting []byte
	// past is true once something other than blanks and colours stands in the line. colons are those before anything
	// else.
	past   bool
	colons int
}

// NewOutput returns an Output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{to: w} }

// commands are what CI systems read anywhere in a line, after their first two characters.
var commands = []string{"##vso[", "##[", "##teamcity["}

// Write passes data on, but for an end whose meaning the next write decides.
func (o *Output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var shown bytes.Buffer
	rest := append(o.waiting, data...)
	for len(rest) > 0 {
		n := o.next(&shown, rest, false)
		if n == 0 {
			break
		}
		rest = rest[n:]
	}
	o.waiting = append([]byte(nil), rest...)
	if _, err := o.to.Write(shown.Bytes()); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Flush passes on what waits.
func (o *Output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var shown bytes.Buffer
	for rest := o.waiting; len(rest) > 0; {
		rest = rest[o.next(&shown, rest, true):]
	}
	o.waiting = nil
	_, err := o.to.Write(shown.Bytes())
	return err
}

// next writes what the text begins with, and returns the length of that; 0 when more text must come first. last says
// that none comes.
func (o *Output) next(to *bytes.Buffer, rest []byte, last bool) int {
	switch rest[0] {
	case '\x1b':
		if n, whole := colour(rest); whole {
			to.Write(rest[:n])
			return n
		} else if n > 0 && !last {
			return 0
		}
	case '#':
		command, partly := isCommand(rest)
		if partly && !last {
			return 0
		}
		if command {
			o.past = true
			to.WriteString("##" + zeroWidth)
			return 2
		}
	case '\r':
		if len(rest) == 1 && !last {
			return 0
		}
		if len(rest) > 1 && rest[1] == '\n' {
			to.WriteByte('\r')
			return 1
		}
	}
	if !last && !utf8.FullRune(rest) {
		return 0
	}
	r, size := utf8.DecodeRune(rest)
	o.place(to, r)
	if r != '\u200b' && Dangerous(r) {
		escape(to, r)
	} else {
		to.WriteRune(r)
	}
	return size
}

// place keeps account of where in the line the next character stands, and breaks a command of GitHub's at its letter.
func (o *Output) place(to *bytes.Buffer, r rune) {
	switch {
	case r == '\n':
		o.past, o.colons = false, 0
	case o.past:
	case r == ':' && o.colons < 2:
		o.colons++
	case o.colons == 0 && (unicode.Is(unicode.Z, r) || strings.ContainsRune("\t\v\f\r", r)):
	default:
		if o.colons == 2 && unicode.IsLetter(r) {
			to.WriteString(zeroWidth)
		}
		o.past = true
	}
}

// colour returns the length of the code of a colour. It is not whole while more text could make it one; 0 when it is
// none.
func colour(rest []byte) (n int, whole bool) {
	for i, by := range rest {
		switch {
		case i == 0, i == 1 && by == '[', i > 1 && (by >= '0' && by <= '9' || by == ';'):
		case i > 1 && by == 'm':
			return i + 1, true
		default:
			return 0, false
		}
	}
	return len(rest), len(rest) > 32
}

// isCommand reports whether a text begins with a command. partly means that more text could make it one.
func isCommand(rest []byte) (command, partly bool) {
	for _, c := range commands {
		n := min(len(c), len(rest))
		if strings.EqualFold(string(rest[:n]), c[:n]) {
			if n == len(c) {
				return true, false
			}
			partly = true
		}
	}
	return false, partly
}

// escape writes a character as JSON escapes it, and control characters as Visible does.
func escape(to *bytes.Buffer, r rune) {
	switch {
	case r < ' ':
		fmt.Fprintf(to, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(to, `\u%04x`, r)
	default:
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(to, `\u%04x\u%04x`, high, low)
	}
}
