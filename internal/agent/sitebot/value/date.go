package value

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// AnyDay is the value of a message that leaves the day open.
const AnyDay = "any"

// Calendar says how days are read.
type Calendar struct {
	// Today is the day of the site; its clock and zone do not count.
	Today time.Time
	// MonthFirst is true where 3/4 is the fourth of March.
	MonthFirst bool
}

// Refusal says why a message that speaks of days gives none.
type Refusal string

// The refusals.
const (
	Past     Refusal = "past"    // the day has been
	Denied   Refusal = "denied"  // the day is one that does not suit
	Several  Refusal = "several" // there are two different days
	NoSuch   Refusal = "no_such" // there is no such day
	Accepted Refusal = ""        // there is nothing to refuse
)

// Date returns the day that the message gives: as YYYY-MM-DD, as A/B for the days from A to B, or AnyDay. Without one, it says why; a message
// that speaks of no day has no refusal either. Whatever has the form of a date is taken, whether it counts or not.
func (t *Text) Date(c Calendar) (Found, Refusal) {
	c.Today = civil(c.Today.Date())
	s := &scanner{Calendar: c, text: t.rest, toks: tokens(t.rest)}
	s.scan()
	s.deny()
	found, why := s.resolve()
	for _, i := range s.items {
		t.take(s.toks[i.from].from, s.toks[i.to-1].to)
	}
	return found, why
}

// civil returns a day without an hour.
func civil(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// dayOf returns the day of a year and a month, if there is one.
func dayOf(year, month, day int) (time.Time, bool) {
	d := civil(year, time.Month(month), day)
	return d, day > 0 && month > 0 && d.Day() == day && d.Month() == time.Month(month)
}

// item is something that a message says of a day.
type item struct {
	meaning
	// day is what a dayKind, and a monthEndKind of a month that was named, is about; for the former yearless is true where no year was said.
	day      time.Time
	yearless bool
	// ahead is true for a day that was counted from today: in three weeks.
	ahead bool
	// from and to are the tokens, to not included.
	from, to int
	denied   bool
}

// scanner looks for items in the tokens of a message.
type scanner struct {
	Calendar
	text  []byte
	toks  []token
	items []item
}

// scan finds all items from left to right.
func (s *scanner) scan() {
	for i := 0; i < len(s.toks); {
		i += max(1, s.at(i))
	}
}

// at adds what begins at a token, and returns how many tokens that took.
func (s *scanner) at(i int) int {
	if s.toks[i].kind == number {
		return s.atNumber(i)
	}
	if s.toks[i].kind != word {
		return 0
	}
	for _, find := range []func(int) int{s.countedDays, s.monthEnd, s.monthFirst, s.dayInWords, s.saying, s.dayWithArticle} {
		if n := find(i); n > 0 {
			return n
		}
	}
	return 0
}

// add keeps an item that takes n tokens.
func (s *scanner) add(i item, from, n int) int {
	i.from, i.to = from, from+n
	s.items = append(s.items, i)
	return n
}

// ahead returns the tokens from a place on.
func (s *scanner) ahead(i int) []token { return s.toks[min(i, len(s.toks)):] }

// wordAt returns the word at a place, or nothing where none is.
func (s *scanner) wordAt(i int) string {
	if i < 0 || i >= len(s.toks) || s.toks[i].kind != word {
		return ""
	}
	return s.toks[i].text
}

// markAt reports whether one of some characters stands at a place.
func (s *scanner) markAt(i int, marks string) bool {
	return i >= 0 && i < len(s.toks) && s.toks[i].kind == mark && strings.Contains(marks, s.toks[i].text)
}

// figuresAt returns a number of so many figures at most; ok is false where none is.
func (s *scanner) figuresAt(i, most int) (n int, ok bool) {
	if i < 0 || i >= len(s.toks) || s.toks[i].kind != number || len(s.toks[i].text) > most {
		return 0, false
	}
	n, err := strconv.Atoi(s.toks[i].text)
	return n, err == nil
}

// glued reports whether a token stands right behind the one before it.
func (s *scanner) glued(i int) bool { return i > 0 && i < len(s.toks) && !s.toks[i].gap }

// saying adds a phrase: today, next week, any day, Monday.
func (s *scanner) saying(i int) int {
	found, ok := sayingAt(s.ahead(i))
	if !ok {
		if day, short := shortDays[s.toks[i].text]; short && s.isShortDay(i) {
			return s.dayOfWeek(i, 1, day)
		}
		if day, short := dashedDays[s.toks[i].text]; short && s.isDashedDay(i) {
			return s.dayOfWeek(i, 1, day)
		}
		return 0
	}
	n := len(found.words)
	switch {
	case found.kind == weekdayKind:
		return s.dayOfWeek(i, n, found.n)
	case n == 1 && (found.words[0] == "morgen" || found.words[0] == "manana") && morning[s.wordAt(i-1)]:
		return 0
	case found.kind == dayKind:
		return s.add(item{meaning: found.meaning, day: s.Today.AddDate(0, 0, found.n), ahead: true}, i, n)
	}
	return s.add(item{meaning: found.meaning}, i, n)
}

// dayOfWeek adds a day of the week, unless it is one of many.
func (s *scanner) dayOfWeek(i, n, day int) int {
	before, behind := s.wordAt(i-1), s.wordAt(i+n)
	switch {
	case always[before]:
		return n
	case once[before] || onceBehind[behind]:
		return s.add(item{meaning: meaning{pastKind, 0}}, i, n)
	}
	return s.add(item{meaning: meaning{weekdayKind, day}}, i, n)
}

// isShortDay reports whether a Portuguese ordinal stands where a day of the week does.
func (s *scanner) isShortDay(i int) bool {
	before, behind := s.wordAt(i-1), s.wordAt(i+1)
	_, span := shortDays[s.wordAt(i-2)]
	return (i == 0 || s.toks[i-1].kind == mark || shortBefore[before] || span && before == "a") && !counted[behind]
}

// isDashedDay reports whether a dash ties a short day of the week to another day of the week.
func (s *scanner) isDashedDay(i int) bool {
	// A hyphen between two words is no token.
	return s.markAt(i+1, "-–—/") && namesDay(s.wordAt(i+2)) || s.markAt(i-1, "-–—/") && namesDay(s.wordAt(i-2)) ||
		s.glued(i+1) && namesDay(s.wordAt(i+1)) || s.glued(i) && namesDay(s.wordAt(i-1))
}

// namesDay reports whether a word is a day of the week, in short or not.
func namesDay(w string) bool {
	_, short := dashedDays[w]
	return short || slices.ContainsFunc(sayingsBy[w], func(s saying) bool { return s.kind == weekdayKind && len(s.words) == 1 })
}
