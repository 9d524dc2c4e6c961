package grader

import (
	"fmt"
	"strings"
	"time"
)

// dateFormats are tried when an author names no format. An ambiguous date such as 01/02/2026 is read as American, month
// first.
func dateFormats() []string {
	return []string{
		"YYYY-MM-DDTHH:mm:ssZ", "YYYY-MM-DDTHH:mm:ss", "YYYY-MM-DD", "DD-MMM-YYYY",
		"MM/DD/YYYY", "DD/MM/YYYY", "MM-DD-YYYY", "DD-MM-YYYY",
	}
}

// dateLayout translates a format made of YYYY, MMMM, MMM, MM, M, DD, D, HH, mm, ss and Z to a layout of package time.
func dateLayout(format string) (layout string, err error) {
	tokens := []struct{ token, layout string }{ // longer ones first
		{"YYYY", "2006"},
		{"MMMM", "January"},
		{"MMM", "Jan"},
		{"MM", "01"},
		{"M", "1"},
		{"DD", "02"},
		{"D", "2"},
		{"HH", "15"},
		{"mm", "04"},
		{"ss", "05"},
		{"Z", "Z07:00"},
		{"T", "T"},
	}
	var b strings.Builder
next:
	for rest := format; rest != ""; {
		for _, t := range tokens {
			if after, ok := strings.CutPrefix(rest, t.token); ok {
				b.WriteString(t.layout)
				rest = after
				continue next
			}
		}
		if c := rest[0]; !strings.ContainsRune(" -/.,:", rune(c)) {
			return "", fmt.Errorf("unknown part %q of the date format %q", rest, format)
		}
		b.WriteByte(rest[0])
		rest = rest[1:]
	}
	return b.String(), nil
}

// parseDate returns the calendar day that a text names. It ignores the time and the zone.
func parseDate(text string, layouts []string) (day string, ok bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return t.Format(time.DateOnly), true
		}
	}
	return "", false
}
