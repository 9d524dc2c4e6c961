package enrich

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// SnitcherConfig says how Snitcher Radar is reached.
type SnitcherConfig struct {
	// Key is the API key; it is sent as bearer token.
	Key string
	// Script is the id of the tracking script that the site carries.
	Script string
	// URL is https://api.snitcher.com without.
	URL string
	// Path is that of the look-up, {script} standing for Script; that of SnitcherPath without.
	Path string
	// Fields add to, or replace, those of SnitcherFields.
	Fields Fields
	// Transport sends the requests; nil is that of outbound.Client.
	Transport http.RoundTripper
}

// SnitcherPath is where Radar identifies the company of a session
// (docs.snitcher.com/powered-by-snitcher/radar/receiving-events, "Identify company for a session").
const SnitcherPath = "/radar/operator/v1/tracking-scripts/{script}/company/find"

// maxSession bounds what is passed on as a session's id: a UUID has 36 characters.
const maxSession = 100

// Snitcher is the source that asks Snitcher Radar for the company of a session. It is safe for concurrent use.
type Snitcher struct {
	service *service
	path    string
	fields  Fields
}

// SnitcherFields are where Snitcher puts what it knows (docs.snitcher.com/powered-by-snitcher/ip2company/quickstart): type, domain
// and company.
func SnitcherFields() Fields {
	return Fields{
		kind:                      {"type"},
		"company_name":            {"company.name"},
		"company_domain":          {"company.domain", "domain"},
		"company_description":     {"company.description"},
		"sector":                  {"company.industry"},
		"sub_sector":              {"company.sub_industry"},
		"sector_confidence_level": {"confidence"},
	}
}

// NewSnitcher returns the source snitcher.
func NewSnitcher(c SnitcherConfig) (*Snitcher, error) {
	s, err := newService("snitcher", cmp.Or(c.URL, "https://api.snitcher.com"), c.Key, c.Transport)
	if err != nil {
		return nil, err
	}
	path := cmp.Or(c.Path, SnitcherPath)
	if c.Script == "" && strings.Contains(path, "{script}") {
		return nil, errors.New("snitcher: no tracking script: name the one that the site carries")
	}
	if err := c.Fields.check(); err != nil {
		return nil, err
	}
	s.header.Set("Authorization", "Bearer "+c.Key)
	path = strings.ReplaceAll(path, "{script}", url.PathEscape(c.Script))
	return &Snitcher{service: s, path: path, fields: c.Fields.over(SnitcherFields())}, nil
}

// Look asks for the company of the visitor's session. Sessions that Radar does not know, or has only queued, have none yet.
func (s *Snitcher) Look(ctx context.Context, v Visitor) (Profile, error) {
	if v.SessionID == "" || len(v.SessionID) > maxSession {
		return Profile{}, nil
	}
	answer, err := s.service.call(ctx, request{
		method: http.MethodPost, path: s.path, body: map[string]string{"session_uuid": v.SessionID},
		absent:  []int{http.StatusAccepted, http.StatusNotFound, http.StatusUnprocessableEntity},
		private: []string{v.SessionID},
	})
	if err != nil {
		return Profile{}, err
	}
	return s.fields.read(answer), nil
}
