package value

// Years that a date may have.
const (
	firstYear = 1900
	lastYear  = 2199
)

// atNumber adds a date that begins with figures, and returns how many tokens it took. Figures that are no date are passed over as a whole.
func (s *scanner) atNumber(i int) int {
	nums, seps := s.chain(i)
	n := 2*len(nums) - 1
	switch {
	case !s.free(i):
		return n
	case len(nums) == 3:
		if f, ok := s.threeFigures(i, nums, seps); ok {
			return s.pair(f, i, n)
		}
		return n
	case len(nums) == 2:
		if taken := s.twoFigures(i, seps[0]); taken > 0 {
			return taken
		}
	}
	if len(nums) > 1 {
		return s.afterRange(i, n)
	}
	for _, find := range []func(int) int{s.countedBehind, s.spacedFigures, s.dayAndMonth, s.ordinal} {
		if n := find(i); n > 0 {
			return n
		}
	}
	return 1
}

// chain returns the figures that hang together at a token, and what parts them.
func (s *scanner) chain(i int) (nums []string, seps string) {
	nums = append(nums, s.toks[i].text)
	for s.glued(i+1) && s.markAt(i+1, "-./") && s.glued(i+2) && s.toks[i+2].kind == number {
		nums, seps = append(nums, s.toks[i+2].text), seps+s.toks[i+1].text
		i += 2
	}
	return nums, seps
}

// free reports whether nothing hangs before figures that would make of them something else. A day before them may.
func (s *scanner) free(i int) bool {
	if !s.glued(i) {
		return true
	}
	if s.toks[i-1].kind != mark {
		return false
	}
	n := len(s.items)
	_, _, linked := s.linkedBefore(i)
	return !s.markAt(i-1, "-./+#$€£_%@&=:\x00") || s.markAt(i-1, "-/") && (linked || n > 0 && s.items[n-1].to == i-1)
}

// closed reports whether figures that end before a token are not part of something else, such as a time or an amount.
func (s *scanner) closed(i int) bool {
	return !s.glued(i) || s.toks[i].kind == mark && !s.markAt(i, "%€$£°_@") ||
		s.wordAt(i) == "t" // of a time behind a day of ISO 8601
}

// threeFigures reads a day, a month and a year.
func (s *scanner) threeFigures(i int, nums []string, seps string) (item, bool) {
	a, _ := s.figuresAt(i, 4)
	b, okB := s.figuresAt(i+2, 2)
	c, okC := s.figuresAt(i+4, 4)
	if seps[0] != seps[1] || !okB || !okC || !s.closed(i+5) {
		return item{}, false
	}
	if len(nums[0]) == 4 && len(nums[2]) <= 2 {
		return dated(a, b, c, false), true
	}
	switch {
	case len(nums[0]) > 2 || len(nums[2]) == 1 || len(nums[2]) == 3:
		return item{}, false
	case len(nums[2]) == 2:
		if !plausible(a, b) {
			return item{}, false
		}
		c += 2000
	}
	day, month := s.order(a, b, c)
	return dated(c, month, day, false), true
}

// order says which of two figures is the day and which the month: they change places where only that gives a day.
func (s *scanner) order(a, b, year int) (day, month int) {
	day, month = a, b
	if s.MonthFirst {
		day, month = b, a
	}
	if _, ok := dayOf(year, month, day); !ok {
		if _, ok := dayOf(year, day, month); ok {
			return month, day
		}
	}
	return day, month
}

// plausible reports whether two figures could be a day and a month.
func plausible(a, b int) bool {
	return a >= 1 && b >= 1 && a <= 31 && b <= 31 && (a <= 12 || b <= 12)
}

// leapYear stands for a year that is not known, so that any day may be in it.
const leapYear = 2000

// dated returns a day, or that there is none.
func dated(year, month, day int, yearless bool) item {
	d, ok := dayOf(year, month, day)
	if !ok {
		return item{meaning: meaning{absentKind, 0}}
	}
	return item{meaning: meaning{dayKind, 0}, day: d, yearless: yearless}
}

// twoFigures adds a day and a month without a year: 12/3, or 12.3. where it can be no decimal number.
func (s *scanner) twoFigures(i int, sep byte) int {
	a, okA := s.figuresAt(i, 2)
	b, okB := s.figuresAt(i+2, 2)
	n := 3
	placed := datePlaces[s.wordAt(i-1)]
	switch {
	case !okA || !okB || !plausible(a, b) || !s.closed(i+n):
		return 0
	case sep == '/':
		_, year := s.figuresAt(i+n+1, 4)
		share := a < b && ofMonth[s.wordAt(i+n)] && !year // 3/4 of them
		if !placed && (share || a == 24 && b == 7) {      // 24/7 is day and night
			return 0
		}
	case sep == '.':
		stop := s.markAt(i+n, ".") && s.glued(i+n)
		if stop {
			n++
		}
		alone := i == 0 && i+n == len(s.toks)
		if b > 12 || !placed && !alone && !(stop && (i == 0 || s.goesOn(i+n))) {
			return 0
		}
		day := dated(leapYear, b, a, true) // in this form the day is always first
		return s.pair(day, i, n)
	default:
		return 0
	}
	day, month := s.order(a, b, leapYear)
	return s.pair(dated(leapYear, month, day, true), i, n)
}

