package sitebot

import (
	"strings"
	"unicode/utf8"
)

// Limits of the abuse gate (S3.20–S3.22).
const (
	maxHacks   = 2
	maxRepeats = 3
	// MaxInput is how many characters a message may have.
	MaxInput = 15_000
)

// Block is why a message is not answered.
type Block string

// The blocks, in their order.
const (
	NotBlocked Block = ""
	BlockHack  Block = "hack"   // for the rest of the session
	BlockSpam  Block = "spam"   // until another message comes
	BlockLong  Block = "length" // this message
)

// repeats returns how often in a row the visitor has now sent the same message after its first time.
func repeats(s *State, input string) int {
	same := func(text string) string { return strings.ToLower(strings.TrimSpace(text)) }
	if s.LastInput != "" && same(input) == same(s.LastInput) {
		return s.SpamCount + 1
	}
	return 0
}

// gate says whether a message is blocked before any model is asked.
func gate(s *State, input string, spam int) Block {
	switch {
	case s.HackCount >= maxHacks:
		return BlockHack
	case spam >= maxRepeats:
		return BlockSpam
	case utf8.RuneCountInString(input) > MaxInput:
		return BlockLong
	}
	return NotBlocked
}
