package sitebot

import (
	"maps"
	"net/url"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
)

// CTA is the call to action below an answer: a button that leads to where a demo is booked.
type CTA struct {
	// URL is the site's address with the fields in its query.
	URL   string `json:"url"`
	Label string `json:"label"`
	// Fields are what the conversation has collected for the address, by parameter.
	Fields map[string]string `json:"fields"`
}

// cta returns the call to action below a turn's answer; nil unless the answer proposes a demo because the rules had
// asked for it.
func (t *turn) cta(s *State) *CTA {
	proposed := s.Skills != nil && slices.Contains(s.Skills.Applied, ProposeDemoSkill) && marker.Of(s.Response).Demo
	if !proposed || t.CTA.URL == "" {
		return nil
	}
	fields := maps.Clone(s.CTA)
	table(&fields)
	return &CTA{URL: withQuery(t.CTA.URL, fields), Label: t.DemoLabel(t.request.Language), Fields: fields}
}

// withQuery returns an address with parameters in its query, which go before those that it has.
func withQuery(address string, parameters map[string]string) string {
	u, err := url.Parse(address)
	if err != nil || len(parameters) == 0 {
		return address
	}
	query := u.Query()
	for name, value := range parameters {
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u.String()
}
