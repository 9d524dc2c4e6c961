package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// The headers that a proxy adds to the request of somebody else, in lower case: whole names, and beginnings of names.
var (
	forwarded      = []string{"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip"}
	forwardedBegin = []string{"x-forwarded-", "x-original-", "cf-"}
)

// fromHere reports whether a request comes from a program of this machine. The peer's address must be local. Headers
// can only disprove it, even empty ones: a proxy on this machine forwards for others, and a page with a foreign host
// name belongs to a site that resolves to this machine (DNS rebinding).
func fromHere(r *http.Request) bool {
	return !isForwarded(r) && loopback(r.RemoteAddr) && localName(r.Host)
}

// isForwarded reports whether a proxy sends a request for another program.
func isForwarded(r *http.Request) bool {
	for name := range r.Header {
		name = strings.ToLower(name)
		if slices.Contains(forwarded, name) || slices.ContainsFunc(forwardedBegin, func(begin string) bool {
			return strings.HasPrefix(name, begin)
		}) {
			return true
		}
	}
	return false
}

// RefuseForwarded answers the requests that a proxy forwards with 403, and lets next answer the others.
func RefuseForwarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isForwarded(r) {
			http.Error(w, "only programs of this machine may use this server: call it without a proxy, "+
				"or let it listen on another address with a token", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopback reports whether an address with a port belongs to this machine's loopback interface.
func loopback(hostPort string) bool {
	at, err := netip.ParseAddrPort(hostPort)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// localName reports whether no DNS server can give a host's name another meaning: an address, or localhost.
func localName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}
