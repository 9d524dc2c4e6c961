// Package schedule says when a schedule is due: at the times of a cron expression in a time zone, or every so often.
package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // machines without time zones, such as small images, have them too

	"github.com/netresearch/go-cron"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Shortest is the shortest time between two firings.
const Shortest = time.Second

// allHours has a bit for each hour.
const allHours = 1<<24 - 1

// Times are the times at which a schedule is due. The zero value is of no use: call Parse. It is immutable.
type Times struct {
	// every is the time between two firings; 0 where spec says when.
	every time.Duration
	spec  *cron.SpecSchedule
	zone  *time.Location
}

// Parse reads a cron expression of five fields, or @every D, and the name of a time zone, whose default is UTC.
func Parse(expression, zone string) (*Times, error) {
	t := &Times{zone: time.UTC}
	if zone != "" && zone != "UTC" {
		var err error
		// which would be another one on each server
		if t.zone, err = time.LoadLocation(zone); err != nil || zone == "Local" {
			return nil, source.Invalid("there is no time zone %q: write a name such as Europe/Berlin, or UTC", zone)
		}
	}
	expression = strings.TrimSpace(expression)
	if every, ok := strings.CutPrefix(expression, "@every "); ok {
		d, err := time.ParseDuration(strings.TrimSpace(every))
		if err != nil || d < Shortest {
			return nil, source.Invalid(
				"schedule %q: write a time of a second or more behind @every, such as 90s or 12h", expression)
		}
		t.every = d
		return t, nil
	}
	if fields := len(strings.Fields(expression)); fields != 5 || strings.HasPrefix(expression, "@") ||
		strings.Contains(expression, "=") {
		return nil, source.Invalid("schedule %q: write five fields (minute, hour, day of the month, month, "+
			"day of the week), such as 0 3 * * 1-5, or @every 12h", expression)
	}
	parser, err := cron.TryNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom)
	if err != nil {
		return nil, err
	}
	read, err := parser.WithMaxSearchYears(maxYears).Parse(expression)
	if err != nil {
		return nil, source.Invalid("schedule %q: %w", expression, err)
	}
	spec, ok := read.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("schedule %q: read as %T", expression, read)
	}
	spec.Location = time.UTC
	t.spec = spec
	if t.wall(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, source.Invalid("schedule %q: there is no such day", expression)
	}
	return t, nil
}

// maxYears is how far ahead a time is looked for: 29 February may be eight years away, and more on a given day of the
// week.
const maxYears = 40

// Zone is the name of the time zone.
func (t *Times) Zone() string { return t.zone.String() }

// Next returns the first time after another one, in UTC. An interval is counted from that time, so hand it the time
// that was due before.
//
// Where clocks are put forward or back, a schedule of every hour goes on with the time that passes. Any other is due
// once at each of its times on the clock: at the first of a time that comes twice, and for a time that is left out at
// the moment at which the clock is put forward.
func (t *Times) Next(after time.Time) time.Time {
	switch {
	case t.every > 0:
		return after.Add(t.every).UTC()
	case t.spec.Hour&allHours == allHours:
		return t.nextMinute(after)
	}
	return t.nextOnClock(after)
}

// NextFrom returns the first time after now of a schedule that was due at a time before, and the last one that is not
// after now.
func (t *Times) NextFrom(due, now time.Time) (next, last time.Time) {
	if t.every > 0 {
		passed := max(0, now.Sub(due)) / t.every
		last = due.Add(passed * t.every).UTC()
		return last.Add(t.every), last
	}
	// A week has the longest pause between two times that matters here; before it, the steps would be many.
	last = due.UTC()
	if early := now.Add(-week); early.After(due) {
		if at := t.Next(early); !at.After(now) {
			last = at
		}
	}
	for next = t.Next(last); !next.After(now); next = t.Next(last) {
		last = next
	}
	return next, last
}

const week = 7 * 24 * time.Hour

// wall returns the next time on a clock that is never changed, written as if it were UTC; zero if there is none.
func (t *Times) wall(after time.Time) time.Time { return t.spec.Next(after) }

// onClock returns what the clock shows, written as if it were UTC.
func (t *Times) onClock(at time.Time) time.Time {
	_, offset := at.In(t.zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// nextMinute returns the next time at which the clock shows a time of the schedule, whether it shows that for the first
// time or again.
func (t *Times) nextMinute(after time.Time) time.Time {
	for {
		_, end := after.In(t.zone).ZoneBounds()
		shown := t.onClock(after)
		at := after.Add(t.wall(shown).Sub(shown)).UTC()
		if end.IsZero() || at.Before(end) {
			return at
		}
		// The first moment of the new time may be due itself.
		if first := t.onClock(end); t.wall(first.Add(-time.Nanosecond)).Equal(first) {
			return end.UTC()
		}
		after = end
	}
}

// change is more than any change of a clock.
const change = 26 * time.Hour

// nextOnClock returns the first moment, after another one, that stands for a time of the schedule.
func (t *Times) nextOnClock(after time.Time) time.Time {
	shown := t.onClock(after)
	if start, end := after.In(t.zone).ZoneBounds(); after.Sub(start) < change && !start.IsZero() ||
		end.Sub(after) < change && !end.IsZero() {
		shown = shown.Add(-change) // times that the clock shows again, or leaves out
	}
	for {
		shown = t.wall(shown)
		if at := t.moment(shown); at.After(after) {
			return at
		}
	}
}

// moment returns the first moment at which the clock shows a time, or at which it leaves it out.
func (t *Times) moment(shown time.Time) time.Time {
	offset := func(at time.Time) time.Duration {
		_, seconds := at.In(t.zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	before, behind := offset(shown.Add(-change)), offset(shown.Add(change))
	// the larger offset is the earlier moment
	for _, o := range []time.Duration{max(before, behind), min(before, behind)} {
		if at := shown.Add(-o); offset(at) == o {
			return at
		}
	}
	_, end := shown.Add(-max(before, behind)).In(t.zone).ZoneBounds()
	return end.UTC()
}
