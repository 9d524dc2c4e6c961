package sitebot

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/enrich"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/value"
)

// rules are what the deterministic nodes ask of a site. They are immutable.
type rules struct {
	*site.Site
	fields, required []site.Field
	// calendar says how days are read in this turn.
	calendar value.Calendar
}

func rulesOf(s *site.Site) *rules { return &rules{Site: s, fields: s.Fields(), required: s.Required()} }

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

// pending reports whether the turn before asked a question.
func (r *rules) pending(s *State) bool {
	last := s.Profiling.LastExtractionTurn
	return last != nil && *last >= 0 && *last == s.TurnNumber
}

// unanswered reports whether that question's answer has not been taken: nothing was collected in this turn.
func (r *rules) unanswered(s *State) bool { return r.pending(s) && !s.Extracted }

// extracts is the guard of early_profile_extractor (2.6): profiling is configured, a field is missing, and the turn
// before asked.
func (r *rules) extracts(s *State) bool {
	return len(r.fields) > 0 && r.missing(s) && r.pending(s)
}

// captureDue reports whether the visitor's message is expected to hold an e-mail address.
func (r *rules) captureDue(s *State) bool {
	return r.ContentGating.Enabled && gatingStep(s) == captureStep
}

// shown returns what a session shows of its visitor, without their address unless the site keeps it. A session of an
// older version may hold one.
func (r *rules) shown(p enrich.Profile) enrich.Profile {
	p = p.Shown()
	if !r.Enrichment.StoreIP {
		p.IPAddress = ""
	}
	return p
}

// is reads a flag that may be unknown.
func is(flag *bool) bool { return flag != nil && *flag }
