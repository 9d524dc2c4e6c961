package replay

import (
	"time"

	"rehearse/internal/source"
)

// Days is a range of whole days in UTC. The zero value bounds nothing. ReadDays makes one.
type Days struct {
	// First and Last are the days as YYYY-MM-DD; empty is no bound.
	First, Last string
	// From is the beginning of the first day and To the end of the last, which is excluded; zero is no bound.
	From, To time.Time
}

// ReadDays reads the first and the last day of a range. Either may be empty.
func ReadDays(first, last string) (Days, error) {
	d := Days{First: first, Last: last}
	var err error
	if first != "" {
		if d.From, err = time.Parse(time.DateOnly, first); err != nil {
			return d, source.Invalid("--start_date %q is no day: write YYYY-MM-DD", first)
		}
	}
	if last != "" {
		if d.To, err = time.Parse(time.DateOnly, last); err != nil {
			return d, source.Invalid("--end_date %q is no day: write YYYY-MM-DD", last)
		}
		d.To = d.To.AddDate(0, 0, 1)
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

// String says the range as "from FIRST to LAST", leaving out what is not bounded.
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
