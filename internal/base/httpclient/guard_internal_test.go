package httpclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient/httpclienttest"
)

func get(t *testing.T, transport http.RoundTripper, address string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := Client(transport).Do(request)
	if err == nil {
		_ = answer.Body.Close()
	}
	return err
}

// refusedAs checks that an error refuses a host by its name and tells no address.
func refusedAs(t *testing.T, err error, host string, hidden ...string) {
	t.Helper()
	private, ok := errors.AsType[*PrivateError](err)
	if !ok || private.Host != host {
		t.Fatalf("got %v, want a refusal of %s", err, host)
	}
	for _, address := range hidden {
		if strings.Contains(err.Error(), address) {
			t.Errorf("the error tells the address: %v", err)
		}
	}
}

// A server of this machine is reached by no spelling and by no name.
func TestGuardRefuses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the server was asked")
	}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST.", "[::ffff:127.0.0.1]", "0.0.0.0", "127。0。0。1", "user:pw@127.0.0.1",
	} {
		g := NewPublicOnly()
		if err := get(t, g, "http://"+host+":"+port); err == nil {
			t.Errorf("%s is reached", host)
		}
		g.CloseIdleConnections()
	}
}

// A name that leads to a private address is refused, whatever it has led to before: the address that is dialled
// decides.
func TestGuardRebinding(t *testing.T) {
	for _, private := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.7"} {
		resolver, asked := httpclienttest.Resolver("203.0.113.1", private)
		if ips, err := resolver.LookupNetIP(t.Context(), "ip4", "rebinds.example"); err != nil ||
			ips[0].String() != "203.0.113.1" {
			t.Fatalf("%v, %v", ips, err)
		}
		g := newGuard(resolver)
		refusedAs(t, get(t, g, "http://rebinds.example/latest/meta-data"), "rebinds.example", private)
		if asked.Load() < 2 {
			t.Error("the name was not looked up again")
		}
		g.CloseIdleConnections()
	}
}

// An error of the look-up does not tell which server was asked.
func TestGuardHidesTheResolver(t *testing.T) {
	g := newGuard(&net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused by 10.96.0.10:53")}
	}})
	err := get(t, g, "http://shop.example/")
	if err == nil || strings.Contains(err.Error(), " on ") {
		t.Errorf("%v", err)
	}
}

// What the process itself was told is reached, on connections that nothing else uses; other ports of the same host are
// not.
func TestGuardOwn(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(server.Close)
	g := NewPublicOnly(server.URL+"/v1", "postgres://127.0.0.1/db", "no address")
	t.Cleanup(g.CloseIdleConnections)
	if err := get(t, g, server.URL+"/chat"); err != nil || asked != 1 {
		t.Errorf("%v after %d requests", err, asked)
	}
	u, _ := url.Parse(server.URL)
	if !g.Own("ws://"+u.Host) || g.Own("https://"+u.Host) || g.Own("http://127.0.0.1:1") ||
		(*PublicOnly)(nil).Own(server.URL) {
		t.Error("other addresses count as the process's own")
	}
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the other server was asked")
	}))
	t.Cleanup(other.Close)
	refusedAs(t, get(t, g, other.URL), "127.0.0.1")
	own, hangUp := Apart(Client(g))
	t.Cleanup(hangUp)
	refusedAs(t, get(t, own.Transport, other.URL), "127.0.0.1")
	if err := get(t, own.Transport, server.URL); err != nil {
		t.Error(err)
	}
}

// A proxy of the environment is not asked: it would reach for us what we may not.
func TestGuardUsesNoProxy(t *testing.T) {
	if g := NewPublicOnly(); g.outside.Proxy != nil || g.inside.Proxy == nil {
		t.Error("the guard has a proxy, or the process's own transport has none")
	}
}
