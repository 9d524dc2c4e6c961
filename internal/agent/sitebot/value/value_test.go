package value_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/value"
)

// wednesday is the today of the tables.
var wednesday = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)

// TestDate holds what a message says of a day, on Wednesday 25 November 2026. A value that begins with ! is a refusal.
func TestDate(t *testing.T) {
	for text, want := range map[string]string{
		// ISO and figures
		"2027-03-14": "2027-03-14", "on 2027-03-14, please": "2027-03-14", "2027-03-14T10:00": "2027-03-14", "2027/03/14": "2027-03-14", "2027-02-30": "!no_such",
		"2027-13-01": "!no_such", "2026-11-25": "2026-11-25", "2026-11-24": "!past", "How about 14/03/2027?": "2027-03-14", "03/14/2027": "2027-03-14",
		"03/04/2027": "2027-04-03", "3.4.2027": "2027-04-03", "3-4-2027": "2027-04-03", "03.04.27": "2027-04-03", "14 03 2027": "2027-03-14", "32/13/2027": "!no_such",
		"31/4/2027": "!no_such", "12.3.": "2027-03-12", "12.3. um 10": "2027-03-12", "am 12.3": "2027-03-12", "am 12.3. bitte": "2027-03-12", "12/3": "2027-03-12",
		"3/12": "2026-12-03", "12/25": "2026-12-25", "29/2": "2028-02-29", "25/11": "2026-11-25", "31/4": "!no_such",
		"we are open 24/7": "", "It costs 12.30 today": "2026-11-25", "um 10.30 Uhr": "", "version 1.2.3": "", "10.0.0.12": "", "12:30": "", "3.5%": "", "9-17": "",
		"06.12.34.56.78": "", "06-12-34-56-78": "", "v12.3.2027": "", "12.3.2027%": "", "1,250": "", "33.3.": "", "We are 50": "", "€12/3": "",
		"12/3 or 13/3": "!several", "12.-14.3.2027": "!several", "2026-12-01/2026-12-05": "", "12-Mar-2027": "2027-03-12",
		// by name
		"12 March": "2027-03-12", "March 12th, 2027 please": "2027-03-12", "le 1er mars": "2027-03-01", "el 12 de marzo de 2027": "2027-03-12", "am 12. März": "2027-03-12",
		"12. Maerz 2027": "2027-03-12", "29 February": "2028-02-29", "29 February 2027": "!no_such", "31 April": "!no_such", "12 mei 2027": "2027-03-12x",
		"Sept 3": "2027-09-03", "3 de dezembro": "2026-12-03", "il 3 dicembre": "2026-12-03", "l'8 marzo": "2027-03-08", "1º de maio": "2027-05-01", "25 November": "2026-11-25",
		"24 November": "2027-11-24", "24 November 2026": "!past", "the third of March": "2027-03-03", "am ersten Mai": "2027-05-01", "le deux mai": "2027-05-02",
		"dos de mayo": "2027-05-02", "drie december": "2026-12-03", "twenty-first of March": "2027-03-21", "March the 3rd": "2027-03-03", "May 3": "2027-05-03",
		"we may need 3 seats": "", "I may 3": "", "March": "", "in March": "", "12 March next year": "2027-03-12", "2 December next year": "2027-12-02",
		"le 3 mars de l'année prochaine": "2027-03-03", "3 or 4 March": "!several", "3-5 March": "!several", "3. oder 4. März": "!several", "March 3 or 4": "!several",
		"du 3 au 5 mars": "!several", "12 March at 10": "2027-03-12", "12 March 2027 10:00": "2027-03-12", "March 3, 2027": "2027-03-03", "May 5th at 10 am": "2027-05-05",
		"12 March or 10 am": "2027-03-12", "12 March or 13 April": "!several", "12 March, I mean 12/3": "2027-03-12", "one may ask": "", "due may vary": "",
		// from one day to another: two different days, so the visitor is asked which
		"10–12 March": "!several", "March 10-12": "!several", "from 10 to 12 March": "!several", "10. bis 12. März": "!several", "vom 10. bis zum 12. März": "!several",
		"bis 12. März": "2027-03-12", "bis zum 12. März": "2027-03-12", "del 10 al 12 de marzo": "!several", "de 10 a 12 de marzo": "!several", "dal 10 al 12 marzo": "!several",
		"de 10 a 12 de março": "!several", "du 10 au 12 mars": "!several", "de 10 à 12 mars": "!several", "van 10 tot 12 maart": "!several", "12 mars à 10": "2027-03-12",
		"Somos 10 a 12 de março": "!several", "12 de março a 10 euros": "2027-03-12",
		"between Monday and Wednesday": "!several", "Monday to Wednesday": "!several", "Mon-Wed": "!several", "Mon – Wed": "!several", "Sat-Sun": "!several", "Fri/Sat": "!several",
		"Mon": "", "mon-ami": "", "entre lundi et mercredi": "!several", "entre lunes y miércoles": "!several", "de lunes a miércoles": "!several", "zwischen Montag und Mittwoch": "!several",
		"Montag bis Mittwoch": "!several", "tra lunedì e mercoledì": "!several", "entre segunda e quarta": "!several", "de segunda a quarta": "!several", "segunda à sexta": "!several",
		"tussen maandag en woensdag": "!several", "a quarta vez": "", "é a quarta": "",
		// a day of the month
		"the 3rd": "2026-12-03", "on the 25th": "2026-11-25", "the 31st": "2026-12-31", "the 32nd": "", "the 3rd floor": "", "our 2nd office": "", "le 3": "2026-12-03",
		"am 3.": "2026-12-03", "den 30. bitte": "2026-11-30", "I am 30.": "", "op de 3e": "2026-12-03", "el día 3": "2026-12-03", "no dia 3": "2026-12-03", "il 3": "2026-12-03",
		"le 3 à 10h": "2026-12-03", "der 3. Stock": "", "el 3%": "", "le 3 ou le 4": "!several", "le 3 ou 4": "!several", "the 3rd or the 4th": "!several",
		"the 15th of next month": "2026-12-15", "le 28 du mois prochain": "2026-12-28", "am 15. des nächsten Monats": "2026-12-15", "the 3rd works for us": "2026-12-03",
		// words
		"today": "2026-11-25", "Tomorrow at ten": "2026-11-26", "the day after tomorrow": "2026-11-27", "aujourd’hui": "2026-11-25", "demain": "2026-11-26", "après-demain": "2026-11-27",
		"hoy": "2026-11-25", "mañana": "2026-11-26", "pasado mañana": "2026-11-27", "mañana por la mañana": "2026-11-26", "por la mañana": "", "heute": "2026-11-25",
		"morgen": "2026-11-26", "übermorgen": "2026-11-27", "guten Morgen": "", "heute Morgen": "2026-11-25", "Montagmorgen": "2026-11-30", "Montag Morgen": "2026-11-30",
		"oggi": "2026-11-25", "domani": "2026-11-26", "dopodomani": "2026-11-27", "hoje": "2026-11-25", "amanhã": "2026-11-26", "depois de amanhã": "2026-11-27",
		"vandaag": "2026-11-25", "overmorgen": "2026-11-27", "MAÑANA": "2026-11-26", "amanha": "2026-11-26", "yesterday": "!past", "hier": "!past", "gestern": "!past",
		// days of the week
		"Monday": "2026-11-30", "Wednesday": "2026-12-02", "next Thursday": "2026-11-26", "lundi vers 10 h": "2026-11-30", "el lunes": "2026-11-30", "Montag": "2026-11-30",
		"lunedì": "2026-11-30", "segunda-feira": "2026-11-30", "na segunda": "2026-11-30", "a segunda vez": "", "la segunda opción": "", "maandag": "2026-11-30",
		"terça-feira": "2026-12-01", "sábado": "2026-11-28", "no sábado": "2026-11-28", "last Monday": "!past", "lundi dernier": "!past", "el lunes pasado": "!past", "every Monday": "",
		"Mondays": "", "los lunes": "", "Monday 30 November": "2026-11-30", "Monday, 14 December": "2026-12-14", "Monday 15 December": "!several", "Monday or Tuesday": "!several",
		"Tuesday next week": "2026-12-01", "Thursday next week": "2026-12-03", "next week, on Monday": "2026-11-30", "lundi de la semaine prochaine": "2026-11-30",
		"nächste Woche Freitag": "2026-12-04", "Monday the 7th": "2026-12-07", "tomorrow, Thursday": "2026-11-26", "Monday this week": "!past", "the first Monday in March": "",
		// so many days from now
		"in 3 days": "2026-11-28", "in three weeks": "2026-12-16", "in a week": "2026-12-02", "dans deux semaines": "2026-12-09", "dans 10 jours": "2026-12-05", "d'ici trois jours": "2026-11-28",
		"dentro de dos semanas": "2026-12-09", "en 3 días": "2026-11-28", "in zwei Wochen": "2026-12-09", "in einer Woche": "2026-12-02", "tra due settimane": "2026-12-09", "fra 3 giorni": "2026-11-28",
		"daqui a duas semanas": "2026-12-09", "em 3 dias": "2026-11-28", "over twee weken": "2026-12-09", "over 3 dagen": "2026-11-28", "over 3 days of data": "", "heute in zwei Wochen": "2026-12-09",
		"two weeks from now": "2026-12-09", "3 days ago": "!past", "il y a 3 jours": "!past", "vor zwei Wochen": "!past", "in einundzwanzig Tagen": "2026-12-16", "in twenty-one days": "2026-12-16",
		"dans vingt et un jours": "2026-12-16", "en veintiún días": "2026-12-16", "over eenentwintig dagen": "2026-12-16", "in 3 steps": "",
		// spans
		"this week": "2026-11-25/2026-11-29", "next week": "2026-11-30/2026-12-06", "la semaine prochaine": "2026-11-30/2026-12-06", "la semana que viene": "2026-11-30/2026-12-06",
		"nächste Woche": "2026-11-30/2026-12-06", "la settimana prossima": "2026-11-30/2026-12-06", "semana que vem": "2026-11-30/2026-12-06", "volgende week": "2026-11-30/2026-12-06",
		"this weekend": "2026-11-28/2026-11-29", "next weekend": "2026-12-05/2026-12-06", "le week-end prochain": "2026-12-05/2026-12-06", "este fin de semana": "2026-11-28/2026-11-29",
		"este mes": "2026-11-25/2026-11-30", "next month": "2026-12-01/2026-12-31", "le mois prochain": "2026-12-01/2026-12-31", "volgende maand": "2026-12-01/2026-12-31",
		"end of the month": "2026-11-25/2026-11-30", "end of next month": "2026-12-25/2026-12-31", "fin mars": "2027-03-25/2027-03-31", "Ende März 2027": "2027-03-25/2027-03-31",
		"a fines de mes": "2026-11-25/2026-11-30", "fine marzo": "2027-03-25/2027-03-31", "no fim do mês": "2026-11-25/2026-11-30", "eind februari": "2027-02-22/2027-02-28",
		"last week": "!past", "next week or next month": "!several", "tomorrow or next week": "!several", "this week, tomorrow": "2026-11-26", "fine, this month": "2026-11-25/2026-11-30",
		// any day
		"any day": "any", "as soon as possible": "any", "ASAP": "any", "dès que possible": "any", "n'importe quel jour": "any", "lo antes posible": "any", "so bald wie möglich": "any",
		"qualsiasi giorno": "any", "o mais rápido possível": "any", "zo snel mogelijk": "any", "any day next week": "2026-11-30/2026-12-06", "asap, ideally Monday": "2026-11-30",
		"any day but Monday": "!denied", "any day except Monday": "!denied", "maakt niet uit": "any",
		// denied days
		"not Monday": "!denied", "Thursday wont work": "!denied", "go to 5th and Main": "", "on 5th Avenue": "", "on the 5th and Monday": "!several", "not on Monday": "!denied", "Monday doesn't work": "!denied", "I can’t on Monday": "!denied", "pas lundi": "!denied", "lundi ne marche pas": "!denied",
		"nicht am Montag": "!denied", "Montag geht nicht": "!denied", "el lunes no puedo": "!denied", "no el lunes": "!denied", "lunedì non posso": "!denied", "segunda-feira não dá": "!denied",
		"niet maandag": "!denied", "maandag kan niet": "!denied", "not Monday, Tuesday": "2026-12-01", "not Monday but Tuesday": "2026-12-01", "Monday, not Tuesday": "2026-11-30",
		"Monday not Tuesday": "2026-11-30", "Tuesday instead of Monday": "2026-12-01", "No, Monday": "2026-11-30", "why not Monday": "2026-11-30", "pourquoi pas lundi": "2026-11-30",
		"por qué no el lunes": "2026-11-30", "no problem Monday": "2026-11-30", "Monday no problem": "2026-11-30", "Montag nicht vor 10 Uhr": "2026-11-30", "sauf lundi": "!denied",
		"not next week": "!denied", "mardi plutôt que lundi": "2026-12-01", "Dienstag statt Montag": "2026-12-01",
		"": "", "hello": "", "what does it cost": "",
	} {
		if text == "12 mei 2027" {
			want = "2027-05-12"
		}
		if text == "2026-12-01/2026-12-05" {
			want = ""
		}
		found, why := value.In(text).Date(value.Calendar{Today: wednesday})
		got := found.Value
		if why != "" {
			got = "!" + string(why)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestEmail holds which address a message gives (2.15).
func TestEmail(t *testing.T) {
	long := strings.Repeat("x", 65) + "@x.com"
	for text, want := range map[string]string{
		"write to Ada.L@Example.COM please": "Ada.L@example.com", "<a@b.co>": "a@b.co", "a@b": "", "(ada@x.com).": "ada@x.com", `"@x.com`: "", "": "", "@x.com": "",
		"mailto:a@x.example": "a@x.example", "mail=a@x.example": "a@x.example", "邮箱a@x.example": "a@x.example", "a@x.example!": "a@x.example",
		"a@b..cc": "", "a..b@x.com": "", ".a@x.com": "", "a@-x.com": "", "a@x-.com": "", "a@x.c0m": "", "a@x.1": "", "a@b@c.com": "", long: "", "a@x.com_y": "", "a@x.com/y": "", "a@x.com-": "", "a@x.com…": "a@x.com", "a@xn--a.com": "",
		"\"Ada\" <a@x.com>": "a@x.com", "a@x.com|b@y.com": "b@y.com", "«a@x.com»": "a@x.com", "写给a.b@x.com": "a.b@x.com", "a@x_y.com": "",
		"a@" + strings.Repeat("x", 64) + ".com": "",
		"ann@bücher.example":                    "ann@xn--bcher-kva.example", "ann@BÜCHER.example": "ann@xn--bcher-kva.example",
		"a+b_c@x.co.uk": "a+b_c@x.co.uk", "a@xn--bcher-kva.xn--p1ai": "a@xn--bcher-kva.xn--p1ai",
		"it is a@x.com or rather b@x.com": "b@x.com", "a@x.com, b@x.com": "b@x.com", "a@x.com,b@x.com": "b@x.com",
		"not a@x.com, use b@x.com": "b@x.com", "use b@x.com, not a@x.com": "b@x.com", "b@x.com instead of a@x.com": "b@x.com",
		"instead of my old a@x.com take b@x.com": "b@x.com", "not the one I had before a@x.com": "a@x.com", "No, b@x.com": "b@x.com",
		"pas a@x.com mais b@x.com": "b@x.com", "b@x.com au lieu de a@x.com": "b@x.com", "nicht a@x.com": "", "b@x.com statt a@x.com": "b@x.com",
		"no a@x.com, b@x.com": "b@x.com", "b@x.com en vez de a@x.com": "b@x.com", "non a@x.com": "", "b@x.com invece di a@x.com": "b@x.com",
		"não a@x.com": "", "b@x.com em vez de a@x.com": "b@x.com", "niet a@x.com": "", "b@x.com in plaats van a@x.com": "b@x.com",
		"n'est plus a@x.com": "", "a@x.com plus b@x.com": "b@x.com", "no meu email a@x.com": "a@x.com", "plutôt que a@x.com": "", "anstelle von a@x.com": "",
		"invece della vecchia a@x.com": "", "em lugar do meu velho a@x.com": "", "nunca a@x.com": "", "geen a@x.com": "", "never write to a@x.com": "",
		"I don't use a@x.com": "", "I don’t use a@x.com": "",
	} {
		if got, _ := value.In(text).Email(); got.Value != want {
			t.Errorf("%q: %q, want %q", text, got.Value, want)
		}
	}
}

// TestPhone holds which numbers are found, and how they are kept.
func TestPhone(t *testing.T) {
	for text, want := range map[string]string{
		"call 06 12 34 56 78": "0612345678", "Is it +33 (0)6 12-34-56-78?": "+330612345678", "(030) 123-4567": "0301234567", "is it 0800 123 456?": "0800123456",
		"2027-03-14": "", "14/03/2027": "", "14 03 2027": "", "32/13/2027": "", "123456": "", "1234567": "1234567", "123456789012345": "123456789012345", "1234567890123456": "",
		"room 12": "", "06.12.34.56.78": "0612345678", "06-12-34-56-78": "0612345678", "tel:+3212345678": "+3212345678", "AB1234567": "", "€1234567": "", "1 250 000 €": "",
		"on 12.3.2027 call 0612345678": "0612345678", "0612345678 or 0687654321": "0612345678", "06 12 34 56 78 / 06 98 76 54 32": "0612345678",
		"030 / 1234567": "0301234567", "a1234567@x.com": "",
	} {
		m := value.In(text)
		m.Email()
		m.Date(value.Calendar{Today: wednesday})
		if got, _ := m.Phone(); got.Value != want {
			t.Errorf("%q: %q, want %q", text, got.Value, want)
		}
	}
}

// Figures are read month first where people write them so, and the other way round where only that is a day.
func TestMonthFirst(t *testing.T) {
	for text, want := range map[string]string{
		"3/4/2027": "2027-03-04", "13/4/2027": "2027-04-13", "3/4": "2027-03-04", "2027-04-03": "2027-04-03", "12/3": "2026-12-03", "3-4-27": "2027-03-04", "am 3.4.": "2027-04-03",
	} {
		if got, _ := value.In(text).Date(value.Calendar{Today: wednesday, MonthFirst: true}); got.Value != want {
			t.Errorf("%q: %q, want %q", text, got.Value, want)
		}
	}
}

// What one search takes, no later one sees.
func TestTaken(t *testing.T) {
	m := value.In("Ada, 2026-12-03@x.com on 12 March at 0612345678 please")
	m.Email()
	m.Date(value.Calendar{Today: wednesday})
	m.Phone()
	if got := strings.Join(m.Rest(), "|"); got != "Ada, | on | at | please" {
		t.Errorf("%q", got)
	}
}
