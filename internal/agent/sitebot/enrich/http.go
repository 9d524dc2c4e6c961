package enrich

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// HTTPConfig describes a JSON API that knows the companies of visitors. The values of Query and Body are sent as they
// are written, but for IP and Session, which stand for what is known of the visitor.
type HTTPConfig struct {
	// Name is that of the source. Key is its API key, sent as bearer token, or in KeyHeader where there is one.
	Name, Key, KeyHeader string
	// Method and Path are those of the look-up at the base URL. Places such as {script} in Path are filled from Params,
	// of which none may be empty.
	Method, URL, Path string
	Params            map[string]string
	// Query are the parameters of the address, Body the fields of a JSON object; without fields nothing is sent.
	Query, Body map[string]string
	// Absent are the statuses of visitors that the API does not know.
	Absent []int
	// Fields are where the answer has what it knows.
	Fields Fields
	// Transport sends the requests; nil is that of outbound.Client.
	Transport http.RoundTripper
}

// Values in Query and Body that stand for the visitor's.
const (
	IP      = "{ip}"      // the address, if it is public
	Session = "{session}" // the id of the session
)

// maxSession bounds what is passed on as a session's id: a UUID has 36 characters.
const maxSession = 100

// Snitcher is the preset of Snitcher Radar, which knows the sessions of the tracking script that the site carries. It
// is built from descriptions of the API and was never tried with the service.
func Snitcher(key, script string) HTTPConfig {
	return HTTPConfig{
		Name: "snitcher", Key: key, Method: http.MethodPost, URL: "https://api.snitcher.com",
		Path:   "/radar/operator/v1/tracking-scripts/{script}/company/find",
		Params: map[string]string{"script": script}, Body: map[string]string{"session_uuid": Session},
		// 202 is a session that waits
		Absent: []int{http.StatusAccepted, http.StatusNotFound, http.StatusUnprocessableEntity},
		Fields: Fields{
			kind:                      {"type"},
			"company_name":            {"company.name"},
			"company_domain":          {"company.domain", "domain"},
			"company_description":     {"company.description"},
			"sector":                  {"company.industry"},
			"sub_sector":              {"company.sub_industry"},
			"sector_confidence_level": {"confidence"},
		},
	}
}

// Enrichso is the preset of Enrich.so, which knows network addresses. It is built from descriptions of the API and was
// never tried with the service. Versions 1 and 3 put what they know into different fields.
func Enrichso(key string) HTTPConfig {
	return HTTPConfig{
		Name: "enrich_so", Key: key, Method: http.MethodGet, URL: "https://api.enrich.so",
		Path: "/v1/api/ip-to-company-lookup", Query: map[string]string{"ip": IP}, Absent: []int{http.StatusNotFound},
		Fields: Fields{
			kind:                  {"data.type"},
			"company_name":        {"data.name", "data.companyName", "data.ipOrganization", "name"},
			"company_domain":      {"data.domain", "data.companyDomain", "data.ipDomain", "domain"},
			"company_description": {"data.description", "description"},
			"sector": {
				"data.category.sector", "data.sector", "data.category.industry", "data.industry", "industry",
			},
			"sub_sector":              {"data.category.subIndustry", "data.category.industry", "data.industry"},
			"sector_confidence_level": {"data.confidence"},
		},
	}
}

// HTTP is a source that calls a JSON API. It is safe for concurrent use.
type HTTP struct {
	config  HTTPConfig
	service *service
}

// NewHTTP returns a source.
func NewHTTP(c HTTPConfig) (*HTTP, error) {
	s, err := newService(c.Name, c.URL, c.Key, c.Transport)
	if err != nil {
		return nil, err
	}
	if err := c.Fields.check(); err != nil {
		return nil, err
	}
	for name, value := range c.Params {
		if value == "" {
			return nil, fmt.Errorf("%s: no %s: set the variable that holds it", c.Name, name)
		}
		c.Path = strings.ReplaceAll(c.Path, "{"+name+"}", url.PathEscape(value))
	}
	if c.KeyHeader == "" {
		s.header.Set("Authorization", "Bearer "+c.Key)
	} else {
		s.header.Set(c.KeyHeader, c.Key)
	}
	return &HTTP{c, s}, nil
}

// Lookup asks for the visitor's company. A visitor of whom nothing is known that the API goes by has none.
func (h *HTTP) Lookup(ctx context.Context, v Visitor) (Profile, error) {
	known := map[string]string{}
	if v.public() {
		address, _ := v.address()
		known[IP] = address.String()
	}
	if v.SessionID != "" && len(v.SessionID) <= maxSession {
		known[Session] = v.SessionID
	}
	r := request{method: h.config.Method, path: h.config.Path, query: url.Values{}, absent: h.config.Absent}
	fill := func(value string) (filled string, ok bool) {
		if value != IP && value != Session {
			return value, true
		}
		filled, ok = known[value]
		r.private = append(r.private, filled)
		return filled, ok
	}
	body := map[string]string{}
	for name, value := range h.config.Query {
		filled, ok := fill(value)
		if !ok {
			return Profile{}, nil
		}
		r.query.Set(name, filled)
	}
	for name, value := range h.config.Body {
		filled, ok := fill(value)
		if !ok {
			return Profile{}, nil
		}
		body[name] = filled
	}
	if len(body) > 0 {
		r.body = body
	}
	answer, err := h.service.call(ctx, r)
	if err != nil {
		return Profile{}, err
	}
	return h.config.Fields.read(answer), nil
}
