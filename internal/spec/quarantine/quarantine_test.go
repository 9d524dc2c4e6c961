package quarantine

import (
	"testing"
	"time"
)

func TestTerms(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 30, 0, 0, time.FixedZone("", -2*3600)) // 2 March in UTC
	for _, c := range []struct {
		until                string
		valid, begins, holds bool
	}{
		{"2026-03-01", true, false, false},
		{"2026-03-02", true, false, false},
		{"2026-03-03", true, true, true},
		{"2026-05-31", true, true, true},
		{"2026-06-01", false, false, true},
		{"2026-3-9", false, false, false},
		{"tomorrow", false, false, false},
		{"", false, false, false},
	} {
		terms := Terms{Owner: "ada", Until: c.until, Reason: "flaky backend"}
		if got := terms.Check(now) == nil; got != c.valid {
			t.Errorf("%q: valid %t: %v", c.until, got, terms.Check(now))
		}
		if got := terms.Begins(now) == nil; got != c.begins {
			t.Errorf("%q: begins %t: %v", c.until, got, terms.Begins(now))
		}
		if got := terms.Active(now); got != c.holds {
			t.Errorf("%q: holds %t", c.until, got)
		}
	}
	for _, lacking := range []Terms{
		{Until: "2026-03-09", Reason: "x"},
		{Until: "2026-03-09", Owner: "x"},
		{Owner: " ", Until: "2026-03-09", Reason: "x"},
	} {
		if lacking.Check(now) == nil {
			t.Errorf("%+v was accepted", lacking)
		}
	}
}
