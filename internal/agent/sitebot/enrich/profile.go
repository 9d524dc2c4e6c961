// Package enrich finds out which company a visitor of a site belongs to. Sources are asked in the order that the site
// names, each within its own time limit; what they know is merged into one Profile (sitebot 2.2 and 2.11).
package enrich

import (
	"slices"
	"strings"
)

// Profile is what is known of a visitor. Its JSON names are published; unknown fields are left out.
type Profile struct {
	Status Status `json:"status,omitempty"`
	// Tier is how a source ranks the company, in the source's own words.
	Tier string `json:"tier,omitempty"`
	// Source names the source whose answer gave the profile its status.
	Source string `json:"source,omitempty"`
	// IPAddress is the visitor's own address, where the site keeps it. It is never kept in a cache or a table.
	IPAddress string `json:"ip_address,omitempty"`

	CompanyName        string `json:"company_name,omitempty"`
	CompanyDescription string `json:"company_description,omitempty"`
	CompanyDomain      string `json:"company_domain,omitempty"`
	Sector             string `json:"sector,omitempty"`
	SubSector          string `json:"sub_sector,omitempty"`

	Email       string   `json:"email,omitempty"`
	JobToBeDone string   `json:"job_to_be_done,omitempty"`
	FeatureList []string `json:"feature_list,omitempty"`
	Intent      string   `json:"intent,omitempty"`

	SectorConfidence string `json:"sector_confidence_level,omitempty"`

	// Claim is what the visitor's browser reports about their company, by the JSON names of the fields above. Nothing
	// has verified it: it belongs to the session alone, and must not reach a cache, a table, a lead or another session.
	// It is never changed. Nil means that there is none.
	Claim map[string]string `json:"claim,omitempty"`
}

// Status says how far a profile has come. The zero Status says that no source was asked.
type Status string

// The statuses, from the lowest to the highest. Merge never lowers a status.
const (
	// Failed is the status after every source was asked in vain.
	Failed  Status = "failed"
	Pending Status = "pending"
	// Partial is a company without a name or without a domain.
	Partial   Status = "partial"
	Completed Status = "completed"
)

// rank orders statuses. What is no status ranks below all of them, like none.
func (s Status) rank() int { return slices.Index([]Status{Failed, Pending, Partial, Completed}, s) }

// texts returns the fields that hold one text, by their JSON names, but for the source, which follows the status.
func (p *Profile) texts() [11]field {
	return [...]field{
		{"tier", &p.Tier},
		{"ip_address", &p.IPAddress},
		{"company_name", &p.CompanyName},
		{"company_description", &p.CompanyDescription},
		{"company_domain", &p.CompanyDomain},
		{"sector", &p.Sector},
		{"sub_sector", &p.SubSector},
		{"email", &p.Email},
		{"job_to_be_done", &p.JobToBeDone},
		{"intent", &p.Intent},
		{"sector_confidence_level", &p.SectorConfidence},
	}
}

// Shown returns the profile as the session and its prompts have it: a Claim fills in what is not known about the
// company. A claim about another company than the known one, or one that does not name the known one, is left out. A
// profile that has a company by claim alone is Partial.
func (p Profile) Shown() Profile {
	claim, claimed := p.Claim, false
	p.Claim = nil
	if !p.confirmed(claim) {
		return p
	}
	for _, f := range p.companyTexts() {
		if !known(*f.text) && known(claim[f.name]) {
			*f.text, claimed = claim[f.name], true
		}
	}
	if claimed && p.Status.rank() < Partial.rank() {
		p.Status, p.Source = Partial, claimSource
	}
	return p
}

// Verified returns the profile without the Claim.
func (p Profile) Verified() Profile {
	p.Claim = nil
	return p
}

// confirmed reports whether a claim names the company of a profile, as far as the profile names one.
func (p Profile) confirmed(claim map[string]string) bool {
	for name, is := range map[string]string{"company_name": p.CompanyName, "company_domain": p.CompanyDomain} {
		if known(is) && !strings.EqualFold(strings.TrimSpace(claim[name]), strings.TrimSpace(is)) {
			return false
		}
	}
	return true
}

// claim returns what a profile knows of a company as a claim.
func (p Profile) claim() map[string]string {
	claim := map[string]string{}
	for _, f := range p.companyTexts() {
		if f.name != "source" && known(*f.text) {
			claim[f.name] = *f.text
		}
	}
	return claim
}

// Bounded returns the profile with each text in one line of at most 1000 characters, and at most 50 features.
func (p Profile) Bounded() Profile {
	for _, f := range p.texts() {
		*f.text = plain(*f.text)
	}
	features := make([]string, min(len(p.FeatureList), mostFeatures))
	for i := range features {
		features[i] = plain(p.FeatureList[i])
	}
	p.FeatureList = union(features)
	return p
}

type field struct {
	name string
	text *string
}

// company returns the part of a profile that is true of everybody behind the same address. Only that may be kept under
// the address: what a visitor has said about themselves would be told to their colleagues.
func (p Profile) company() Profile {
	kept := Profile{Status: p.Status}
	from := p.companyTexts()
	for i, f := range kept.companyTexts() {
		*f.text = *from[i].text
	}
	return kept
}

func (p *Profile) companyTexts() [8]field {
	return [...]field{
		{"tier", &p.Tier},
		{"source", &p.Source},
		{"company_name", &p.CompanyName},
		{"company_description", &p.CompanyDescription},
		{"company_domain", &p.CompanyDomain},
		{"sector", &p.Sector},
		{"sub_sector", &p.SubSector},
		{"sector_confidence_level", &p.SectorConfidence},
	}
}

// assess returns the status of what a source has found: completed with the company's name and domain, partial with
// anything else about the company, and none with nothing.
func (p Profile) assess() Status {
	switch {
	case known(p.CompanyName) && known(p.CompanyDomain):
		return Completed
	case slices.ContainsFunc([]string{
		p.CompanyName, p.CompanyDomain, p.CompanyDescription, p.Sector, p.SubSector,
	}, known):
		return Partial
	}
	return ""
}

// known tells whether a text says anything: models and services write "unknown" where they have nothing to say.
func known(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "unknown", "n/a", "none":
		return false
	}
	return true
}
