package site

import (
	"maps"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones are known also on machines that have no table of them

	"github.com/nyaruka/phonenumbers/v2"
	"github.com/nyaruka/phonenumbers/v2/timezone"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// readZone returns the zone with a name of the IANA table.
func readZone(n source.Node) *time.Location {
	n.Text() // reports a list or a mapping
	name, given := scalar(n)
	if !given {
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

// regionOf returns the country of a language tag, such as BE in fr-BE, else of a time zone: of several countries with
// one calling code, the main one. It is empty where neither names one.
func regionOf(locale string, zone *time.Location) string {
	for _, part := range subtags(locale)[1:] {
		if len(part) == 2 {
			return strings.ToUpper(part)
		}
	}
	if zone == time.UTC {
		return ""
	}
	for _, code := range slices.Sorted(maps.Keys(phonenumbers.GetSupportedCallingCodes())) {
		anyNumber := &phonenumbers.PhoneNumber{CountryCode: new(int32(code)), NationalNumber: new(uint64(0))}
		zones, err := timezone.GetTimeZonesForGeographicalNumber(anyNumber)
		if err == nil && slices.Contains(zones, zone.String()) {
			return phonenumbers.GetRegionCodeForCountryCode(code)
		}
	}
	return ""
}

// subtags returns the parts of a language tag in lower case; there is at least one.
func subtags(tag string) []string {
	return strings.Split(strings.ToLower(strings.ReplaceAll(strings.TrimSpace(tag), "_", "-")), "-")
}

// MonthFirst reports whether a visitor who asked for a language writes the month of a date before the day: those of the
// United States do.
func (s *Site) MonthFirst(requested string) bool {
	tag := requested
	if Primary(tag) == "" {
		tag = s.Locale
	}
	parts := subtags(tag)
	return parts[0] == English && slices.Contains(parts[1:], "us")
}
