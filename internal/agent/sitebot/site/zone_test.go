package site_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

func TestZone(t *testing.T) {
	for file, want := range map[string]string{
		"site: x": "UTC", "site: x\ntimezone: Europe/Brussels": "Europe/Brussels", "site: x\ntimezone:": "UTC",
		"site: x\ntimezone: ' America/New_York '": "America/New_York",
	} {
		s, err := site.Load("x.yaml", []byte(file))
		if err != nil || s.Zone().String() != want {
			t.Errorf("%q: %v, %v", file, s, err)
		}
	}
	for _, name := range []string{"Mars/Olympus", "Local", "../etc/passwd", "''", "[UTC]"} {
		if _, err := site.Load("x.yaml", []byte("site: x\ntimezone: "+name)); err == nil ||
			!strings.Contains(err.Error(), "x.yaml:2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMonthFirst(t *testing.T) {
	for _, tc := range []struct {
		locale, requested string
		want              bool
	}{
		{"en", "", false},
		{"en-US", "", true},
		{"en-US", "en-GB", false},
		{"en-US", "fr", false},
		{"fr", "en-US", true},
		{"fr", "en_us", true},
		{"fr", "en-Latn-US", true},
		{"fr", "es-US", false},
		{"en-US", "??", true},
	} {
		if got := (&site.Site{Locale: tc.locale}).MonthFirst(tc.requested); got != tc.want {
			t.Errorf("%s, %s: %v", tc.locale, tc.requested, got)
		}
	}
}

// TestRegion checks the country of phone numbers: of the tag, else of the zone, and none that is only guessed.
func TestRegion(t *testing.T) {
	for file, want := range map[string]string{
		"": "", "language: fr": "", "language: fr-BE": "BE", "language: pt_br": "BR", "language: zh-Hant-TW": "TW",
		"timezone: UTC": "", "timezone: Europe/Brussels": "BE", "timezone: Europe/London": "GB",
		"timezone: America/New_York": "US", "timezone: Europe/Paris": "FR", "timezone: Etc/GMT-2": "",
		"language: en-GB\ntimezone: Europe/Brussels": "GB",
	} {
		s, err := site.Load("x.yaml", []byte("site: x\n"+file))
		if err != nil || s.Region != want {
			t.Errorf("%q: %v, %v", file, s, err)
		}
	}
}

// TestNegates checks words that cancel a value next to them, and words that only look like it.
func TestNegates(t *testing.T) {
	for text, want := range map[string][2]bool{
		"please do not": {true, false}, "not": {true, false}, "knot": {}, "": {}, "en lugar de": {true, false},
		"lugar de":            {},
		"there is no problem": {false, true}, "no meu": {false, true}, "in plaats van": {true, false},
	} {
		if cancels, harmless := site.Negates(strings.Fields(text)); [2]bool{cancels, harmless} != want {
			t.Errorf("%q: %t, %t", text, cancels, harmless)
		}
	}
}
