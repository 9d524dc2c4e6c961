package site_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

func TestZone(t *testing.T) {
	for file, want := range map[string]string{
		"site: x": "UTC", "site: x\ntimezone: Europe/Brussels": "Europe/Brussels", "site: x\ntimezone:": "UTC", "site: x\ntimezone: ' America/New_York '": "America/New_York",
	} {
		s, err := site.Load("x.yaml", []byte(file))
		if err != nil || s.Zone().String() != want {
			t.Errorf("%q: %v, %v", file, s, err)
		}
	}
	for _, name := range []string{"Mars/Olympus", "Local", "../etc/passwd", "''", "[UTC]"} {
		if _, err := site.Load("x.yaml", []byte("site: x\ntimezone: "+name)); err == nil || !strings.Contains(err.Error(), "x.yaml:2") {
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
