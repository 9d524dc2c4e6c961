package variants

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// notApplicable stands where a figure is null, undetectable where no difference would have been found.
const (
	notApplicable = "n/a"
	undetectable  = "none"
)

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
		return portion(v)
	case v < 0:
		return negative(quantity(-v, unit))
	case unit == replay.USD:
		return text.Dollars(v)
	}
	return magnitude(v, unit) + suffix(unit)
}

// portion writes a share as percent does, but with the same digits for all, so that they stand below each other. Only
// all is 100%.
func portion(v float64) string {
	s := text.Percent(v)
	if v == 0 || v == 1 || strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(s, "%") + ".0%"
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
		s = text.Dollars(d)
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
		from = bareChange(possible(*low, unit), unit)
	}
	if high != nil && finite(*high) {
		to = bareChange(possible(*high, unit), unit)
	}
	return "[" + from + ", " + to + "]"
}

// intervalOf writes the bounds of a difference. Where no session differs and the metric has no range, there are none.
func intervalOf(d *replay.DifferenceReport, unit replay.Unit) string {
	if d.Low == nil && d.High == nil && isSame(d) {
		return "[no session differs]"
	}
	return interval(d.Low, d.High, unit)
}

// isSame reports whether no session differs.
func isSame(d *replay.DifferenceReport) bool { return d.N > 0 && d.Changed == 0 && d.Mean == 0 }

// possible is the bound of a difference as far as it can be: of a few sessions an interval reaches further.
func possible(bound float64, unit replay.Unit) float64 {
	if unit == replay.Share {
		return min(max(bound, -1), 1)
	}
	return bound
}

// magnitude writes a number that is not negative, with as many digits as say something.
func magnitude(v float64, unit replay.Unit) string {
	switch {
	case unit == replay.Ratio || unit == replay.Turns:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v >= 1e9:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case v >= 100:
		return text.Count(int(math.Round(v)))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v == 0:
		return "0"
	case v >= 0.01 && unit != replay.Seconds || v >= 0.1 || unit == replay.Milliseconds:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case unit == replay.Seconds: // nobody looks for less than a millisecond
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func suffix(unit replay.Unit) string {
	switch unit {
	case replay.Milliseconds, replay.Seconds:
		return " " + string(unit)
	case replay.Share:
		return "%"
	case replay.Ratio, replay.Turns, replay.Tokens, replay.USD, "": // the metric's name says it
		return ""
	}
	return " " + text.OneLine(string(unit), 12)
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
	case d.Detectable == nil && isSame(d):
		return unknown
	case d.Detectable == nil || !finite(*d.Detectable) || unit == replay.Share && *d.Detectable > 1:
		return undetectable
	case *d.Detectable == 0:
		return "no variation"
	}
	return strings.TrimLeft(change(math.Abs(*d.Detectable), unit), "+")
}

// estimateInterval writes the interval of a mean, its unit once.
func estimateInterval(e *replay.Estimate, unit replay.Unit) string {
	if e == nil {
		return ""
	}
	if e.Low == nil && e.High == nil {
		return "unknown"
	}
	if e.Low != nil && e.High != nil && *e.Low == *e.High {
		return "same in every session"
	}
	from, to := "−∞", "∞"
	if e.Low != nil {
		from = quantity(atLeastNothing(*e.Low, unit), unit)
	}
	if e.High != nil {
		to = quantity(*e.High, unit)
	}
	end := suffix(unit)
	if end != "" && strings.HasSuffix(to, end) {
		from = strings.TrimSuffix(from, end)
	}
	return from + " to " + to
}

// atLeastNothing is the bound of a mean as far as it can be: only a difference of turns is below 0.
func atLeastNothing(bound float64, unit replay.Unit) float64 {
	if unit == replay.Turns {
		return bound
	}
	return max(bound, 0)
}
