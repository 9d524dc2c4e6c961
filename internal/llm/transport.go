package llm

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// maxBody bounds one answer, in bytes, whether it comes whole or as a stream.
	maxBody = 8 << 20
	// maxReason is how much is read of an answer that is no success, in bytes.
	maxReason = 64 << 10
)

var errTooLarge = errors.New("the answer is larger than 8 MB")

// Transport returns the transport that a process shares among its models, for Options.Transport.
// It keeps a connection for each of hundreds of calls in flight to one host, because opening one costs more than a call.
// The caller closes its idle connections when no model is used any more.
func Transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		MaxIdleConnsPerHost:   512,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		// Resumed sessions make the first call of each of many connections cheaper.
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
		// Replies are a few kilobytes: inflating them costs more than it saves.
		DisableCompression: true,
	}
}

// boundedBody fails with errTooLarge when more than left bytes are read.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// noRedirect makes a redirect the answer. Following one would send the key and the conversation to another address.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