// goesOn reports whether a sentence goes on at a token: with a number, a mark or a small letter.
func (s *scanner) goesOn(i int) bool { return i < len(s.toks) && !s.toks[i].upper }

// spacedFigures adds a date such as 14 03 2027.
func (s *scanner) spacedFigures(i int) int {
	a, okA := s.figuresAt(i, 2)
	b, okB := s.figuresAt(i+1, 2)
	year, okC := s.figuresAt(i+2, 4)
	_, before := s.figuresAt(i-1, 15)
	_, behind := s.figuresAt(i+3, 15)
	if !okA || !okB || !okC || before || behind || year < firstYear || year > lastYear || !s.closed(i+3) || s.markAt(i-1, "+") {
		return 0
	}
	day, month := s.order(a, b, year)
	if _, ok := dayOf(year, month, day); !ok {
		return 0
	}
	return s.add(dated(year, month, day, false), i, 3)
}

// pair adds a date, and a day that is linked to it by its number alone: 3 or 4 March, 3.-5.12.
func (s *scanner) pair(date item, from, n int) int {
	if date.kind == dayKind {
		if day, at, ok := s.linkedBefore(from); ok && day != date.day.Day() {
			s.add(dated(date.day.Year(), int(date.day.Month()), day, date.yearless), at, 1)
		}
	}
	n = s.add(date, from, n)
	if day, length, ok := s.linkedBehind(from + n); ok && date.kind == dayKind && day != date.day.Day() {
		return n + s.add(dated(date.day.Year(), int(date.day.Month()), day, date.yearless), from+n, length)
	}
	return n
}

// linkedBefore returns the number of a day that stands before a place with a link behind it.
func (s *scanner) linkedBefore(i int) (day, at int, ok bool) {
	i--
	if w := s.wordAt(i); !links[w] && (dayArticles[w] || germanArticles[w] || w == "the") {
		i--
	}
	// "a" and "à" are "to" before a date: de 10 a 12 de março. Behind one they stand before an hour.
	if w := s.wordAt(i); !links[w] && w != "a" && !s.markAt(i, "-–—/&") {
		return 0, 0, false
	}
	i--
	for s.markAt(i, ".") || suffixes[s.wordAt(i)] && s.glued(i) {
		i--
	}
	day, ok = s.figuresAt(i, 2)
	ok = ok && day >= 1 && day <= 31 && !s.glued(i) && (len(s.items) == 0 || s.items[len(s.items)-1].to <= i)
	return day, i, ok
}

// linkedBehind returns the number of a day that stands behind a place with a link before it, and how many tokens both have. It is none where it is a
// time, an amount, or begins a date of its own.
func (s *scanner) linkedBehind(i int) (day, length int, ok bool) {
	j := i
	if !links[s.wordAt(j)] && !s.markAt(j, "-–—/&") {
		return 0, 0, false
	}
	j++
	day, ok = s.figuresAt(j, 2)
	if !ok || day < 1 || day > 31 {
		return 0, 0, false
	}
	j++
	if s.glued(j) && (s.markAt(j, ":%€$£") || s.markAt(j, ".-/") && s.glued(j+1) && s.toks[j+1].kind == number) {
		return 0, 0, false
	}
	behind := s.wordAt(j)
	if hours[behind] || counted[behind] || anyMonth[behind] > 0 || ofMonth[behind] && anyMonth[s.wordAt(j+1)] > 0 || suffixes[behind] && s.glued(j) ||
		behind != "" && isPlural(behind) {
		return 0, 0, false
	}
	return day, j - i, true
}

// isPlural reports whether a word may be several of something, as in "4 people or 5 seats".
func isPlural(text string) bool { return len(text) > 3 && text[len(text)-1] == 's' }

// afterRange passes over two figures with a hyphen between them, unless they are the days of a month that follows: 3-5 March.
func (s *scanner) afterRange(i, n int) int {
	first, okA := s.figuresAt(i, 2)
	if n != 3 || !okA || first < 1 || first > 31 || !s.markAt(i+1, "-/") {
		return n
	}
	if date, taken, ok := s.dayMonthAt(i + 2); ok {
		s.add(dated(date.day.Year(), int(date.day.Month()), first, date.yearless), i, 1)
		return 2 + s.add(date, i+2, taken)
	}
	return n
}
