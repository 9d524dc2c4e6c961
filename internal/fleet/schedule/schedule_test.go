package schedule_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/fleet/schedule"
)

func parse(t testing.TB, expression, zone string) *schedule.Times {
	t.Helper()
	times, err := schedule.Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return times
}

// Berlin puts its clocks forward from 02:00 to 03:00 on 29 March 2026, and back from 03:00 to 02:00 on 25 October 2026.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		cron, zone, after string
		want              []string
	}{
		{"0 3 * * 1-5", "", "2026-11-20T03:00:00Z", []string{"2026-11-23T03:00:00Z", "2026-11-24T03:00:00Z"}},
		{"0 3 * * 1-5", "Europe/Berlin", "2026-11-20T12:00:00Z", []string{"2026-11-23T02:00:00Z"}},
		{"*/20 * * * *", "", "2026-01-01T00:10:01Z", []string{
			"2026-01-01T00:20:00Z", "2026-01-01T00:40:00Z", "2026-01-01T01:00:00Z",
		}},
		{"0 0 * * 7", "", "2026-11-20T00:00:00Z", []string{"2026-11-22T00:00:00Z"}},
		{"0 0 * * SUN", "", "2026-11-20T00:00:00Z", []string{"2026-11-22T00:00:00Z"}},
		// either, as in crontab(5)
		{"0 0 13 * FRI", "", "2026-11-11T00:00:00Z", []string{"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"}},
		{"0 0 29 2 *", "", "2097-01-01T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
		{"@every 90s", "", "2026-01-01T00:00:00.5Z", []string{"2026-01-01T00:01:30.5Z", "2026-01-01T00:03:00.5Z"}},
		// A time that is left out: when the clock is put forward, once.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{
			"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z",
		}},
		{"*/20 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{
			"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z",
		}},
		{"0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{
			"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z",
		}},
		{"0 */2 * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", []string{
			"2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z",
		}},
		// A time that comes twice: at the first.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{
			"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z",
		}},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T01:00:00Z", []string{"2026-10-26T01:30:00Z"}},
		{"0 2,3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{
			"2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z",
		}},
		// Every hour: as time passes.
		{"30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", []string{
			"2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z",
		}},
		{"0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", []string{
			"2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z",
		}},
		{"30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", []string{
			"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z",
		}},
		{"0 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", []string{
			"2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z",
		}},
		// Half an hour, and midnight.
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", []string{
			"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z",
		}},
		{"0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", []string{
			"2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z",
		}},
		// there was no such day
		{"0 0 30 12 *", "Pacific/Apia", "2011-12-20T00:00:00Z", []string{
			"2011-12-30T10:00:00Z", "2012-12-29T10:00:00Z",
		}},
	} {
		times := parse(t, c.cron, c.zone)
		at, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			at = times.Next(at)
			if got := at.Format(time.RFC3339Nano); got != want {
				t.Errorf("%s in %q after %s: %s, want %s", c.cron, c.zone, c.after, got, want)
				break
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct{ cron, zone, want string }{
		{"", "", "five fields"},
		{"* * * *", "", "five fields"},
		{"* * * * * *", "", "five fields"},
		{"@daily", "", "five fields"},
		{"TZ=UTC * * * *", "", "five fields"},
		{"60 * * * *", "", "60"},
		{"* * 30 2 *", "", "no such day"},
		{"H * * * *", "", "schedule"},
		{"@every 999ms", "", "second or more"},
		{"@every soon", "", "second or more"},
		{"@every -1h", "", "second or more"},
		{"* * * * *", "Mars/Base", "time zone"},
		{"* * * * *", "Local", "time zone"},
		{"* * * * *", "../etc/passwd", "time zone"},
		{strings.Repeat("1,", 2000) + "1 * * * *", "", "schedule"},
	} {
		if _, err := schedule.Parse(c.cron, c.zone); err == nil || !strings.Contains(err.Error(), c.want) ||
			!source.IsInvalid(err) {
			t.Errorf("%q in %q: %v, want %q", c.cron, c.zone, err, c.want)
		}
	}
}

// After a time without a server, the last time that was missed and the next one are what going from one time to the
// next finds.
func TestNextFrom(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		times := parse(t, rapid.SampledFrom([]string{
			"*/7 * * * *", "30 2 * * *", "0 4 1 * *", "@every 1h7m",
		}).Draw(r, "cron"), rapid.SampledFrom([]string{"", "Europe/Berlin", "America/New_York"}).Draw(r, "zone"))
		due := times.Next(time.Unix(rapid.Int64Range(1_770_000_000, 1_800_000_000).Draw(r, "due"), 0))
		now := due.Add(time.Duration(rapid.Int64Range(0, int64(40*24*time.Hour)).Draw(r, "passed")))
		next, last := times.NextFrom(due, now)
		wantLast := due
		for at := times.Next(due); !at.After(now); at = times.Next(at) {
			wantLast = at
		}
		if wantNext := times.Next(wantLast); !next.Equal(wantNext) || !last.Equal(wantLast) {
			r.Errorf("due %s, now %s: %s and %s, want %s and %s", due, now, last, next, wantLast, wantNext)
		}
	})
}

// Times go forward, and a clock shows every time of a day once in the list.
func TestGoesForward(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		times := parse(t, rapid.SampledFrom([]string{"*/15 1-3 * * *", "0 */3 * * *", "45 * * * *"}).Draw(r, "cron"),
			rapid.SampledFrom([]string{
				"Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca",
			}).Draw(r, "zone"))
		after := time.Unix(rapid.Int64Range(1_770_000_000, 1_810_000_000).Draw(r, "after"), 0)
		next := times.Next(after)
		if !next.After(after) {
			r.Fatalf("%s is not after %s", next, after)
		}
		between := after.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(after)-1)).Draw(r, "between")))
		if again := times.Next(between); !again.Equal(next) {
			r.Errorf("after %s: %s, but after %s: %s", after, next, between, again)
		}
	})
}
