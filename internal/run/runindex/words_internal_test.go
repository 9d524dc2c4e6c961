package runindex

import (
	"testing"
	"unicode"
)

// No script without blanks has a character before the first that is looked at.
func TestFirstUnspaced(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.In(r, unspaced...) != isUnspaced(r) {
			t.Fatalf("%U is passed over", r)
		}
	}
}
