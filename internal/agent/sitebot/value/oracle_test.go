package value_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/value"
)

// tongue is how one language says what the oracle draws. It shares nothing with the tables of the package.
type tongue struct {
	months, weekdays, numbers                       []string
	today, tomorrow, after                          string
	inDays, inWeeks                                 string // with %s for the number
	dated, datedYear                                string // with %d, the month and the year
	the                                             string // with %d: a day of the month
	thisWeek, nextWeek, nextMonth                   string
	free, not, frame, notMail, instead, mailSpacing string
}

// tongues are the seven languages. Frames and fillers hold no word that says anything of a day.
var tongues = map[string]tongue{
	"en": {
		strings.Fields("January February March April May June July August September October November December"),
		strings.Fields("Sunday Monday Tuesday Wednesday Thursday Friday Saturday"), strings.Fields("zero one two three four five six seven eight nine ten eleven twelve"),
		"today", "tomorrow", "the day after tomorrow", "in %s days", "in %s weeks", "%d %s", "%d %s %d", "on the %dth", "this week", "next week", "next month",
		"as soon as possible", "not %s", "I would like %s for our team", "please do not use", "instead of", "my old",
	},
	"fr": {
		strings.Fields("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
		strings.Fields("dimanche lundi mardi mercredi jeudi vendredi samedi"), strings.Fields("zéro un deux trois quatre cinq six sept huit neuf dix onze douze"),
		"aujourd'hui", "demain", "après-demain", "dans %s jours", "dans %s semaines", "le %d %s", "le %d %s %d", "le %d", "cette semaine", "la semaine prochaine",
		"le mois prochain", "dès que possible", "pas %s", "ce serait bien %s pour nous", "n'utilisez jamais", "au lieu de", "mon ancienne",
	},
	"es": {
		strings.Fields("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
		strings.Fields("domingo lunes martes miércoles jueves viernes sábado"), strings.Fields("cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce"),
		"hoy", "mañana", "pasado mañana", "dentro de %s días", "en %s semanas", "el %d de %s", "el %d de %s de %d", "el día %d", "esta semana", "la próxima semana",
		"el próximo mes", "lo antes posible", "no el %s", "nos viene bien %s para todos", "no escriba a", "en vez de", "mi vieja",
	},
	"de": {
		strings.Fields("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
		strings.Fields("Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag"), strings.Fields("null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"),
		"heute", "morgen", "übermorgen", "in %s Tagen", "in %s Wochen", "am %d. %s", "am %d. %s %d", "am %d.", "diese Woche", "nächste Woche", "nächsten Monat",
		"so bald wie möglich", "nicht am %s", "uns passt %s gut", "bitte nicht", "anstelle von", "meine alte",
	},
	"it": {
		strings.Fields("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
		strings.Fields("domenica lunedì martedì mercoledì giovedì venerdì sabato"), strings.Fields("zero uno due tre quattro cinque sei sette otto nove dieci undici dodici"),
		"oggi", "domani", "dopodomani", "tra %s giorni", "fra %s settimane", "il %d %s", "il %d %s %d", "il %d", "questa settimana", "la settimana prossima",
		"il mese prossimo", "il prima possibile", "non %s", "preferiremmo %s per il gruppo", "non scriva a", "invece di", "la mia vecchia",
	},
	"pt": {
		strings.Fields("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
		strings.Fields("domingo segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado"),
		strings.Fields("zero um dois três quatro cinco seis sete oito nove dez onze doze"), "hoje", "amanhã", "depois de amanhã", "em %s dias", "daqui a %s semanas",
		"%d de %s", "%d de %s de %d", "no dia %d", "esta semana", "na próxima semana", "no próximo mês", "o mais rápido possível", "não %s", "seria bom %s para nós",
		"não escreva para", "em vez de", "a minha antiga",
	},
	"nl": {
		strings.Fields("januari februari maart april mei juni juli augustus september oktober november december"),
		strings.Fields("zondag maandag dinsdag woensdag donderdag vrijdag zaterdag"), strings.Fields("nul een twee drie vier vijf zes zeven acht negen tien elf twaalf"),
		"vandaag", "morgen", "overmorgen", "over %s dagen", "over %s weken", "op %d %s", "op %d %s %d", "op de %de", "deze week", "volgende week", "volgende maand",
		"zo snel mogelijk", "niet %s", "ons past %s wel", "schrijf niet naar", "in plaats van", "mijn oude",
	},
}

var tongueNames = strings.Fields("en fr es de it pt nl")

// draw chooses one of the ways to speak of a day, and returns it with the value that the calendar gives, found by counting days one by one.
func (g tongue) draw(t *rapid.T, today time.Time) (said, want string) {
	iso := func(d time.Time) string { return d.Format("2006-01-02") }
	until := func(fits func(time.Time) bool, from int) time.Time {
		d := today.AddDate(0, 0, from)
		for !fits(d) {
			d = d.AddDate(0, 0, 1)
		}
		return d
	}
	n := rapid.IntRange(2, 12).Draw(t, "n")
	number := fmt.Sprint(n)
	if rapid.Bool().Draw(t, "word") {
		number = g.numbers[n]
	}
	day := today.AddDate(0, 0, rapid.IntRange(0, 365*5).Draw(t, "ahead"))
	year, month, dom := day.Date()
	monday := until(func(d time.Time) bool { return d.Weekday() == time.Monday }, 1)
	switch rapid.IntRange(0, 16).Draw(t, "form") {
	case 0:
		return g.today, iso(today)
	case 1:
		return g.tomorrow, iso(today.AddDate(0, 0, 1))
	case 2:
		return g.after, iso(today.AddDate(0, 0, 2))
	case 3:
		return fmt.Sprintf(g.inDays, number), iso(today.AddDate(0, 0, n))
	case 4:
		return fmt.Sprintf(g.inWeeks, number), iso(today.AddDate(0, 0, 7*n))
	case 5:
		w := rapid.IntRange(0, 6).Draw(t, "weekday")
		return g.weekdays[w], iso(until(func(d time.Time) bool { return int(d.Weekday()) == w }, 1))
	case 6:
		return fmt.Sprintf(g.dated, dom, g.months[month-1]), iso(until(func(d time.Time) bool { return d.Month() == month && d.Day() == dom }, 0))
	case 7:
		return fmt.Sprintf(g.datedYear, dom, g.months[month-1], year), iso(day)
	case 8:
		return iso(day), iso(day)
	case 9:
		return fmt.Sprintf("%d/%d/%d", dom, month, year), iso(day)
	case 10:
		return fmt.Sprintf("%02d.%02d.%d", dom, month, year), iso(day)
	case 11:
		dom = 4 + dom%17 // what is 4th and not 21st in English
		return fmt.Sprintf(g.the, dom), iso(until(func(d time.Time) bool { return d.Day() == dom }, 0))
	case 12:
		return g.nextWeek, iso(monday) + "/" + iso(monday.AddDate(0, 0, 6))
	case 13:
		sunday := until(func(d time.Time) bool { return d.Weekday() == time.Sunday }, 0)
		if sunday.Equal(today) {
			return g.thisWeek, iso(today)
		}
		return g.thisWeek, iso(today) + "/" + iso(sunday)
	case 14:
		first := until(func(d time.Time) bool { return d.Day() == 1 }, 1)
		last := first
		for last.AddDate(0, 0, 1).Month() == first.Month() {
			last = last.AddDate(0, 0, 1)
		}
		return g.nextMonth, iso(first) + "/" + iso(last)
	case 15:
		past := today.AddDate(0, 0, -rapid.IntRange(1, 2000).Draw(t, "ago"))
		return fmt.Sprintf(g.datedYear, past.Day(), g.months[past.Month()-1], past.Year()), "!past"
	}
	return g.free, "any"
}

// written is a text as somebody might type it: in capitals, without the marks on letters, or with marks that stand by themselves.
func written(t *rapid.T, text string) string {
	switch rapid.IntRange(0, 3).Draw(t, "typing") {
	case 1:
		return strings.ToUpper(text)
	case 2:
		return norm.NFD.String(text)
	case 3:
		return strings.Map(func(r rune) rune {
			if r >= 0x300 && r < 0x370 {
				return -1
			}
			return r
		}, norm.NFD.String(text))
	}
	return text
}

// said is what Date answers, in one text.
func said(message string, today time.Time) string {
	found, why := value.In(message).Date(value.Calendar{Today: today})
	if why != "" {
		return "!" + string(why)
	}
	return found.Value
}

// TestDateOracle compares days in random messages of seven languages with a calendar of its own.
func TestDateOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := tongues[rapid.SampledFrom(tongueNames).Draw(t, "language")]
		today := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 3000).Draw(t, "today"))
		one, want := g.draw(t, today)
		message := written(t, fmt.Sprintf(rapid.SampledFrom([]string{"%s", g.frame, "%s!", "ok, %s, 10:30"}).Draw(t, "frame"), one))
		if got := said(message, today); got != want {
			t.Fatalf("%q on %s: %q, want %q", message, today.Format(time.DateOnly), got, want)
		}
		// A second day that is another one leaves none; what is denied never counts.
		other, wanted := g.draw(t, today)
		single := len(want) == 10 && len(wanted) == 10 && one != g.thisWeek && other != g.thisWeek
		if got := said(one+" / "+other, today); single && want != wanted && got != "!several" {
			t.Fatalf("%q and %q on %s: %q", one, other, today.Format(time.DateOnly), got)
		}
		w := rapid.IntRange(0, 6).Draw(t, "denied")
		if got := said(written(t, fmt.Sprintf(g.not, g.weekdays[w])), today); got != "!denied" {
			t.Fatalf("denied %q: %q", fmt.Sprintf(g.not, g.weekdays[w]), got)
		}
	})
}

