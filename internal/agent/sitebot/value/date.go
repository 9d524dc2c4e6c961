package value

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// AnyDay is the value of a message that leaves the day open.
const AnyDay = "any"

// Calendar defines how days are read.
type Calendar struct {
	// Today is the day of the site; its time and zone do not count.
	Today time.Time
	// MonthFirst is true where 3/4 is the fourth of March.
	MonthFirst bool
}

// Refusal is the reason why a message that mentions days has none that counts.
type Refusal string

// The refusals. A model may answer with one in place of a day.
const (
	Past     Refusal = "past"    // the day has passed
	Denied   Refusal = "denied"  // the visitor excludes the day
	Several  Refusal = "several" // there are different days
	NoSuch   Refusal = "no_such" // the calendar does not have the day
	Unclear  Refusal = "unclear" // the answer is not a day, or the message does not support it
	Accepted Refusal = ""
)

// figuresOfDay match what may be a day: figures with separators, or 14 03 2027.
var figuresOfDay = text.Regexp(`[0-9]+(?:[-./][0-9]+)+|[0-9]{1,2} [0-9]{1,2} [0-9]{4}`)

// Date returns the day that the message gives in figures, as YYYY-MM-DD, or why it has none. A message without a day
// has no refusal. A day without a year counts only in a message without words, where it cannot be a share or an hour;
// it is the next such day. Everything in the form of a date is taken, whether it counts or not.
func (t *Text) Date(c Calendar) (Found, Refusal) {
	c.Today = midnight(c.Today)
	wordless := !t.HasWords()
	var days []time.Time
	var places, formed []piece
	ranged := false
	for _, at := range figuresOfDay().FindAllIndex(t.rest, -1) {
		if !t.free(at[0], at[1]) {
			continue
		}
		parts := strings.FieldsFunc(string(t.rest[at[0]:at[1]]), func(r rune) bool { return !isDigit(r) })
		before, _ := utf8.DecodeLastRune(t.rest[:at[0]])
		linked := at[0] > 0 && strings.ContainsRune("-./–", before)
		d, ok := c.yearless(parts, t.rest[at[0]+len(parts[0])])
		switch {
		case dated(parts):
			d = c.full(parts)
		case !wordless || linked || !ok:
			continue
		}
		formed = append(formed, piece{at[0], at[1]})
		if linked || len(parts) > 3 { // from one day to another
			ranged = true
			continue
		}
		days, places = append(days, d), append(places, piece{at[0], at[1]})
	}
	found, why := c.choose(places, days, t.negated(places, true), ranged)
	for _, p := range formed {
		t.Remove(p.from, p.to)
	}
	return found, why
}

// choose returns the one day that is neither negated nor in the past.
func (c Calendar) choose(places []piece, days []time.Time, negated []bool, ranged bool) (found Found, why Refusal) {
	for i, d := range days {
		value := d.Format(time.DateOnly)
		switch {
		case d.IsZero():
			return Found{}, NoSuch
		case negated[i]:
			why = Denied
		case d.Before(c.Today):
			if why == Accepted {
				why = Past
			}
		case found.Value != "" && found.Value != value:
			ranged = true
		default:
			found = Found{value, places[i].from, places[i].to}
		}
	}
	switch {
	case ranged:
		return Found{}, Several
	case found.Value != "":
		return found, Accepted
	}
	return Found{}, why
}

// free reports whether figures are not part of a word, a number, an amount or a time.
func (t *Text) free(from, to int) bool {
	before, _ := utf8.DecodeLastRune(t.rest[:from])
	behind, _ := utf8.DecodeRune(t.rest[to:])
	spaced := strings.ContainsRune(string(t.rest[from:to]), ' ')
	return !(from > 0 && (isLetter(before) || isDigit(before) || strings.ContainsRune("+#$€£_%@&=:\x00", before))) &&
		!(to < len(t.rest) && (isLetter(behind) || isDigit(behind) || strings.ContainsRune("%€$£°_@", behind)) &&
			!hour().Match(t.rest[to:])) &&
		!(spaced && (digitsBefore().Match(t.rest[:from]) || digitsBehind().Match(t.rest[to:])))
}

var (
	hour         = text.Regexp(`^[tT][0-9]`) // behind a day of ISO 8601
	digitsBefore = text.Regexp(`[0-9] $`)
	digitsBehind = text.Regexp(`^ [0-9]`)
)

