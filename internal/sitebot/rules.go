package sitebot

import (
	"regexp"
	"strings"

	"rehearse/internal/sitebot/enrich"
	"rehearse/internal/sitebot/site"
)

// rules are what the deterministic nodes ask of a site. They are immutable.
type rules struct {
	*site.Site
	fields, required []site.Field
}

func rulesOf(s *site.Site) *rules { return &rules{s, s.Fields(), s.Required()} }

// interested reports whether the visitor's interest has reached the site's threshold.
func (r *rules) interested(s *State) bool {
	threshold, on := r.Threshold()
	return on && s.Interest.Cumulative >= threshold
}

// blocked reports whether a demo has to wait for the qualification.
func (r *rules) blocked(s *State) bool {
	return len(site.Missing(r.required, s.Profiling.Collected)) > 0
}

// nextField returns the first field of the qualification that is not collected.
func (r *rules) nextField(s *State) (site.Field, bool) {
	for _, f := range r.fields {
		if strings.TrimSpace(s.Profiling.Collected[f.ID]) == "" {
			return f, true
		}
	}
	return site.Field{}, false
}

// missing reports whether a field of the qualification is not collected.
func (r *rules) missing(s *State) bool {
	_, missing := r.nextField(s)
	return missing
}

// answersBooking reports whether the message answers what the booking asked for.
func (r *rules) answersBooking(b *Booking, input string) bool {
	_, ok := r.bookingValue(r.Booking.Fields, b.Field, input)
	return ok
}

// pending reports whether the turn before asked a question (sitebot.md 2.6, guard 3).
func (r *rules) pending(s *State) bool {
	last := s.Profiling.LastExtractionTurn
	return last != nil && *last >= 0 && *last == s.TurnNumber
}

// unanswered reports whether that question's answer has not been taken: nothing was collected in this turn.
func (r *rules) unanswered(s *State) bool { return r.pending(s) && !s.Extracted }

// extracts is the guard of early_profile_extractor (2.6): profiling is configured, a field is missing, and the turn before asked.
func (r *rules) extracts(s *State) bool {
	return len(r.fields) > 0 && r.missing(s) && r.pending(s)
}

// captureDue reports whether the visitor's message is expected to hold an e-mail address.
func (r *rules) captureDue(s *State) bool {
	return r.ContentGating.Enabled && gatingStep(s) == captureStep
}

// bookingValue returns the value that a message gives for a field of the booking.
func (r *rules) bookingValue(fields []site.BookingField, id, input string) (string, bool) {
	input = strings.TrimSpace(input)
	for _, f := range fields {
		if f.ID != id {
			continue
		}
		switch f.Type {
		case site.Email:
			address := findEmail(input)
			return address, address != ""
		case site.Phone:
			number := findPhone(input)
			return number, number != ""
		case site.Date:
			return input, isDate(input)
		}
		return input, input != "" && !question(input)
	}
	return "", false
}

// phone finds what may be a number to call: figures in groups, with or without the sign of an international one.
var phone = regexp.MustCompile(`\+?[0-9(][0-9 ().\x{00a0}\x{202f}/-]*[0-9]`)

// The figures that numbers to call have (E.164).
const (
	minPhone = 6
	maxPhone = 15
)

// findPhone returns the first number to call in a text, as it is written, or nothing. A day in figures is none.
func findPhone(text string) string {
	for _, found := range phone.FindAllString(text, -1) {
		if n := digits(found); n >= minPhone && n <= maxPhone && !numericDate.MatchString(found) {
			return found
		}
	}
	return ""
}

func digits(text string) int {
	n := 0
	for _, r := range text {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n
}

// shown returns what is known of a visitor, without their address unless the site keeps it. A session of an older version may hold one.
func (r *rules) shown(p enrich.Profile) enrich.Profile {
	if !r.Enrichment.KeepIP {
		p.IPAddress = ""
	}
	return p
}

// is reads a flag that may be unknown.
func is(flag *bool) bool { return flag != nil && *flag }
