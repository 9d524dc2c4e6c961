package value

import (
	"slices"
	"time"
)

// span is one day or several, both ends included.
type span struct{ from, to time.Time }

func (s span) has(other span) bool { return !other.from.Before(s.from) && !other.to.After(s.to) }

func (s span) String() string {
	if s.from.Equal(s.to) {
		return s.from.Format(time.DateOnly)
	}
	return s.from.Format(time.DateOnly) + "/" + s.to.Format(time.DateOnly)
}

// resolve makes one value of all items, or says why there is none.
func (s *scanner) resolve() (Found, Refusal) {
	s.years()
	s.withinSpans()
	s.joined()
	var found Found
	var days []span
	why, free, absent := Accepted, false, false
	for i := range s.items {
		it := &s.items[i]
		if it.kind == yearKind {
			continue
		}
		place := Found{From: s.toks[it.from].from, To: s.toks[it.to-1].to}
		days2, past := s.days(it)
		switch {
		case it.denied:
			why = Denied
			continue
		case it.kind == anyKind:
			free = true
			if found.To == 0 {
				found = place
			}
			continue
		case it.kind == absentKind:
			absent = true
			continue
		case past:
			if why != Denied {
				why = Past
			}
			continue
		}
		days = append(days, days2)
		found = place
	}
	days, ok := narrowest(days)
	switch {
	case absent:
		return Found{}, NoSuch
	case !ok:
		return Found{}, Several
	case len(days) == 1:
		found.Value = days[0].String()
		return found, Accepted
	case free && why == Accepted:
		found.Value = AnyDay
		return found, Accepted
	}
	return Found{}, why
}

// narrowest returns the one span that all others hold; ok is false where there is none such.
func narrowest(all []span) (one []span, ok bool) {
	if len(all) == 0 {
		return nil, true
	}
	least := all[0]
	for _, d := range all[1:] {
		if least.has(d) {
			least = d
		}
	}
	for _, d := range all {
		if !d.has(least) {
			return nil, false
		}
	}
	return []span{least}, true
}

// days returns what an item is about, and whether that has been.
func (s *scanner) days(it *item) (d span, past bool) {
	switch it.kind {
	case dayKind:
		day := it.day
		if it.yearless {
			day = s.next(day)
		}
		return span{day, day}, day.Before(s.Today)
	case weekdayKind:
		day := s.nextWeekday(it.n)
		return span{day, day}, false
	case monthDayKind:
		day := s.nextOfMonth(it.n)
		return span{day, day}, false
	case pastKind:
		return span{}, true
	}
	d = s.whole(it)
	if d.to.Before(s.Today) {
		return d, true
	}
	if d.from.Before(s.Today) { // what is left of it
		d.from = s.Today
	}
	return d, false
}

// daysAtEnd is how many days the end of a month has.
const daysAtEnd = 7

// whole returns a span with the days of it that have been.
func (s *scanner) whole(it *item) span {
	monday := s.Today.AddDate(0, 0, -int(s.Today.Weekday()+6)%daysOfWeek)
	week := func(n int) time.Time { return monday.AddDate(0, 0, n*daysOfWeek) }
	month := civil(s.Today.Year(), s.Today.Month()+time.Month(it.n), 1)
	switch it.kind {
	case weekKind:
		return span{week(it.n), week(it.n).AddDate(0, 0, 6)}
	case weekendKind:
		return span{week(it.n).AddDate(0, 0, 5), week(it.n).AddDate(0, 0, 6)}
	case comingKind:
		n := 0
		if s.Today.Weekday() == time.Saturday || s.Today.Weekday() == time.Sunday {
			n = 1
		}
		return span{week(n).AddDate(0, 0, 5), week(n).AddDate(0, 0, 6)}
	case monthEndKind:
		switch {
		case it.yearless:
			month = civil(s.Today.Year(), it.day.Month(), 1)
			if month.AddDate(0, 1, -1).Before(s.Today) {
				month = month.AddDate(1, 0, 0)
			}
		case !it.day.IsZero():
			month = it.day
		}
		end := month.AddDate(0, 1, -1)
		return span{end.AddDate(0, 0, 1-daysAtEnd), end}
	}
	return span{month, month.AddDate(0, 1, -1)}
}