// dated reports whether figures have the form of one day with a year, or of several.
func dated(parts []string) bool {
	years, short := 0, 0
	for _, p := range parts {
		n, _ := strconv.Atoi(p)
		switch {
		case len(p) <= 2:
			short++
		case len(p) == 4 && n >= firstYear && n <= lastYear:
			years++
		}
	}
	last := parts[len(parts)-1]
	switch {
	case len(parts) < 3 || years+short < len(parts):
		return false
	case years == 0:
		return len(parts) == 3 && len(last) == 2 && plausible(parts[0], parts[1])
	case years == 1:
		return len(parts[0]) == 4 || len(last) == 4
	}
	return len(parts) == 6 && years == 2 // two days with a dash between them
}

// Years that a date may have.
const (
	firstYear = 1900
	lastYear  = 2199
)

// plausible reports whether figures could be a day and a month.
func plausible(a, b string) bool {
	m, _ := strconv.Atoi(a)
	n, _ := strconv.Atoi(b)
	return min(m, n) >= 1 && min(m, n) <= 12 && max(m, n) <= 31
}

// full returns the day of three figures, or zero if it does not exist.
func (c Calendar) full(parts []string) time.Time {
	if len(parts[0]) == 4 {
		return dayOf(parts[0], parts[1], parts[2])
	}
	year := parts[2]
	if len(year) == 2 {
		year = "20" + year
	}
	return c.ordered(year, parts[0], parts[1])
}

// ordered returns the day of a year and two figures in the order of the site, or in the other one where only that
// exists.
func (c Calendar) ordered(year, a, b string) time.Time {
	if c.MonthFirst {
		a, b = b, a
	}
	if d := dayOf(year, b, a); !d.IsZero() {
		return d
	}
	return dayOf(year, a, b)
}

// yearless returns the next day that two figures name. Behind a dot the month is always second, and 24/7 is not a day.
func (c Calendar) yearless(parts []string, separator byte) (time.Time, bool) {
	if len(parts) != 2 {
		return time.Time{}, false
	}
	a, b := parts[0], parts[1]
	dotted := separator == '.'
	month, _ := strconv.Atoi(b)
	if separator == '-' || len(a) > 2 || len(b) > 2 || !plausible(a, b) || dotted && month > 12 ||
		a == "24" && b == "7" {
		return time.Time{}, false
	}
	c.MonthFirst = c.MonthFirst && !dotted
	for year := c.Today.Year(); year <= c.Today.Year()+8; year++ { // a leap day may be eight years away
		if d := c.ordered(strconv.Itoa(year), a, b); !d.IsZero() && !d.Before(c.Today) {
			return d, true
		}
	}
	return time.Time{}, true
}

// dayOf returns the day of a year, a month and a day in figures, or zero if it does not exist.
func dayOf(year, month, dom string) time.Time {
	two := func(n string) string { return strings.Repeat("0", max(0, 2-len(n))) + n }
	d, err := time.Parse(time.DateOnly, year+"-"+two(month)+"-"+two(dom))
	if err != nil {
		return time.Time{}
	}
	return d
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// longestSpan bounds the days from one to another: a month.
const longestSpan = 31 * 24 * time.Hour

// isoDay matches the form of a day, whether or not the day exists.
var isoDay = text.Regexp(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// Normal checks the day that a model read in a message: YYYY-MM-DD, two of them as A/B, AnyDay, or a Refusal. It
// returns the value to store, or why there is none. Of a span that has begun, the days from today on are left.
func (c Calendar) Normal(answer string) (string, Refusal) {
	answer = strings.TrimSpace(answer)
	today := midnight(c.Today)
	if answer == AnyDay {
		return AnyDay, Accepted
	}
	if slices.Contains([]Refusal{Past, Denied, Several, NoSuch}, Refusal(answer)) {
		return "", Refusal(answer)
	}
	first, last, span := strings.Cut(answer, "/")
	if !span {
		last = first
	}
	if !isoDay().MatchString(first) || !isoDay().MatchString(last) {
		return "", Unclear
	}
	from, errFrom := time.Parse(time.DateOnly, first)
	to, errTo := time.Parse(time.DateOnly, last)
	switch {
	case errFrom != nil || errTo != nil:
		return "", NoSuch
	case to.Before(from) || to.Sub(from) > longestSpan:
		return "", Unclear
	case to.Before(today):
		return "", Past
	case from.Before(today):
		from = today
	}
	if from.Equal(to) {
		return from.Format(time.DateOnly), Accepted
	}
	return from.Format(time.DateOnly) + "/" + to.Format(time.DateOnly), Accepted
}
