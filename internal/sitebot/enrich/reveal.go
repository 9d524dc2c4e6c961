package enrich

import (
	"context"
	"encoding/json"
	"errors"
)

// maxReveal bounds what is read of a browser's data, in bytes.
const maxReveal = 64 << 10

// Reveal is the source that reads what the browser has sent of window.reveal. It makes no request.
type Reveal struct{ fields Fields }

// NewReveal returns the source reveal. Fields add to, or replace, those of RevealFields.
func NewReveal(fields Fields) (*Reveal, error) {
	if err := fields.check(); err != nil {
		return nil, err
	}
	return &Reveal{fields.over(RevealFields())}, nil
}

// RevealFields are where Clearbit Reveal puts what it knows into window.reveal (clearbit.com/docs, "Reveal API"): type, domain, and
// company with name, domain, description and category. The names of a Profile are understood as well.
func RevealFields() Fields {
	return Fields{
		kind:                      {"type"},
		"company_name":            {"company.name", "company_name"},
		"company_domain":          {"company.domain", "domain", "company_domain"},
		"company_description":     {"company.description", "company_description"},
		"sector":                  {"company.category.sector", "company.category.industry", "sector"},
		"sub_sector":              {"company.category.subIndustry", "company.category.industry", "sub_sector"},
		"tier":                    {"tier"},
		"sector_confidence_level": {"confidenceScore", "sector_confidence_level"},
	}
}

// Look reads the visitor's Reveal. It never waits.
func (r *Reveal) Look(_ context.Context, v Visitor) (Profile, error) {
	if len(v.Reveal) == 0 {
		return Profile{}, nil
	}
	if len(v.Reveal) > maxReveal {
		return Profile{}, errors.New("the browser sent more than 64 KB")
	}
	var value any
	if json.Unmarshal(v.Reveal, &value) != nil {
		return Profile{}, errors.New("what the browser sent is not JSON")
	}
	return r.fields.read(value), nil
}