// next returns the first day from today on that has the month and the day of another one.
func (s *scanner) next(day time.Time) time.Time {
	for year := s.Today.Year(); ; year++ {
		if d, ok := dayOf(year, int(day.Month()), day.Day()); ok && !d.Before(s.Today) {
			return d
		}
	}
}

// nextWeekday returns the first day of the week after today.
func (s *scanner) nextWeekday(n int) time.Time {
	ahead := (n-int(s.Today.Weekday())+daysOfWeek-1)%daysOfWeek + 1
	return s.Today.AddDate(0, 0, ahead)
}

// nextOfMonth returns the first day from today on with a number.
func (s *scanner) nextOfMonth(n int) time.Time {
	for month := int(s.Today.Month()); ; month++ {
		first := civil(s.Today.Year(), time.Month(month), 1)
		if d, ok := dayOf(first.Year(), int(first.Month()), n); ok && !d.Before(s.Today) {
			return d
		}
	}
}

// years gives a day without a year the one that stands beside it: 12 March next year.
func (s *scanner) years() {
	for i := range s.items {
		if s.items[i].kind != yearKind {
			continue
		}
		for j := range s.items {
			d := &s.items[j]
			if d.kind == dayKind && d.yearless {
				*d = s.inYear(d, s.Today.Year()+s.items[i].n)
			}
		}
	}
}

func (s *scanner) inYear(d *item, year int) item {
	next := dated(year, int(d.day.Month()), d.day.Day(), false)
	next.from, next.to, next.denied = d.from, d.to, d.denied
	return next
}

// withinSpans reads a day of the week, or of a month, as that of the only week or month that the message names: Tuesday next week.
func (s *scanner) withinSpans() {
	at := -1
	for i := range s.items {
		switch s.items[i].kind {
		case weekKind, weekendKind, comingKind, monthKind:
			if at >= 0 || s.items[i].denied {
				return
			}
			at = i
		}
	}
	if at < 0 {
		return
	}
	whole := s.whole(&s.items[at])
	for i := range s.items {
		d := &s.items[i]
		if d.kind == weekdayKind && s.items[at].kind == monthKind {
			continue
		}
		for day := whole.from; !day.After(whole.to); day = day.AddDate(0, 0, 1) {
			if d.kind == weekdayKind && int(day.Weekday()) == d.n || d.kind == monthDayKind && day.Day() == d.n && s.items[at].kind == monthKind {
				d.kind, d.day = dayKind, day
				s.items[at].kind = yearKind // has said what it had to say
				break
			}
		}
	}
}

// joined drops what only repeats the day beside it: the Monday of "Monday 3 March", if that is one, and the today of "today in a week".
func (s *scanner) joined() {
	for i := range s.items {
		a := &s.items[i]
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(s.items) || !s.beside(min(i, j)) {
				continue
			}
			b := &s.items[j]
			if a.denied != b.denied {
				continue
			}
			if a.kind == weekdayKind && (b.kind == dayKind || b.kind == monthDayKind) {
				if d, _ := s.days(b); int(d.from.Weekday()) == a.n {
					a.kind = yearKind
				}
			}
			if a.kind == dayKind && a.ahead && a.n == 0 && b.kind == dayKind && b.ahead && b.n > 0 {
				a.kind = yearKind
			}
		}
	}
}

// beside reports whether only a comma and small words stand between an item and the next.
func (s *scanner) beside(i int) bool {
	between := s.toks[s.items[i].to:s.items[i+1].from]
	return !slices.ContainsFunc(between, func(t token) bool {
		return !(t.kind == mark && (t.text == "," || t.text == "(" || t.text == ".")) && !(t.kind == word && joiners[t.text])
	})
}

// joiners may stand between a day of the week and its date.
var joiners = set("the den der dem le el il de op on dia del am")
