package value_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/value"
)

// wednesday is the day on which messages are read.
var wednesday = time.Date(2026, 11, 25, 23, 30, 0, 0, time.FixedZone("west", -3*3600))

func in(message string) *value.Text { return value.In(message, site.Negates) }

// TestDate checks which day a message gives in figures: "!reason" for a refusal.
func TestDate(t *testing.T) {
	for text, want := range map[string]string{
		// with a year
		"le 14/03/2027 je ne peux pas": "!denied", "le 14/03/2027 ne me convient pas": "!denied",
		"am 14.03.2027 kann ich leider nicht": "!denied",

		"2027-03-14": "2027-03-14", "on 2027-03-14, please": "2027-03-14", "2027-03-14T10:00": "2027-03-14",
		"2027/03/14": "2027-03-14", "2027.3.4": "2027-03-04", "2027-02-30": "!no_such", "2027-13-01": "!no_such",
		"2026-11-25": "2026-11-25", "2026-11-24": "!past", "How about 14/03/2027?": "2027-03-14",
		"03/14/2027": "2027-03-14", "03/04/2027": "2027-04-03", "3.4.2027": "2027-04-03", "3-4-2027": "2027-04-03",
		"03.04.27": "2027-04-03", "14 03 2027": "2027-03-14", "32/13/2027": "!no_such", "31/4/2027": "!no_such",
		"le 14/03/2027 à 10h": "2027-03-14", "29/2/2027": "!no_such", "29/2/2028": "2028-02-29",
		"14/3/1999": "!past", "12/3/2027.": "2027-03-12", "(12/3/2027)": "2027-03-12",
		// without a year, and without words
		"12.3.": "2027-03-12", "12.3": "2027-03-12", "12/3": "2027-03-12", "3/12": "2026-12-03", "12/25": "2026-12-25",
		"29/2": "2028-02-29", "25/11": "2026-11-25", "31/4": "!no_such", "12/3, 10:30": "2027-03-12",
		"24/11": "2027-11-24", "12/3 0612345678": "2027-03-12",
		// with words figures may be something else, and words are for a model
		"am 12.3. bitte": "", "12/3 or 13/3": "", "on 12/3": "", "3/4 of them": "", "we are open 24/7": "", "24/7": "",
		"It costs 12.30 today": "", "version 1.2.3": "", "10.0.0.12": "", "12:30": "", "3.5%": "", "9-17": "",
		"06.12.34.56.78": "", "06-12-34-56-78": "", "v12.3.2027": "", "12.3.2027%": "", "1,250": "", "33.3.": "",
		"We are 50": "", "€12/3": "", "€12/3/2027": "", "12.30": "", "+44 20 7946 0958": "", "114 03 2027": "",
		"14 03 2027 56": "", "a=12.3.2027": "", "12 March": "", "Monday": "", "tomorrow": "", "": "", "hello": "",
		// several
		"12/3 13/3": "!several", "12/03/2027 or 13/03/2027": "!several", "12.-14.3.2027": "!several",
		"3-5/3/2027": "!several", "2026-12-01/2026-12-05": "!several", "12/3/2027–14/3/2027": "!several",
		"12/3/2027, I mean 2027-03-12": "2027-03-12", "24/11/2026, no, 26/11/2026": "2026-11-26",
		// negated
		"not 12/3/2027": "!denied", "nicht am 12.3.2027": "!denied", "pas le 12/03/2027": "!denied",
		"12/03/2027 geht nicht": "!denied", "I can’t on 12/03/2027": "!denied", "el 12/03/2027 no puedo": "!denied",
		"not 12/3/2027, 13/3/2027": "2027-03-13", "13/3/2027, not 12/3/2027": "2027-03-13",
		"13/3/2027 instead of 12/3/2027": "2027-03-13", "13/3/2027 statt 12/3/2027": "2027-03-13",
		"No, 12/3/2027": "2027-03-12", "12/3/2027 no problem": "2027-03-12", "12/3/2027. Not a big team": "2027-03-12",
		"not one of the four of us, 12/3/2027": "2027-03-12", "no dia 12/3/2027": "2027-03-12",
		"não posso 12/3/2027": "!denied", "niet op 2027-03-12": "!denied",
		"invece del 12/3/2027, 13/3/2027": "2027-03-13",
	} {
		found, why := in(text).Date(value.Calendar{Today: wednesday})
		got := found.Value
		if why != "" {
			got = "!" + string(why)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestMonthFirst checks the order of the United States, and the other one where only that is a day.
func TestMonthFirst(t *testing.T) {
	for text, want := range map[string]string{
		"3/4/2027": "2027-03-04", "13/4/2027": "2027-04-13", "3/4": "2027-03-04", "2027-04-03": "2027-04-03",
		"12/3": "2026-12-03", "3-4-27": "2027-03-04", "3.4.": "2027-04-03",
	} {
		if got, _ := in(text).Date(value.Calendar{Today: wednesday, MonthFirst: true}); got.Value != want {
			t.Errorf("%q: %q, want %q", text, got.Value, want)
		}
	}
}

// TestNormal checks what a model's answer is stored as.
func TestNormal(t *testing.T) {
	for answer, want := range map[string]string{
		"2026-12-01": "2026-12-01", " 2026-11-25 ": "2026-11-25", "any": "any", "2026-11-24": "!past",
		"2027-02-30": "!no_such", "2026-11-30/2026-12-06": "2026-11-30/2026-12-06",
		"2026-11-23/2026-11-29": "2026-11-25/2026-11-29", "2026-11-20/2026-11-25": "2026-11-25",
		"2026-11-01/2026-11-20": "!past", "2026-12-06/2026-11-30": "!unclear", "2026-12-01/2027-12-01": "!unclear",
		"2026-12-01/2026-12-31": "2026-12-01/2026-12-31", "past": "!past", "denied": "!denied", "several": "!several",
		"no_such": "!no_such", "unclear": "!unclear", "next Monday": "!unclear", "1/12/2026": "!unclear",
		"2026-12-1": "!unclear", "2026-12-01T10:00": "!unclear", "2026-12-01/2026-12-02/2026-12-03": "!unclear",
		"": "!unclear",
	} {
		day, why := value.Calendar{Today: wednesday}.Normal(answer)
		if why != "" {
			day += "!" + string(why)
		}
		if day != want {
			t.Errorf("%q: %q, want %q", answer, day, want)
		}
	}
}

// TestEmail checks which address a message gives.
func TestEmail(t *testing.T) {
	long := strings.Repeat("x", 65) + "@x.com"
	for text, want := range map[string]string{
		"write to Ada.L@Example.COM please": "Ada.L@example.com", "<a@b.co>": "a@b.co", "a@b": "",
		"(ada@x.com).": "ada@x.com", `"@x.com`: "", "": "", "@x.com": "", "mailto:a@x.example": "a@x.example",
		"mail=a@x.example": "a@x.example", "邮箱a@x.example": "a@x.example", "a@x.example!": "a@x.example", "a@b..cc": "",
		"a..b@x.com": "", ".a@x.com": "", "a@-x.com": "", "a@x-.com": "", "a@x.c0m": "", "a@x.1": "", "a@b@c.com": "",
		long: "", "a@x.com_y": "", "a@x.com/y": "", "a@x.com-": "", "a@x.com…": "a@x.com", "a@xn--a.com": "",
		"\"Ada\" <a@x.com>": "a@x.com", "a@x.com|b@y.com": "b@y.com", "«a@x.com»": "a@x.com",
		"写给a.b@x.com": "a.b@x.com", "a@x_y.com": "", "a@" + strings.Repeat("x", 64) + ".com": "",
		"ann@bücher.example": "ann@xn--bcher-kva.example",
		"ann@BÜCHER.example": "ann@xn--bcher-kva.example", "a+b_c@x.co.uk": "a+b_c@x.co.uk",
		"a@xn--bcher-kva.xn--p1ai": "a@xn--bcher-kva.xn--p1ai", "it is a@x.com or rather b@x.com": "b@x.com",
		"a@x.com, b@x.com": "b@x.com", "a@x.com,b@x.com": "b@x.com", "not a@x.com, use b@x.com": "b@x.com",
		"use b@x.com, not a@x.com": "b@x.com", "b@x.com instead of a@x.com": "b@x.com",
		"instead of my old a@x.com take b@x.com": "b@x.com", "not the one I had before a@x.com": "a@x.com",
		"No, b@x.com": "b@x.com", "pas a@x.com mais b@x.com": "b@x.com", "b@x.com au lieu de a@x.com": "b@x.com",
		"nicht a@x.com": "", "b@x.com statt a@x.com": "b@x.com", "no a@x.com, b@x.com": "b@x.com",
		"b@x.com en vez de a@x.com": "b@x.com", "non a@x.com": "", "b@x.com invece di a@x.com": "b@x.com",
		"não a@x.com": "", "b@x.com em vez de a@x.com": "b@x.com", "niet a@x.com": "",
		"b@x.com in plaats van a@x.com": "b@x.com", "n'est plus a@x.com": "", "a@x.com plus b@x.com": "b@x.com",
		"no meu email a@x.com": "a@x.com", "plutôt que a@x.com": "", "anstelle von a@x.com": "",
		"invece della vecchia a@x.com": "", "em lugar do meu velho a@x.com": "", "nunca a@x.com": "",
		"geen a@x.com": "", "never write to a@x.com": "", "I don't use a@x.com": "", "I don’t use a@x.com": "",
	} {
		if got, _ := in(text).Email(); got.Value != want {
			t.Errorf("%q: %q, want %q", text, got.Value, want)
		}
	}
}

// TestPhone checks which numbers are found in a region, and how they are stored.
func TestPhone(t *testing.T) {
	for region, numbers := range map[string]map[string]string{
		"": {
			"call 06 12 34 56 78": "0612345678", "Is it +33 (0)6 12-34-56-78?": "+330612345678",
			"(030) 123-4567": "0301234567", "is it 0800 123 456?": "0800123456", "2027-03-14": "", "14/03/2027": "",
			"14 03 2027": "", "32/13/2027": "", "123456": "", "1234567": "1234567",
			"123456789012345": "123456789012345", "not 06 12 34 56 78": "",
			"not 0612345678 but 0687654321": "0687654321", "phone no 0612345678": "0612345678",
			"me liga no 0612345678": "0612345678", "0612345678, not 0687654321": "0612345678",
			"do not call, 0612345678": "0612345678", "1234567890123456": "",
			"room 12": "", "06.12.34.56.78": "0612345678", "06-12-34-56-78": "0612345678",
			"tel:+3212345678": "+3212345678", "AB1234567": "", "€1234567": "", "1 250 000 €": "",
			"on 12.3.2027 call 0612345678": "0612345678", "0612345678 or 0687654321": "0612345678",
			"06 12 34 56 78 / 06 98 76 54 32": "0612345678", "030 / 1234567": "0301234567", "a1234567@x.com": "",
			"12.-14.3.2027": "", "3-5/3/2027": "", "+999 1234567": "", "+33 12": "",
		},
		"FR": {
			"06 12 34 56 78": "0612345678", "1250000": "", "we have 1 250 000 users": "", "0470 12 34 56": "0470123456",
			"+32 470 12 34 56": "+32470123456", "0033612345678": "0033612345678",
		},
		"BE": {"02 123 45 67": "021234567", "0470 12 34 56": "0470123456", "020 7946 0958": ""},
		"GB": {"020 7946 0958": "02079460958", "1250": ""},
		"US": {"(202) 555-0143": "2025550143", "+1 202 555 0143": "+12025550143", "123456789012": ""},
	} {
		for text, want := range numbers {
			m := in(text)
			m.Email()
			m.Date(value.Calendar{Today: wednesday})
			if got, _ := m.Phone(region); got.Value != want {
				t.Errorf("%s: %q: %q, want %q", region, text, got.Value, want)
			}
		}
	}
}

// TestTaken checks that a search does not see what an earlier one found.
func TestTaken(t *testing.T) {
	m := in("Ada, 2026-12-03@x.com on 12/3/2027 at 0612345678 please, ASAP")
	m.Email()
	m.Date(value.Calendar{Today: wednesday})
	m.Phone("")
	if from, to, ok := m.Find(" asap "); !ok {
		t.Error("words are not found in another case")
	} else {
		m.Remove(from, to)
	}
	for _, words := range []string{"asap", "12/3/2027", "", "?", " ", "Monday"} {
		if _, _, ok := m.Find(words); ok {
			t.Errorf("%q is found", words)
		}
	}
	if got := strings.Join(m.Rest(), "|"); got != "Ada, | on | at | please, |" || !m.HasWords() {
		t.Errorf("%q", got)
	}
}

// TestNothingIsFound checks that ordinary messages give no values: a wrong one is worse than another question.
func TestNothingIsFound(t *testing.T) {
	for _, message := range []string{
		"We are 50 people in 3 offices and use version 12.5 of it", "What does it cost for 1,250 seats?",
		"We may need more in March", "Our 2nd office has 3/4 of them", "It takes 10-12 weeks", "open 24/7",
		"Nous sommes 12 et nous gérons 3 bâtiments", "Wir sind 30. Was kostet das?", "Somos 15 personas en 2 plantas",
		"le 3ème étage", "We meet every Monday", "1/3 of the staff", "at 10.30", "Siamo in 8, il 20% usa Excel",
		"call me",
	} {
		m := in(message)
		if _, ok := m.Email(); ok {
			t.Errorf("%q has an address", message)
		}
		if found, why := m.Date(value.Calendar{Today: wednesday}); found.Value != "" || why != "" {
			t.Errorf("%q has the day %q %q", message, found.Value, why)
		}
		if found, ok := m.Phone(""); ok {
			t.Errorf("%q has the number %q", message, found.Value)
		}
	}
}
