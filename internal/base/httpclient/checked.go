package httpclient

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// NotPublicError says that an address of a host is not public. It names the host as it was written, and keeps the
// address to itself.
type NotPublicError struct{ Host string }

// Error returns a sentence for whoever named the host.
func (e *NotPublicError) Error() string {
	return "the host " + text.OneLine(e.Host, maxHost) + " has an address that is not public"
}

// Checked returns a transport that connects to public hosts only. It looks a host up once, refuses it if one of its
// addresses is private, and dials an address that it has checked. It uses no proxy, keeps no connection, and sends each
// request once. The caller closes nothing.
func Checked() *http.Transport { return checked(net.DefaultResolver) }

func checked(resolver *net.Resolver) *http.Transport {
	t := Single()
	t.Proxy = nil // it would look the host up again
	dialer := newDialer()
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		ips, err := resolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, unlocated(err, address)
		}
		if slices.ContainsFunc(ips, Private) {
			return nil, &NotPublicError{host}
		}
		return dialFirst(ctx, dialer, network, ips, port, address)
	}
	return t
}

// dialFirst connects to the first of some addresses that answers.
func dialFirst(ctx context.Context, dialer *net.Dialer, network string, ips []netip.Addr,
	port, address string) (conn net.Conn, err error) {
	err = &net.DNSError{Err: "no address", Name: address, IsNotFound: true}
	for _, ip := range ips {
		if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(ip.Unmap().String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// Single returns a transport that keeps no connection. So it sends each request once: a transport sends one again that
// was lost on a kept connection.
func Single() *http.Transport {
	t := Transport()
	t.DisableKeepAlives = true
	return t
}
