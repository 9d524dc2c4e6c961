package draw

import (
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// font is a size of type, in pixels. Widths are estimates, on the wide side of the fonts in the font stack: a viewer
// uses fonts of its own, and a box must not be too small for them.
type font struct {
	size, line int // height of letters, and from one line to the next
	bold       bool
}

var (
	headFont  = font{size: 18, line: 26, bold: true}
	labelFont = font{size: 14, line: 19, bold: true}
	noteFont  = font{size: 12, line: 16}
	edgeFont  = font{size: 12, line: 15}
)

// block is text broken into lines.
type block struct {
	lines []string
	width int // of the widest line
}

func (b block) height(f font) int { return len(b.lines) * f.line }

// wrap breaks s, one line of text, into at most most lines of a width, at spaces if possible. An ellipsis replaces what
// does not fit.
func (f font) wrap(s string, width, most int) block {
	var b block
	for s != "" {
		line, rest := f.take(s, width)
		if rest != "" && len(b.lines) == most-1 {
			line, _ = f.take(s, width-f.width("…"))
			line, rest = line+"…", ""
		}
		b.lines = append(b.lines, line)
		b.width = max(b.width, f.width(line))
		s = rest
	}
	return b
}

// take splits off the first line of s: at the last space or identifier joint that lets it fit, or within a word that is
// too long.
func (f font) take(s string, width int) (line, rest string) {
	used, good := 0, 0 // good is the last place to break at
	for i, r := range s {
		used += f.advance(r)
		switch {
		case used > 1000*width && r != ' ' && advance(r) > 0 && i > 0:
			if good == 0 {
				good = i
			}
			return strings.TrimRight(s[:good], " "), s[good:]
		case strings.ContainsRune(" _-/.", r):
			good = i + 1
		}
	}
	return s, ""
}

func (f font) width(s string) int {
	sum := 0
	for _, r := range s {
		sum += f.advance(r)
	}
	return (sum + 999) / 1000
}

// advance returns the width of a character in thousandths of a pixel.
func (f font) advance(r rune) int {
	w := advance(r) * f.size
	if f.bold {
		w += w / 16
	}
	return w
}

// advance returns the width of a character in thousandths of its height.
func advance(r rune) int {
	switch {
	case r < 0x80:
		return asciiAdvance(r)
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0 // combines with the character before
	case wide(r):
		return 1040
	case r < 0x600 && unicode.IsLower(r):
		return 610
	}
	return 800
}

func asciiAdvance(r rune) int {
	switch {
	case r == ' ':
		return 290
	case strings.ContainsRune("ijl.,:;'!|I`", r):
		return 300
	case strings.ContainsRune("frt()[]{}/\\\"-*", r):
		return 410
	case strings.ContainsRune("mwMW@%", r):
		return 930
	case r >= 'A' && r <= 'Z':
		return 710
	case r >= 'a' && r <= 'z':
		return 580
	}
	return 640
}

// wide reports whether a character is as wide as it is high, like East Asian ones and emoji (Unicode Standard Annex
// 11).
func wide(r rune) bool {
	switch {
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff:
	case r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6:
	case r >= 0x12000 && r <= 0x1254f, r >= 0x16800 && r <= 0x18cff, r >= 0x1f000 && r <= 0x1faff,
		r >= 0x20000 && r <= 0x3ffff:
	case r >= 0x2600 && r <= 0x27bf:
	default:
		return false
	}
	return true
}

const (
	maxQuoted = 80 // characters of an ID in an error
	maxMarks  = 4  // combining marks on one character, so that none leaves its box
)

// oneLine returns s as one line of a picture. It removes what breaks XML or YAML, steers a display, reorders or hides
// text, and marks that pile up. Everything else stays, in any script.
func oneLine(s string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		switch {
		case !unicode.In(r, unicode.Mn, unicode.Me):
			marks = 0
		case marks == maxMarks:
			return -1
		default:
			marks++
		}
		return r
	}, text.Stripped(s))
}
