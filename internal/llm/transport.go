package llm

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3/option"
)

// maxBody bounds what is read of one answer.
const maxBody = 16 << 20

var errTooLarge = errors.New("the answer is larger than 16 MB")

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

// bounded makes reading an answer fail beyond maxBody, also where the SDK reads the body of a refusal by itself.
func bounded(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if res != nil && res.Body != nil {
		res.Body = &boundedBody{ReadCloser: res.Body, left: maxBody}
	}
	return res, err
}

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

// noRedirect leaves a redirect as the answer: following one would turn the request into a GET or carry the key elsewhere.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
