package collect

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Exchanges returns a copy of a client that gathers each exchange of a conversation. Without a collector in a request's
// context it does nothing. A client without a transport of its own is returned as it is.
func Exchanges(client *http.Client) *http.Client {
	if client == nil || client.Transport == nil {
		return client
	}
	own := *client
	own.Transport = listening{client.Transport}
	return &own
}

// listening is a transport that gathers what goes through it.
type listening struct{ next http.RoundTripper }

// RoundTrip sends the request. The exchange is gathered when the answer was read, or nobody reads on.
func (l listening) RoundTrip(request *http.Request) (*http.Response, error) {
	next := l.next
	if !Conversing(request.Context()) {
		return next.RoundTrip(request)
	}
	heard := &exchange{request: request}
	if request.Body != nil && request.Body != http.NoBody {
		copied := *request // a transport must not change its request
		copied.Body = &overheard{from: request.Body, copy: &heard.sent}
		request = &copied
	}
	response, err := next.RoundTrip(request)
	if err != nil {
		heard.end(fmt.Sprintf("no answer: %v", err))
		return nil, err
	}
	heard.response = response
	response.Body = &overheard{from: response.Body, copy: &heard.received, end: heard.end}
	return response, nil
}

// CloseIdleConnections closes those of the transport below.
func (l listening) CloseIdleConnections() {
	if closer, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// overheard keeps a copy of what is read. End is called once, when there is no more, with why it broke off.
type overheard struct {
	from io.ReadCloser
	copy *lockedBuffer
	end  func(why string)
	once sync.Once
}

// Read reads on.
func (o *overheard) Read(p []byte) (int, error) {
	n, err := o.from.Read(p)
	o.copy.write(p[:n])
	switch {
	case err == io.EOF:
		o.ended("")
	case err != nil:
		o.ended(fmt.Sprintf("the answer broke off: %v", err))
	}
	return n, err
}

// Close closes what is read.
func (o *overheard) Close() error {
	o.ended("the rest was not read")
	return o.from.Close()
}

func (o *overheard) ended(why string) {
	if o.end != nil {
		o.once.Do(func() { o.end(why) })
	}
}

// lockedBuffer is written by a transport that may still send while the answer is there already.
type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) write(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data.Write(p)
}

func (b *lockedBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.data.Bytes())
}

// exchange is a request and its answer.
type exchange struct {
	request        *http.Request
	response       *http.Response
	sent, received lockedBuffer
}

// end gathers the exchange as HTTP/1.1 writes it, whatever it went over. Why says what kept the answer from being
// whole; empty for nothing.
func (x *exchange) end(why string) {
	Put(x.request.Context(), Exchange, func() []byte {
		var out bytes.Buffer
		r := x.request
		host := r.Host
		if host == "" {
			host = r.URL.Host
		}
		fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.URL.RequestURI(), host)
		writeHeader(&out, r.Header)
		out.Write(x.sent.bytes())
		if x.response != nil {
			fmt.Fprintf(&out, "\r\n\r\nHTTP/1.1 %s\r\n", x.response.Status)
			writeHeader(&out, x.response.Header)
			out.Write(x.received.bytes())
		}
		if why != "" {
			fmt.Fprintf(&out, "\r\n\r\n(%s)", why)
		}
		return out.Bytes()
	})
}

// credential matches the names of headers that hold nothing but credentials.
var credential = text.Regexp(
	`(?i)^(proxy-)?authorization$|^(set-)?cookie$|(^|[-_])(key|token|secret|password|apikey)$`)

// writeHeader writes headers in the order of their names, without the values of credentials: no variable may hold them.
func writeHeader(out *bytes.Buffer, header http.Header) {
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range header[name] {
			if credential().MatchString(name) {
				value = "[redacted HEADER]"
			}
			fmt.Fprintf(out, "%s: %s\r\n", name, strings.ReplaceAll(value, "\n", " "))
		}
	}
	out.WriteString("\r\n")
}
