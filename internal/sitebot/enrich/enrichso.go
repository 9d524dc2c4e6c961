package enrich

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
)

// EnrichsoConfig says how Enrich.so is reached.
type EnrichsoConfig struct {
	// Key is the API key.
	Key string
	// KeyHeader is the header that carries the key: "Authorization", as bearer token, without; version 3 takes "x-api-key".
	KeyHeader string
	// URL is https://api.enrich.so without.
	URL string
	// Path is that of the look-up, which takes the address as the query parameter ip; EnrichsoPath without.
	Path string
	// Fields add to, or replace, those of EnrichsoFields.
	Fields Fields
	// Transport sends the requests; nil is that of outbound.Client.
	Transport http.RoundTripper
}

// EnrichsoPath is where Enrich.so looks up the company of an address, by GET with the query parameter ip.
const EnrichsoPath = "/v1/api/ip-to-company-lookup"

// Enrichso is the source that asks Enrich.so for the company of an address. It is safe for concurrent use.
type Enrichso struct {
	service *service
	path    string
	fields  Fields
}

// EnrichsoFields are where Enrich.so puts what it knows: version 1 into data.name, data.domain, data.category and others, version 3
// into data.ipOrganization and data.ipDomain (doc.enrich.so).
func EnrichsoFields() Fields {
	return Fields{
		kind:                      {"data.type"},
		"company_name":            {"data.name", "data.companyName", "data.ipOrganization", "name"},
		"company_domain":          {"data.domain", "data.companyDomain", "data.ipDomain", "domain"},
		"company_description":     {"data.description", "description"},
		"sector":                  {"data.category.sector", "data.sector", "data.category.industry", "data.industry", "industry"},
		"sub_sector":              {"data.category.subIndustry", "data.category.industry", "data.industry"},
		"sector_confidence_level": {"data.confidence"},
	}
}

// NewEnrichso returns the source enrich_so.
func NewEnrichso(c EnrichsoConfig) (*Enrichso, error) {
	s, err := newService("enrich_so", cmp.Or(c.URL, "https://api.enrich.so"), c.Key, c.Transport)
	if err != nil {
		return nil, err
	}
	if err := c.Fields.check(); err != nil {
		return nil, err
	}
	if c.KeyHeader == "" || http.CanonicalHeaderKey(c.KeyHeader) == "Authorization" {
		s.header.Set("Authorization", "Bearer "+c.Key)
	} else {
		s.header.Set(c.KeyHeader, c.Key)
	}
	return &Enrichso{service: s, path: cmp.Or(c.Path, EnrichsoPath), fields: c.Fields.over(EnrichsoFields())}, nil
}

// Look asks for the company of the visitor's address. Addresses that Enrich.so does not know have none: it answers 404, or 200
// with {"error": true}.
func (e *Enrichso) Look(ctx context.Context, v Visitor) (Profile, error) {
	if !v.public() {
		return Profile{}, nil
	}
	address, _ := v.address()
	ip := address.String()
	answer, err := e.service.call(ctx, request{
		method: http.MethodGet, path: e.path, query: url.Values{"ip": {ip}},
		absent: []int{http.StatusNotFound}, private: []string{ip},
	})
	if err != nil {
		return Profile{}, err
	}
	return e.fields.read(answer), nil
}