// TestEmailOracle builds messages of addresses whose fate is known: good and bad ones, and denials at a distance.
func TestEmailOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := tongues[rapid.SampledFrom(tongueNames).Draw(t, "language")]
		want := ""
		var message []string
		for range rapid.IntRange(1, 4).Draw(t, "addresses") {
			address, kept := drawAddress(t)
			between := rapid.IntRange(0, 4).Draw(t, "between")
			denial := rapid.SampledFrom([]string{"", g.notMail, g.instead}).Draw(t, "denial")
			if denial != "" {
				message = append(message, denial)
				for range between {
					message = append(message, "Zeta")
				}
				// The words of a denial behind its last denying one are part of the distance: what is near is gone, and what is far stays.
				tail := map[string]int{"please do not use": 1, "no escriba a": 2, "non scriva a": 2, "não escreva para": 2, "schrijf niet naar": 1}[denial]
				if tail+between < 3 {
					kept = ""
				}
			}
			message = append(message, address+rapid.SampledFrom([]string{",", ".", ";"}).Draw(t, "end"))
			if kept != "" {
				want = kept
			}
			if strings.HasPrefix(address, "!") {
				t.Fatal(address)
			}
		}
		text := strings.Join(message, " ")
		if got, _ := value.In(text).Email(); got.Value != want {
			t.Fatalf("%q: %q, want %q", text, got.Value, want)
		}
	})
}

