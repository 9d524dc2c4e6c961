package value

import "slices"

// dayAndMonth adds a day in figures with the name of its month behind it: 12 March, 12. März 2027, 12 de marzo.
func (s *scanner) dayAndMonth(i int) int {
	date, n, ok := s.dayMonthAt(i)
	if !ok {
		return 0
	}
	return s.pair(date, i, n)
}

// dayMonthAt reads a day in figures and the name of its month.
func (s *scanner) dayMonthAt(i int) (date item, n int, ok bool) {
	day, ok := s.figuresAt(i, 2)
	if !ok {
		return item{}, 0, false
	}
	j := i + 1
	if suffixes[s.wordAt(j)] && s.glued(j) {
		j++
	}
	if s.markAt(j, ".-/") {
		j++
	}
	return s.monthBehind(day, i, j, anyMonth)
}

// monthBehind reads the name of a month, and its year, behind a day.
func (s *scanner) monthBehind(day, from, i int, names map[string]int) (date item, n int, ok bool) {
	if ofMonth[s.wordAt(i)] {
		i++
	}
	month := names[s.wordAt(i)]
	if month == 0 {
		return item{}, 0, false
	}
	i++
	if s.markAt(i, ".") && s.glued(i) && s.goesOn(i+1) {
		i++
	}
	year, length := s.yearAt(i)
	return datedIn(year, month, day), i + length - from, true
}

// datedIn returns a day of a year, or without one if it is 0.
func datedIn(year, month, day int) item {
	if year == 0 {
		return dated(leapYear, month, day, true)
	}
	return dated(year, month, day, false)
}

// yearAt reads a year behind a month, and returns how many tokens it takes.
func (s *scanner) yearAt(i int) (year, length int) {
	j := i
	if s.markAt(j, ",-/") || ofMonth[s.wordAt(j)] {
		j++
	}
	year, ok := s.figuresAt(j, 4)
	if !ok || year < firstYear || year > lastYear || s.glued(j+1) && s.markAt(j+1, "-/") {
		return 0, 0
	}
	return year, j + 1 - i
}

// monthFirst adds the name of a month with a day behind it: March 12, May the 3rd.
func (s *scanner) monthFirst(i int) int {
	month := anyMonth[s.toks[i].text]
	if month == 0 || s.toks[i].text == "may" && pronouns[s.wordAt(i-1)] {
		return 0
	}
	j := i + 1
	if s.markAt(j, ".") && s.glued(j) {
		j++
	}
	if w := s.wordAt(j); w == "the" || w == "le" || w == "der" || w == "den" {
		j++
	}
	day, ok := s.figuresAt(j, 2)
	length := 1
	if !ok {
		day, length = numberAt(s.ahead(j), ordinals[english])
	}
	if length == 0 || day < 1 || !s.endsDay(j+length) {
		return 0
	}
	j += length
	if suffixes[s.wordAt(j)] && s.glued(j) {
		j++
	}
	year, taken := s.yearAt(j)
	return s.pair(datedIn(year, month, day), i, j+taken-i)
}

// endsDay reports whether a day in figures ends before a token: what follows makes of it neither a time nor an amount.
func (s *scanner) endsDay(i int) bool {
	if s.glued(i) && (s.markAt(i, ":%€$£") || s.markAt(i, ".") && s.glued(i+1) && s.toks[i+1].kind == number) {
		return false
	}
	return !hours[s.wordAt(i)]
}

// dayInWords adds a day in words with the name of its month: the third of March, le deux mai, am ersten März.
func (s *scanner) dayInWords(i int) int {
	for l := range languages {
		day, length := numberAt(s.ahead(i), ordinals[l])
		if length == 0 && l != english && l != german {
			day, length = numberAt(s.ahead(i), dayWords[l])
		}
		if length == 0 {
			continue
		}
		if date, n, ok := s.monthBehind(day, i, i+length, months[l]); ok {
			return s.pair(date, i, n)
		}
	}
	return 0
}

// dayWords are the numbers of a language that are days, without the articles that mean one.
var dayWords = func() (all [languages]map[string]int) {
	for l := range languages {
		all[l] = map[string]int{}
		for w, n := range numberWords[l] {
			if article := others[l][w] == 1 || w == basics[l][1] && l != spanish; n >= 1 && n <= 31 && !article {
				all[l][w] = n
			}
		}
	}
	return all
}()

