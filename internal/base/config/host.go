package config

import (
	"fmt"
	"net"
	"strings"
)

// HostOf splits HOST[:PORT] of a list of hosts; an IPv6 address with a port stands in brackets. The host may be
// *.DOMAIN.
func HostOf(pattern string) (host, port string) {
	pattern = strings.TrimSpace(pattern)
	if host, port, err := net.SplitHostPort(pattern); err == nil {
		return plainHost(host), port
	}
	return plainHost(strings.Trim(pattern, "[]")), ""
}

// HostMatches reports whether a host is the one of a list, or below its *.DOMAIN.
func HostMatches(wanted, host string) bool {
	host = plainHost(host)
	if domain, ok := strings.CutPrefix(wanted, "*."); ok {
		return strings.HasSuffix(host, "."+domain) && len(host) > len(domain)+1
	}
	return wanted == host
}

// plainHost returns a host in one spelling.
func plainHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// HostFault says what is wrong with HOST[:PORT]; empty for nothing.
func HostFault(pattern string) string {
	host, port := HostOf(pattern)
	bare, _ := strings.CutPrefix(host, "*.")
	switch {
	case strings.ContainsAny(pattern, "/@?# \t"), strings.Contains(bare, "*"), bare == "":
		return fmt.Sprintf("%q is no host", pattern)
	case strings.HasSuffix(pattern, ":"), port != "" && strings.Trim(port, "0123456789") != "":
		return fmt.Sprintf("%q has no port behind the colon", pattern)
	}
	return ""
}
