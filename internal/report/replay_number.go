package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"rehearse/internal/replay"
)

// notApplicable stands where a figure is null.
const notApplicable = "n/a"

// byCount sorts the most frequent first and keeps the order of equals.
func byCount[T any](list []T, count func(T) int) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(count(b), count(a)) })
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// quantity writes a figure in its unit.
func quantity(v float64, unit replay.Unit) string {
	switch {
	case !finite(v):
		return notApplicable
	case unit == replay.Share && v >= 0:
		return percent(v)
	case v < 0:
		return negative(quantity(-v, unit))
	case unit == replay.USD:
		return dollars(v)
	}
	return magnitude(v, unit) + suffix(unit)
}

// change writes a difference with its sign and unit. Those of shares are in percentage points.
func change(d float64, unit replay.Unit) string {
	if !finite(d) {
		return notApplicable
	}
	s := bareChange(d, unit)
	switch unit {
	case replay.Share:
		return s + " points"
	case replay.USD:
		return s
	}
	return s + suffix(unit)
}

// bareChange writes a difference with its sign and without its unit, as a bound of an interval.
func bareChange(d float64, unit replay.Unit) string {
	if d < 0 {
		return negative(strings.TrimPrefix(bareChange(-d, unit), "+"))
	}
	s := magnitude(d, unit)
	switch unit {
	case replay.Share:
		s = strconv.FormatFloat(100*d, 'f', 1, 64)
	case replay.Ratio, replay.Turns:
		s = strconv.FormatFloat(d, 'f', 3, 64)
	case replay.USD:
		s = dollars(d)
	}
	if isZero(s) {
		return s
	}
	return "+" + s
}

// interval writes the bounds of a difference; nil is without end.
func interval(low, high *float64, unit replay.Unit) string {
	if low == nil && high == nil {
		return "[unknown]"
	}
	from, to := "−∞", "+∞"
	if low != nil && finite(*low) {
		from = bareChange(*low, unit)
	}
	if high != nil && finite(*high) {
		to = bareChange(*high, unit)
	}
	return "[" + from + ", " + to + "]"
}

// magnitude writes a number that is not negative, with as many digits as say something.
func magnitude(v float64, unit replay.Unit) string {
	switch {
	case unit == replay.Ratio || unit == replay.Turns:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v >= 1e9:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case v >= 100:
		return count(int(math.Round(v)))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.01 || v == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func suffix(unit replay.Unit) string {
	switch unit {
	case replay.Milliseconds, replay.Seconds, replay.Tokens:
		return " " + string(unit)
	case replay.Share:
		return "%"
	case replay.Ratio, replay.Turns, replay.USD, "":
		return ""
	}
	return " " + oneLine(string(unit), 12)
}

// negative puts a minus sign before a number, unless all of its digits are 0.
func negative(s string) string {
	if isZero(s) {
		return s
	}
	return "−" + s
}

// isZero reports whether a number has no digit but 0.
func isZero(s string) bool {
	return !strings.ContainsAny(s, "123456789∞") && strings.Contains(s, "0")
}

// estimate writes a mean, or that there is none.
func estimate(e *replay.Estimate, unit replay.Unit) string {
	if e == nil {
		return notApplicable
	}
	return quantity(e.Value, unit)
}

// detectable writes the smallest difference that would have been found.
func detectable(d *replay.DifferenceReport, unit replay.Unit) string {
	switch {
	case d == nil:
		return notApplicable
	case d.Detectable == nil || !finite(*d.Detectable):
		return "none"
	case *d.Detectable == 0:
		return "no variation"
	}
	return strings.TrimLeft(change(math.Abs(*d.Detectable), unit), "+")
}
