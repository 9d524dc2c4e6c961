package httpclient

import (
	"net/netip"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// inner are networks that are not of the public Internet, beside those that netip knows.
var inner = prefixes(
	"0.0.0.0/8",        // this network
	"100.64.0.0/10",    // shared by customers of a provider, with the metadata of some clouds
	"168.63.129.16/32", // the platform of Azure
	"192.0.0.0/24",     // protocol assignments, with the metadata of some clouds
	"198.18.0.0/15",    // benchmarks
	"240.0.0.0/4",      // reserved, and broadcast
	"::/96",            // IPv4-compatible
	"64:ff9b:1::/48",   // NAT64 of a local network
	"100::/64",         // discarded
	"2001::/32",        // Teredo
	"fec0::/10",        // site-local
	"::ffff:0:0:0/96",  // IPv4-translated
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// Private reports whether an address is not one of the public Internet: private, shared, loopback, link-local,
// multicast, unspecified or reserved, also where it is the IPv4 address inside of an IPv6 one (mapped, NAT64, 6to4).
func Private(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsValid() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() ||
		ip.IsUnspecified() {
		return true
	}
	for _, network := range inner {
		if network.Contains(ip) {
			return true
		}
	}
	if ip.Is4() {
		return false
	}
	bytes := ip.As16()
	switch {
	case nat64.Contains(ip):
		return Private(netip.AddrFrom4([4]byte(bytes[12:])))
	case sixToFour.Contains(ip):
		return Private(netip.AddrFrom4([4]byte(bytes[2:6])))
	}
	return false
}

// The networks whose addresses hold an IPv4 address (RFC 6052, RFC 3056).
var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// PrivateHost reports whether the host of an address, as it is written, is a private address in any spelling, or a name
// that stands for this machine. Of any other name nothing is known before it is dialled.
func PrivateHost(host string) bool {
	host = plain(host)
	if zoneless, _, _ := strings.Cut(host, "%"); strings.Contains(host, ":") {
		ip, err := netip.ParseAddr(zoneless)
		return err != nil || Private(ip)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return Private(ip)
	}
	labels := strings.Split(host, ".")
	switch labels[len(labels)-1] {
	case "", "localhost", "localdomain", "ip6-localhost", "ip6-loopback":
		return true
	}
	// no name ends so: it is an address in a spelling that only some programs understand
	return isNumber(labels[len(labels)-1])
}

// plain returns a host in the spelling in which it is looked up: in lower case, with the letters, digits and dots of
// ASCII, without what is not seen.
func plain(host string) string {
	host = strings.Map(func(r rune) rune {
		switch {
		case r == '。' || r == '｡' || r == '．':
			return '.'
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return r
	}, host)
	host = strings.ToLower(norm.NFKC.String(host))
	return strings.TrimRight(strings.Trim(strings.TrimSpace(host), "[]"), ".")
}

// isNumber reports whether a label is a number in decimal, octal or hexadecimal digits.
func isNumber(label string) bool {
	if digits, hex := strings.CutPrefix(label, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// Host returns the host of an address SCHEME://HOST…, as it is written. It is empty where there is none, and where a
// placeholder stands in it. Unlike a parser it finds one also in an address with placeholders elsewhere.
func Host(address string) string {
	_, rest, ok := strings.Cut(strings.TrimSpace(address), "://")
	if !ok {
		return ""
	}
	if end := strings.IndexAny(rest, `/?#\`); end >= 0 {
		rest = rest[:end]
	}
	rest = rest[strings.LastIndex(rest, "@")+1:]
	if closing := strings.Index(rest, "]"); strings.HasPrefix(rest, "[") && closing > 0 {
		return rest[1:closing]
	}
	if colon := strings.LastIndex(rest, ":"); colon >= 0 {
		rest = rest[:colon]
	}
	if strings.Contains(rest, "{{") {
		return ""
	}
	return rest
}
