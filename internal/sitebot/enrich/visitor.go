package enrich

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"
)

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

// Hash returns the name under which what is known of an address is kept: the SHA-256, in hexadecimal, of the salt followed by the
// address in its shortest form (an IPv4 address in IPv6 as the IPv4 address, no zone). The salt has to be secret: there are few
// enough addresses to try them all. Text that is no address has no hash: "".
func Hash(salt, ip string) string {
	address, ok := Visitor{IP: ip}.address()
	if !ok {
		return ""
	}
	sum := sha256.Sum256([]byte(salt + address.String()))
	return hex.EncodeToString(sum[:])
}
