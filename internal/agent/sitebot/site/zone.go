package site

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones are known also on machines that have no table of them

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// readZone returns the zone with a name of the IANA table.
func readZone(n source.Node) *time.Location {
	name := strings.TrimSpace(n.Text())
	if n.Kind != source.String {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		n.Report("write a name of the IANA table, such as Europe/Brussels or UTC", "%q is not a time zone", clip(name))
		return time.UTC
	}
	return zone
}

// Zone returns where the site's days begin and end.
func (s *Site) Zone() *time.Location {
	if s.zone == nil {
		return time.UTC
	}
	return s.zone
}

// MonthFirst reports whether a visitor who asked for a language writes the month of a date before the day: those of the United States do.
func (s *Site) MonthFirst(requested string) bool {
	tag := requested
	if Primary(tag) == "" {
		tag = s.Locale
	}
	parts := strings.Split(strings.ToLower(strings.ReplaceAll(strings.TrimSpace(tag), "_", "-")), "-")
	if parts[0] != English {
		return false
	}
	return slices.Contains(parts[1:], "us")
}
