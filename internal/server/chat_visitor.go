package server

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// visitorIP returns the address that a request comes from. It believes X-Forwarded-For as far as trusted proxies have written it.
// The zero value means that no trusted proxy has named an address.
func visitorIP(r *http.Request, trusted []netip.Prefix) netip.Addr {
	at, ok := parseIP(r.RemoteAddr)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !ok || !within(at, trusted) || strings.TrimSpace(hop) == "" {
			break
		}
		at, ok = parseIP(hop)
	}
	return at
}

// parseIP reads an address with or without a port.
func parseIP(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if with, err := netip.ParseAddrPort(text); err == nil {
		return plainIP(with.Addr()), true
	}
	ip, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return plainIP(ip), err == nil
}

func plainIP(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

func within(ip netip.Addr, prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}
