package replay

import (
	"time"
	_ "time/tzdata" // zones are known also on machines that have no table of them

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Days is a range of whole days of a time zone. The zero value bounds nothing. ReadDays makes one.
type Days struct {
	// First and Last are the days as YYYY-MM-DD; empty means without a bound.
	First, Last string
	// From is the beginning of the first day and To the end of the last, which is excluded; zero means without a bound.
	From, To time.Time
}

// ReadZone returns the time zone of a name of the IANA table; an empty one is UTC.
func ReadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, source.Invalid("unknown --timezone %q: write a name of the IANA table, such as Europe/Brussels",
			name)
	}
	return zone, nil
}

// ReadDay returns the beginning of a day in a time zone.
func ReadDay(day string, zone *time.Location) (time.Time, error) {
	date, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return time.Time{}, source.Invalid("%q is not a day: write YYYY-MM-DD", day)
	}
	return beginningOf(date, zone), nil
}

// beginningOf returns the first moment of the day of a date in a zone, whose clock may skip or repeat midnight.
func beginningOf(date time.Time, zone *time.Location) time.Time {
	year, month, day := date.Date()
	begin := time.Date(year, month, day, 0, 0, 0, 0, zone)
	changed, next := begin.ZoneBounds()
	switch before := begin.Add(-time.Hour); {
	case begin.Format(time.DateOnly) < date.Format(time.DateOnly): // until the clock skips midnight
		return next
	case begin.Day() != day || begin.Hour() > 0: // since it was skipped
		return changed
	case before.Day() == day: // midnight comes twice
		return before
	}
	return begin
}

// ReadDays reads the first and the last day of a range in a time zone. Either may be empty.
func ReadDays(first, last string, zone *time.Location) (Days, error) {
	d := Days{First: first, Last: last}
	var err error
	if first != "" {
		if d.From, err = ReadDay(first, zone); err != nil {
			return d, source.Invalid("--start_date %w", err)
		}
	}
	if last != "" {
		date, err := time.Parse(time.DateOnly, last)
		if err != nil {
			return d, source.Invalid("--end_date %q is not a day: write YYYY-MM-DD", last)
		}
		d.To = beginningOf(date.AddDate(0, 0, 1), zone)
	}
	if first != "" && last != "" && !d.From.Before(d.To) {
		return d, source.Invalid("--start_date %s is after --end_date %s: change them over", first, last)
	}
	return d, nil
}

// Has reports whether a time lies within the days.
func (d Days) Has(t time.Time) bool {
	return !t.Before(d.From) && (d.To.IsZero() || t.Before(d.To))
}

// String writes the range as "from FIRST to LAST", leaving out what is not bounded.
func (d Days) String() string {
	switch {
	case d.First == "" && d.Last == "":
		return ""
	case d.First == "":
		return "to " + d.Last
	case d.Last == "":
		return "from " + d.First
	}
	return "from " + d.First + " to " + d.Last
}
