// Package httpclient makes every HTTP client of the program, by one rule: no redirect is followed.
package httpclient

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// maxHeader bounds the headers of an answer, in bytes.
const maxHeader = 256 << 10

// Transport returns a transport for a process to share among its clients. It keeps a connection for each of hundreds of
// calls in flight to one host, because opening one costs more than a call. The caller closes its idle connections in
// the end.
func Transport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            newDialer().DialContext,
		MaxIdleConnsPerHost:    512,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeader,
		// Resumed sessions make the first call of each of many connections cheaper.
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
		// Replies are a few kilobytes: inflating them costs more than it saves.
		DisableCompression: true,
	}
}

func newDialer() *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
}

// Client returns a client that takes a redirect for the answer: following it would send keys and conversations to
// another host. Its calls end with their context and at no other time. A nil transport is http.DefaultTransport, which
// is for tests only.
func Client(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// WithCookies returns a copy of a client that keeps its cookies in a jar.
func WithCookies(client *http.Client, jar http.CookieJar) *http.Client {
	own := *client
	own.Jar = jar
	return &own
}

// Apart returns a copy of a client with connections of its own, and what closes them. A client whose transport is
// neither one of Transport nor a Guard is returned as it is.
func Apart(client *http.Client) (own *http.Client, hangUp func()) {
	own = &http.Client{}
	*own = *client
	switch transport := client.Transport.(type) {
	case *http.Transport:
		own.Transport = transport.Clone()
	case *PublicOnly:
		own.Transport = transport.apart()
	default:
		return client, func() {}
	}
	return own, own.CloseIdleConnections
}

// Once keeps the transport from sending a request again that the other side may have taken. Without it, a GET, or a
// request with an Idempotency-Key, is sent again when a connection that served before breaks off.
func Once(request *http.Request) {
	replayable := request.Header.Get("Idempotency-Key") != "" || request.Header.Get("X-Idempotency-Key") != ""
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		replayable = true
	}
	if !replayable {
		return
	}
	if request.GetBody = nil; request.Body == nil { // the transport sends no body again but one that it can read again
		request.Body = io.NopCloser(strings.NewReader(""))
	}
}

// Redirect says of an answer that it redirects and to which host, empty of an answer that is no redirect. What else the
// address holds may be secret.
func Redirect(answer *http.Response) string {
	if answer.StatusCode/100 != 3 {
		return ""
	}
	to, err := answer.Location()
	if err != nil || to.Host == "" {
		return "it redirects"
	}
	return "it redirects to " + text.OneLine(to.Host, maxHost)
}

// RedirectAddress is Redirect with the path of the address, for callers whose errors show paths. It has the scheme
// where the host stays the same.
func RedirectAddress(answer *http.Response) string {
	said := Redirect(answer)
	to, err := answer.Location()
	if said == "" || err != nil || to.Host == "" {
		return said
	}
	address := text.Address(to.String())
	if answer.Request != nil && answer.Request.URL.Host != to.Host {
		_, address, _ = strings.Cut(address, "://")
	}
	return "it redirects to " + text.OneLine(address, maxAddress)
}

// maxAddress bounds the address that a redirect leads to, in runes.
const maxAddress = 300

// maxHost bounds the host that a redirect is said to lead to, in runes.
const maxHost = 100
