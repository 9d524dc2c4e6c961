package grader

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

func newWordCount(a *Args) runner.Grader {
	exact := a.IntOr("value", -1, 0, "the exact number of words")
	low := a.IntOr("min", -1, 0, "the least number of words")
	high := a.IntOr("max", -1, 0, "the greatest number of words")
	a.checkRange("value", exact, low, high)
	return textCheck(countWanted("word", exact, low, high), func(text string) (bool, string) {
		count := 0
		for piece := range strings.FieldsSeq(text) {
			count += wordsOf(piece)
		}
		return inRange(count, exact, low, high), counted(count, "word")
	})
}

// wordsOf returns the number of words of a piece of text without white space: each Chinese or Japanese character is
// one, and so is what else it has between them.
func wordsOf(piece string) int {
	count, within, plain := 0, false, true
	for _, r := range piece {
		switch {
		case ideograph(r):
			count++
			within, plain = false, false
		case !within && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			count++
			within = true
		}
	}
	if plain {
		return 1
	}
	return count
}

// checkRange reports a range of counts that limits nothing or cannot be met; -1 stands for a bound that was not given.
// exactName is empty for types without an exact count.
func (a *Args) checkRange(exactName string, exact, low, high int) {
	switch {
	case exact < 0 && low < 0 && high < 0:
		hint := "add `min:`, `max:` or both"
		if exactName != "" {
			hint = "add `" + exactName + ":`, or `min:` and `max:`"
		}
		a.node.Report(hint, "%s needs a bound", a.Assertion.Type)
	case exact >= 0 && (low >= 0 || high >= 0):
		a.Report(exactName, "keep the exact number or the bounds", "%s cannot stand beside min or max", exactName)
	case low >= 0 && high >= 0 && low > high:
		a.Report("min", "swap min and max", "min %d is greater than max %d", low, high)
	}
}

func inRange(count, exact, low, high int) bool {
	if exact >= 0 {
		return count == exact
	}
	return count >= low && (high < 0 || count <= high)
}

func countWanted(thing string, exact, low, high int) string {
	switch {
	case exact >= 0:
		return "exactly " + counted(exact, thing)
	case low >= 0 && high >= 0:
		return fmt.Sprintf("%d to %s", low, counted(high, thing))
	case low >= 0:
		return "at least " + counted(low, thing)
	}
	return "at most " + counted(high, thing)
}