// ordinal adds a day of a month that is not said: the 3rd, am 3., de 3e, le 3.
func (s *scanner) ordinal(i int) int {
	day, ok := s.figuresAt(i, 2)
	if !ok || day < 1 || day > 31 {
		return 0
	}
	before, n := s.wordAt(i-1), 1
	suffix := ""
	if w := s.wordAt(i + 1); suffixes[w] && s.glued(i+1) {
		suffix, n = w, 2
	}
	stop := suffix == "" && s.markAt(i+1, ".") && s.glued(i+1)
	switch {
	case strongSuffixes[suffix]:
	case suffix != "" && (dutchArticles[before] || dayArticles[before] || len(s.toks) == n):
	case stop && germanArticles[before] && s.wordAt(i-2) != "i" && (i+2 == len(s.toks) || s.goesOn(i+2)):
		n = 2
	case suffix == "" && dayArticles[before], suffix == "" && before == "l" && (day == 8 || day == 11):
	default:
		return 0
	}
	if !s.closed(i+n) || s.glued(i+n) && s.markAt(i+n, ":") || hours[s.wordAt(i+n)] || counted[s.wordAt(i+n)] || s.markAt(i+n, "%€$£") ||
		firstOf(s.ahead(i+n), percent) > 0 || suffix != "" && s.crossing(i+n) {
		return 0
	}
	s.add(item{meaning: meaning{monthDayKind, day}}, i, n)
	if other, length, ok := s.linkedBehind(i + n); ok && other != day {
		return n + s.add(item{meaning: meaning{monthDayKind, other}}, i+n, length)
	}
	return n
}

// crossing reports whether a street follows, as in "5th and Main".
func (s *scanner) crossing(i int) bool {
	return s.wordAt(i) == "and" && s.wordAt(i+1) != "" && s.toks[i+1].upper && anyMonth[s.wordAt(i+1)] == 0 && len(sayingsBy[s.wordAt(i+1)]) == 0
}

// percent is how a share is said.
var percent = spelled("per cento|cent; por ciento|cento; pour cent")

// dayWithArticle adds the first of a month in words: le premier, am Ersten.
func (s *scanner) dayWithArticle(i int) int {
	w := s.toks[i].text
	day := slices.Contains([]string{"premier", "primero", "primeiro"}, w) && dayArticles[s.wordAt(i-1)]
	if !day || s.wordAt(i+1) != "" {
		return 0
	}
	return s.add(item{meaning: meaning{monthDayKind, 1}}, i, 1)
}

// countedDays adds what is counted from today: in three weeks, il y a deux jours.
func (s *scanner) countedDays(i int) int {
	for l := range languages {
		t := &spanTable[l]
		for _, form := range []struct {
			begins [][]string
			past   bool
		}{{t.in, false}, {t.before, true}} {
			k := firstOf(s.ahead(i), form.begins)
			if k == 0 {
				continue
			}
			if days, n := s.amount(i+k, l); n > 0 {
				return s.countedFrom(days, form.past, i, k+n)
			}
		}
	}
	return s.countedBehind(i)
}

// countedBehind adds an amount with the direction behind it: two weeks from now, three days ago.
func (s *scanner) countedBehind(i int) int {
	for l := range languages {
		days, n := s.amount(i, l)
		if n == 0 {
			continue
		}
		if k := firstOf(s.ahead(i+n), spanTable[l].ago); k > 0 {
			return s.countedFrom(days, true, i, n+k)
		}
		if k := firstOf(s.ahead(i+n), spanTable[l].from); k > 0 {
			return s.countedFrom(days, false, i, n+k)
		}
	}
	return 0
}

func (s *scanner) countedFrom(days int, past bool, i, n int) int {
	if past {
		return s.add(item{meaning: meaning{pastKind, 0}}, i, n)
	}
	return s.add(item{meaning: meaning{dayKind, days}, day: s.Today.AddDate(0, 0, days), ahead: true}, i, n)
}

// amount reads a number of days or weeks of a language, and returns it in days.
func (s *scanner) amount(i int, l language) (days, length int) {
	n, ok := s.figuresAt(i, 3)
	length = 1
	if !ok {
		n, length = numberAt(s.ahead(i), numberWords[l])
	}
	if length == 0 {
		return 0, 0
	}
	if firstOf(s.ahead(i+length), spanTable[l].days) > 0 {
		return n, length + 1
	}
	if firstOf(s.ahead(i+length), spanTable[l].weeks) > 0 {
		return n * daysOfWeek, length + 1
	}
	return 0, 0
}

const daysOfWeek = 7

// monthEnd adds the end of a month: of this one, the next or one that is named.
func (s *scanner) monthEnd(i int) int {
	for l := range languages {
		t := &spanTable[l]
		k := firstOf(s.ahead(i), t.ends)
		if k == 0 {
			continue
		}
		for j := i + k; j < i+k+4 && j < len(s.toks); j++ {
			if found, ok := sayingAt(s.ahead(j)); ok && found.kind == monthKind {
				return s.add(item{meaning: meaning{monthEndKind, found.n}}, i, j+len(found.words)-i)
			}
			if firstOf(s.ahead(j), t.month) > 0 {
				return s.add(item{meaning: meaning{monthEndKind, 0}}, i, j+1-i)
			}
			if month := months[l][s.wordAt(j)]; month > 0 && !(s.toks[j].text == "may" && j == i+k) {
				year, n := s.yearAt(j + 1)
				date := datedIn(year, month, 1)
				date.meaning = meaning{monthEndKind, 0}
				return s.add(date, i, j+1+n-i)
			}
			if !t.fillers[s.wordAt(j)] {
				break
			}
		}
	}
	return 0
}
