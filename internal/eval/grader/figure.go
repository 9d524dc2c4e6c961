package grader

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// figure is a decimal number of any size: digits × 10^exp, without zeros at either end of the digits; zero has no
// digits. Equal numbers are equal figures.
type figure struct {
	negative bool
	digits   string
	exp      int
}

// maxExponent bounds the exponent of a figure. Numbers beyond it are all the same to a comparison.
const maxExponent = 999_999_999

// figureOf returns a JSON number as a figure; ok is false for any other value.
func figureOf(v any) (f figure, ok bool) {
	switch v := v.(type) {
	case int:
		return readFigure(strconv.Itoa(v)), true
	case int64:
		return readFigure(strconv.FormatInt(v, 10)), true
	case float64:
		return readFigure(strconv.FormatFloat(v, 'e', -1, 64)), true
	case json.Number:
		return readFigure(v.String()), true
	case wide:
		return v.figure(), true
	}
	return figure{}, false
}

// readFigure reads a number in the form of JSON.
func readFigure(text string) figure {
	mantissa, exponent := text, ""
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa, exponent = text[:at], text[at+1:]
	}
	unsigned, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(unsigned, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return figure{}
	}
	exp, _ := strconv.Atoi(exponent) // beyond the range it is the end of the range
	exp = min(maxExponent, max(-maxExponent, exp)) - len(fraction)
	short := strings.TrimRight(digits, "0")
	return figure{negative, short, exp + len(digits) - len(short)}
}

// plainNumber returns a number in the form in which values are kept: an int64, a float64 or, for a whole number of more
// than 64 bits, wide.
func plainNumber(text string) any {
	f := readFigure(text)
	if f.exp < 0 {
		// a number with a fraction is at most its own digits long, never out of range
		x, _ := strconv.ParseFloat(text, 64)
		return x
	}
	if len(f.digits)+f.exp <= len("9223372036854775807") {
		if i, err := strconv.ParseInt(f.String(), 10, 64); err == nil {
			return i
		}
	}
	return wideOf(f)
}

// compare returns -1, 0 or 1 as f is less than, equal to or greater than g.
func (f figure) compare(g figure) int {
	if f.sign() != g.sign() {
		return sign(f.sign() - g.sign())
	}
	order := sign(len(f.digits) + f.exp - len(g.digits) - g.exp)
	if order == 0 {
		order = strings.Compare(f.digits, g.digits)
	}
	return order * f.sign()
}

// sign returns -1, 0 or 1.
func (f figure) sign() int {
	switch {
	case f.digits == "":
		return 0
	case f.negative:
		return -1
	}
	return 1
}

func sign(n int) int { return min(1, max(-1, n)) }

// float returns the nearest float64, infinite beyond the range.
func (f figure) float() float64 {
	x, _ := strconv.ParseFloat(f.scientific(), 64)
	return x
}

// longestZeros is how many zeros a whole number is written with; more are an exponent.
const longestZeros = 40

// MarshalJSON writes the number itself.
func (f figure) MarshalJSON() ([]byte, error) { return []byte(f.String()), nil }

// String writes the number as JSON does.
func (f figure) String() string {
	if f.digits == "" {
		return "0"
	}
	if f.exp < 0 || f.exp > longestZeros {
		return f.scientific()
	}
	text := f.digits + strings.Repeat("0", f.exp)
	if f.negative {
		return "-" + text
	}
	return text
}

func (f figure) scientific() string {
	if f.digits == "" {
		return "0"
	}
	text := f.digits + "e" + strconv.Itoa(f.exp)
	if f.negative {
		return "-" + text
	}
	return text
}

// wide is a whole number of more than 64 bits within a document: a text that is equal for equal numbers and whose order
// is that of the numbers, because filters of paths know no other types. It has a sign, ten digits for the length of the
// number, and the digits; those of a negative number stand for their difference to 9.
type wide string

const (
	widePositive = "\x00+"
	wideNegative = "\x00!" // sorts before the positive
	wideLength   = 10
)

func wideOf(f figure) wide {
	text := fmt.Sprintf("%0*d%s", wideLength, len(f.digits)+f.exp, f.digits)
	if f.negative {
		return wide(wideNegative + nines(text) + "~")
	}
	return wide(widePositive + text)
}

func (w wide) figure() figure {
	text, negative := strings.CutPrefix(string(w), wideNegative)
	if negative {
		text = nines(strings.TrimSuffix(text, "~"))
	} else {
		text = strings.TrimPrefix(text, widePositive)
	}
	length, _ := strconv.Atoi(text[:wideLength])
	digits := text[wideLength:]
	return figure{negative, digits, length - len(digits)}
}

// nines returns digits with each replaced by its difference to 9.
func nines(digits string) string {
	return strings.Map(func(r rune) rune { return '9' - r + '0' }, digits)
}

// MarshalJSON writes the number itself.
func (w wide) MarshalJSON() ([]byte, error) { return []byte(w.figure().String()), nil }
