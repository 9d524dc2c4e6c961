package replay_test

import (
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// TestDaysOfZones checks that a day lasts from its first moment to the first moment of the next one, also where the
// clock skips midnight, repeats it, or skips a day.
func TestDaysOfZones(t *testing.T) {
	for _, tc := range []struct{ zone, day, from, to string }{
		{"UTC", "2025-10-07", "2025-10-07T00:00:00Z", "2025-10-08T00:00:00Z"},
		{"America/Vancouver", "2025-10-07", "2025-10-07T07:00:00Z", "2025-10-08T07:00:00Z"},
		{"Europe/Brussels", "2025-10-26", "2025-10-25T22:00:00Z", "2025-10-26T23:00:00Z"},
		{"Europe/Brussels", "2025-03-30", "2025-03-29T23:00:00Z", "2025-03-30T22:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"America/Sao_Paulo", "2018-11-03", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		{"America/Havana", "2024-11-03", "2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z"},
		{"Pacific/Apia", "2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
	} {
		zone, err := replay.ReadZone(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		d, err := replay.ReadDays(tc.day, tc.day, zone)
		from, to := d.From.UTC().Format(time.RFC3339), d.To.UTC().Format(time.RFC3339)
		if err != nil || from != tc.from || to != tc.to {
			t.Errorf("%s in %s: %s to %s, %v; want %s to %s", tc.day, tc.zone, from, to, err, tc.from, tc.to)
		}
	}
	for _, zone := range []string{"Local", "Mars/Olympus", "../etc/passwd"} {
		if _, err := replay.ReadZone(zone); err == nil {
			t.Errorf("%s is a zone", zone)
		}
	}
}
