package llm

import (
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// countWords returns the number of words in a text as strings.Fields finds them. A script counts every message it gets,
// so ASCII is counted eight characters at a time: one by one took half of the time of an answer.
func countWords(text string) int {
	n, i := 0, 0
	before := uint64(highBit) // what stands before a text counts as a space
	for ; i+8 <= len(text); i += 8 {
		eight := load8(text[i : i+8])
		if eight&(ones*highBit) != 0 {
			return countRunes(text)
		}
		spaces := markSpaces(eight)
		n += bits.OnesCount64((spaces<<8 | before) &^ spaces)
		before = spaces >> 56
	}
	for ; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return countRunes(text)
		}
		space := markSpaces(uint64(text[i])) & highBit
		n += int((before &^ space) / highBit)
		before = space
	}
	return n
}

const (
	ones    = 0x0101010101010101
	highBit = 0x80
)

// markSpaces sets the high bit of each byte that is ASCII white space: a blank, or one from tab (9) to carriage return
// (13). All bytes must be below 0x80: then neither the subtraction nor the sums reach into the next byte.
func markSpaces(eight uint64) uint64 {
	blank := ones*highBit - (eight ^ ones*' ')
	fromTab := eight + ones*(highBit-'\t')
	beyondReturn := eight + ones*(highBit-'\r'-1)
	return (blank | fromTab&^beyondReturn) & (ones * highBit)
}

// load8 reads eight bytes, the first into the lowest; the compiler makes one instruction of it.
func load8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func countRunes(text string) int {
	n, inside := 0, false
	for _, r := range text {
		space := unicode.IsSpace(r)
		if !space && !inside {
			n++
		}
		inside = !space
	}
	return n
}
