package value_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/value"
)

// negations are two phrases of each language that cancel what follows.
var negations = [][]string{
	{"please do not use", "instead of"}, {"n'utilisez jamais", "au lieu de"}, {"no escriba a", "en vez de"},
	{"bitte nicht", "anstelle von"}, {"non scriva a", "invece di"}, {"não escreva para", "em vez de"},
	{"schrijf niet naar", "in plaats van"},
}

// TestDateOracle checks days in random forms and sentences against the day that they were written from.
func TestDateOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := value.Calendar{
			Today: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 3000).Draw(t, "today")),
		}
		c.MonthFirst = rapid.Bool().Draw(t, "month first")
		numeric := []string{"2/1/2006", "02.01.2006", "2-1-2006", "02/01/06", "02 01 2006"}
		if c.MonthFirst {
			numeric = []string{"1/2/2006", "01.02.2006", "1-2-2006", "01/02/06", "01 02 2006"}
		}
		forms := append(numeric, "2006-01-02", "2006/01/02", "2006-01-02T10:00")
		frame := rapid.SampledFrom([]string{
			"", "I would like % for our team", "ce serait bien le %, merci", "uns passt % gut", "%!", "(%)",
			"ok, %, 10:30", "是%",
		}).Draw(t, "frame")
		write := func(name string) (said string, day time.Time) {
			day = c.Today.AddDate(0, 0, rapid.IntRange(-300, 3000).Draw(t, name))
			form := day.Format(rapid.SampledFrom(forms).Draw(t, name+" form"))
			if said = strings.ReplaceAll(frame, "%", " "+form); said == "" {
				said = form
			}
			return said, day
		}
		read := func(message string) string {
			found, why := in(message).Date(c)
			if why != "" {
				return "!" + string(why)
			}
			return found.Value
		}
		one, day := write("day")
		want := day.Format(time.DateOnly)
		if day.Before(c.Today) {
			want = "!past"
		}
		if got := read(one); got != want {
			t.Fatalf("%q on %s: %q, want %q", one, c.Today.Format(time.DateOnly), got, want)
		}
		two, other := write("other")
		if got := read(one + " / " + two); !day.Equal(other) && want != "!past" && !other.Before(c.Today) &&
			got != "!several" {
			t.Fatalf("%q and %q: %q", one, two, got)
		}
		instead := rapid.SampledFrom(negations).Draw(t, "language")[1]
		if got := read(instead + " " + day.Format("2006-01-02")); got != "!denied" {
			t.Fatalf("%q before %v: %q", instead, day, got)
		}
	})
}

// TestEmailOracle checks messages of good and bad addresses, with negations at a distance, against what they were built
// from.
func TestEmailOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		negations := rapid.SampledFrom(negations).Draw(t, "language")
		want := ""
		var message []string
		for range rapid.IntRange(1, 4).Draw(t, "addresses") {
			address, kept := drawAddress(t)
			between := rapid.IntRange(0, 4).Draw(t, "between")
			denial := rapid.SampledFrom(append(negations, "")).Draw(t, "denial")
			if denial != "" {
				message = append(message, denial)
				for range between {
					message = append(message, "Zeta")
				}
				// Words of the phrase behind its negation count in the distance.
				tail := map[string]int{
					"please do not use": 1, "no escriba a": 2, "non scriva a": 2, "não escreva para": 2,
					"schrijf niet naar": 1,
				}[denial]
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
		if got, _ := in(text).Email(); got.Value != want {
			t.Fatalf("%q: %q, want %q", text, got.Value, want)
		}
	})
}

// drawAddress returns an address and what is to be kept of it; nothing for one that is none.
func drawAddress(t *rapid.T) (address, want string) {
	local := rapid.StringMatching(`[A-Za-z0-9_+-]{1,12}(\.[a-z0-9!#$%&*/?^~]{1,5})?`).Draw(t, "local")
	label := rapid.StringMatching(`[a-z0-9]([a-z0-9]{0,6}[a-z0-9])?`).Draw(t, "label")
	last := rapid.SampledFrom([]string{"com", "example", "fr", "museum"}).Draw(t, "last")
	before := rapid.SampledFrom([]string{
		"", "<", "(", "mailto:", "mail=", "e-mail:", "邮箱", "«", "“", "к",
	}).Draw(t, "before")
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