// drawAddress returns an address and what is to be kept of it; nothing for one that is none.
func drawAddress(t *rapid.T) (address, want string) {
	local := rapid.StringMatching(`[A-Za-z0-9_+-]{1,12}(\.[a-z0-9!#$%&*/?^~]{1,5})?`).Draw(t, "local")
	label := rapid.StringMatching(`[a-z0-9]([a-z0-9]{0,6}[a-z0-9])?`).Draw(t, "label")
	last := rapid.SampledFrom([]string{"com", "example", "fr", "museum"}).Draw(t, "last")
	before := rapid.SampledFrom([]string{"", "<", "(", "mailto:", "mail=", "e-mail:", "邮箱", "«", "“", "к"}).Draw(t, "before")
	behind := rapid.SampledFrom([]string{"", ">", ")", "!", "»", "”", "…"}).Draw(t, "behind")
	domain := label + "." + last
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0:
		return before + local + "@" + label + behind, "" // one label
	case 1:
		return before + local + "@" + label + ".." + last + behind, ""
	case 2:
		return before + local + "@-" + domain + behind, ""
	case 3:
		return before + local + "@" + label + "-." + last + behind, ""
	case 4:
		return before + local + "@" + domain + "9" + behind, ""
	case 5:
		return before + local + "..x@" + domain + behind, ""
	case 6:
		return before + strings.Repeat("x", 65) + "@" + domain + behind, ""
	case 7:
		return before + local + "@" + strings.Repeat("y", 64) + "." + last + behind, ""
	case 8:
		return before + local + "@Bücher." + strings.ToUpper(last) + behind, local + "@xn--bcher-kva." + last
	case 9:
		return before + local + "@" + label + "_x." + last + behind, ""
	}
	return before + local + "@" + strings.ToUpper(label) + "." + last + behind, local + "@" + domain
}

// TestNothingIsFound holds that ordinary messages hold no values: a wrong one is worse than a question more.
func TestNothingIsFound(t *testing.T) {
	for _, message := range []string{
		"We are 50 people in 3 offices and use version 12.5 of it", "What does it cost for 1,250 seats?", "We may need more in March", "Our 2nd office has 3/4 of them",
		"It takes 10-12 weeks", "open 24/7", "Nous sommes 12 et nous gérons 3 bâtiments", "Wir sind 30. Was kostet das?", "Somos 15 personas en 2 plantas", "le 3ème étage",
		"We meet every Monday", "Unser Team trifft sich montags", "1/3 of the staff", "at 10.30", "Siamo in 8, il 20% usa Excel", "call me", "mar y sol", "so soon",
	} {
		m := value.In(message)
		if _, ok := m.Email(); ok {
			t.Errorf("%q holds an address", message)
		}
		if found, why := m.Date(value.Calendar{Today: wednesday}); found.Value != "" || why != "" {
			t.Errorf("%q holds the day %q %q", message, found.Value, why)
		}
		if found, ok := m.Phone(); ok {
			t.Errorf("%q holds the number %q", message, found.Value)
		}
	}
}
