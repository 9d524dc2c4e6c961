package enrich

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/netip"
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

// RevealFields are where Clearbit Reveal puts what it knows into window.reveal (clearbit.com/docs, "Reveal API"): type,
// domain, and company with name, domain, description and category. The names of a Profile are understood as well.
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

// Lookup reads the visitor's Reveal. It never waits.
func (r *Reveal) Lookup(_ context.Context, v Visitor) (Profile, error) {
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

// Visitor is who is asked about. All of it but Site comes from a browser and is not to be trusted.
type Visitor struct {
	// SessionID is the UUID under which Snitcher Radar knows the session, too.
	SessionID string
	// IP is the visitor's address without a port, as the server that took the request saw it.
	IP string
	// Site is the site_name of the request.
	Site string
	// Reveal is window.reveal as the browser sent it; empty without.
	Reveal json.RawMessage
}

// carrierNAT are the addresses that providers share among customers (RFC 6598): they never identify a visitor.
var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")

// address returns the visitor's address in its one normal form, and whether it is valid.
func (v Visitor) address() (netip.Addr, bool) {
	ip, err := netip.ParseAddr(v.IP)
	return ip.Unmap().WithZone(""), err == nil
}

// public tells whether the address may identify a company: it is valid, and not of a private or local network.
func (v Visitor) public() bool {
	ip, ok := v.address()
	return ok && ip.IsGlobalUnicast() && !ip.IsPrivate() && !carrierNAT.Contains(ip)
}

// Hash returns the name under which what is known of an address is kept: the SHA-256, in hexadecimal, of the salt
// followed by the address in its shortest form (an IPv4 address in IPv6 as the IPv4 address, no zone). The salt has to
// be secret: there are few enough addresses to try them all. Text that is no address has no hash: "".
func Hash(salt, ip string) string {
	address, ok := Visitor{IP: ip}.address()
	if !ok {
		return ""
	}
	sum := sha256.Sum256([]byte(salt + address.String()))
	return hex.EncodeToString(sum[:])
}
