// Package quarantine is about tests whose failures decide nothing for a while: they are run, graded and shown, and
// somebody owns them until a day.
package quarantine

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxDays is how many days ahead a quarantine may end: it is no way to switch a test off.
const MaxDays = 90

// Terms are those of one test's quarantine, with every target.
type Terms struct {
	// Owner is who mends the test, Reason why it is here.
	Owner string `json:"owner"`
	// Until is the day, as 2006-01-02 in UTC, from which the test counts again.
	Until  string `json:"until"`
	Reason string `json:"reason"`
}

// maxText bounds the owner and the reason, in characters.
const maxText = 2_000

// Check refuses terms that lack something, or that end too late to be looked at again. Terms that have run out are
// valid.
func (t Terms) Check(now time.Time) error {
	until, err := time.Parse(time.DateOnly, t.Until)
	switch {
	case strings.TrimSpace(t.Owner) == "":
		return errors.New("a quarantine needs an owner: name who mends the test")
	case strings.TrimSpace(t.Reason) == "":
		return errors.New("a quarantine needs a reason: say why the test may fail")
	case utf8.RuneCountInString(t.Owner) > maxText || utf8.RuneCountInString(t.Reason) > maxText:
		return fmt.Errorf("owner and reason of a quarantine have at most %d characters", maxText)
	case err != nil:
		return fmt.Errorf("%q is no day: write until as 2006-01-02", t.Until)
	case until.After(day(now).AddDate(0, 0, MaxDays)):
		return fmt.Errorf("the quarantine ends on %s: choose a day within %d days, by %s", t.Until, MaxDays,
			day(now).AddDate(0, 0, MaxDays).Format(time.DateOnly))
	}
	return nil
}

// Begins refuses terms with which a quarantine cannot begin: those of Check, and those that would have run out by
// tomorrow.
func (t Terms) Begins(now time.Time) error {
	if err := t.Check(now); err != nil {
		return err
	}
	if !t.Active(now) {
		return fmt.Errorf("the quarantine ends on %s: choose tomorrow, %s, or a later day", t.Until,
			day(now).AddDate(0, 0, 1).Format(time.DateOnly))
	}
	return nil
}

// Active reports whether the quarantine has not run out. One without a valid day holds nothing.
func (t Terms) Active(now time.Time) bool {
	until, err := time.Parse(time.DateOnly, t.Until)
	return err == nil && now.Before(until)
}

// day returns the beginning of the day of a time, in UTC.
func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
