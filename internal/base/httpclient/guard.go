package httpclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// PrivateError is a host at a private address, which is not connected to. It holds the host as it was written, and not
// the address.
type PrivateError struct{ Host string }

// Error returns a sentence for whoever named the host.
func (e *PrivateError) Error() string {
	return "the host " + text.OneLine(e.Host, maxHost) + " is at a private address, which a submitted run may not reach"
}

// errPrivate refuses a connection before it is made.
var errPrivate = errors.New("a private address")

// PublicOnly is a transport for addresses that somebody else has named. It connects to no private address, whatever
// name leads there, uses no proxy, and shares no connection with another transport. Only what the process itself was
// told is reached in any case. It is safe for concurrent use.
type PublicOnly struct {
	own             []string
	inside, outside *http.Transport
}

// NewPublicOnly returns a Guard. own are addresses that the process itself was told: hosts of them may be private.
func NewPublicOnly(own ...string) *PublicOnly {
	return newGuard(nil, own...)
}

// newGuard returns a Guard that looks up names with a resolver; nil is that of the system.
func newGuard(resolver *net.Resolver, own ...string) *PublicOnly {
	g := &PublicOnly{inside: Transport(), outside: Transport()}
	for _, address := range own {
		if u, err := url.Parse(strings.TrimSpace(address)); err == nil && u.Host != "" {
			g.own = append(g.own, origin(u))
		}
	}
	g.outside.Proxy = nil // it would be asked in place of the named host
	dialer := newDialer()
	dialer.Resolver = resolver
	dialer.Control = func(_, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || Private(at.Addr()) {
			return errPrivate
		}
		return nil
	}
	g.outside.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		return conn, unlocated(err, address)
	}
	return g
}

// unlocated returns the error of a connection without addresses of this network.
func unlocated(err error, address string) error {
	if errors.Is(err, errPrivate) {
		host, _, splitting := net.SplitHostPort(address)
		if splitting != nil {
			host = address
		}
		return &PrivateError{host}
	}
	if failed, ok := errors.AsType[*net.DNSError](err); ok {
		shown := *failed
		shown.Server, shown.UnwrapErr = "", nil
		return &shown
	}
	return err
}

// origin returns the scheme, the host and the port of an address, always in one spelling.
func origin(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	switch scheme {
	case "ws":
		scheme = "http"
	case "wss":
		scheme = "https"
	}
	if port == "" && scheme == "http" {
		port = "80"
	}
	if port == "" && scheme == "https" {
		port = "443"
	}
	return scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// Own reports whether an address is at a host that the process itself was told. A nil Guard has none.
func (g *PublicOnly) Own(address string) bool {
	u, err := url.Parse(strings.TrimSpace(address))
	return g != nil && err == nil && slices.Contains(g.own, origin(u))
}

// RoundTrip sends a request.
func (g *PublicOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if slices.Contains(g.own, origin(r.URL)) {
		return g.inside.RoundTrip(r)
	}
	return g.outside.RoundTrip(r)
}

// CloseIdleConnections closes the connections that carry no request.
func (g *PublicOnly) CloseIdleConnections() {
	g.inside.CloseIdleConnections()
	g.outside.CloseIdleConnections()
}

// apart returns a copy with connections of its own.
func (g *PublicOnly) apart() *PublicOnly {
	return &PublicOnly{own: g.own, inside: g.inside.Clone(), outside: g.outside.Clone()}
}
