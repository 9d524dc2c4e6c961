package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Count writes a number with its thousands apart, as 1,234,567.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural writes a number with its noun, which takes an s unless the number is 1.
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Count(n) + " " + noun
}

// Percent writes a rate as 92.3%, without a fraction that says nothing. Only all is 100%, only none is 0%.
func Percent(rate float64) string {
	s := strconv.FormatFloat(100*rate, 'f', 1, 64)
	switch {
	case s == "100.0" && rate < 1:
		s = "99.9"
	case s == "0.0" && rate > 0:
		s = "0.1"
	}
	return strings.TrimSuffix(s, ".0") + "%"
}

// PercentRange writes an interval of rates as 79.7–97.3%.
func PercentRange(interval [2]float64) string {
	return strings.TrimSuffix(Percent(interval[0]), "%") + "–" + Percent(interval[1])
}

// Score writes a score with so many digits, never rounding one that misses its threshold up to it.
func Score(s float64, digits int) string {
	scale := math.Pow10(digits)
	return strconv.FormatFloat(math.Floor(s*scale+1e-9)/scale, 'f', digits, 64)
}

// Dollars writes a cost with as many digits as it takes to see it.
func Dollars(usd float64) string {
	switch {
	case usd == 0:
		return "$0"
	case usd < 0.01:
		return fmt.Sprintf("$%.4f", usd)
	case usd < 1:
		return fmt.Sprintf("$%.3f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Duration writes a duration with the precision that matters: 840 ms, 1.5 s, 1m 12s, 1h 03m.
func Duration(d time.Duration) string {
	rounded := d.Round(time.Millisecond)
	switch {
	case rounded == 0 && d > 0:
		return "<1 ms"
	case rounded < time.Second:
		return fmt.Sprintf("%d ms", rounded.Milliseconds())
	case rounded < 59950*time.Millisecond:
		return fmt.Sprintf("%.1f s", rounded.Seconds())
	case rounded < time.Hour:
		rounded = rounded.Round(time.Second)
		return fmt.Sprintf("%dm %02ds", int(rounded.Minutes()), int(rounded.Seconds())%60)
	}
	rounded = rounded.Round(time.Minute)
	return fmt.Sprintf("%dh %02dm", int(rounded.Hours()), int(rounded.Minutes())%60)
}

// Milliseconds writes a duration of so many milliseconds as Duration does.
func Milliseconds(ms float64) string {
	if ms > 0 && ms < 0.5 { // less than a nanosecond is not nothing
		return "<1 ms"
	}
	return Duration(time.Duration(ms * float64(time.Millisecond)))
}
