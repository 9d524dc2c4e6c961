package target

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// httpRequest is a request as data. Its parts are templates.
type httpRequest struct {
	method string
	url    *template.Template
	// written is the address as it is written, with its placeholders.
	written string
	// query is a mapping of parameters, or nil.
	query   *template.Template
	headers headers
	// body is nil for none. A form is a body of parameters.
	body *template.Template
	form bool
	// sessionHeader, unless empty, is where the agent's session id goes back.
	sessionHeader string
}

func (r *httpRequest) templates() []*template.Template {
	return append([]*template.Template{r.url, r.query, r.body}, r.headers.templates()...)
}

func (r *httpRequest) holds(names ...string) bool {
	return slices.ContainsFunc(r.templates(), func(t *template.Template) bool { return t.Uses(names...) })
}

func (r *httpRequest) names() (names []string) {
	for _, t := range r.templates() {
		names = append(names, t.Names()...)
	}
	return names
}

// requestReader reads the requests of one target.
type requestReader struct {
	scope template.Scope
	// base is the target's mapping, with the address to which paths are appended and the headers that all requests
	// have.
	base source.Node
	// trim keeps a path from being appended to an address that ends with it already.
	trim bool
	// written is the address of the request that was read last, as a template.
	written string
	at      source.Node
}

// requestKeys are the keys of a request.
type requestKeys struct {
	URL     source.Node `key:"url" schema:"text"`
	Path    source.Node `key:"path" schema:"text"`
	Query   source.Node `key:"query" schema:"object"`
	Method  source.Node `key:"method" schema:"text"`
	Headers source.Node `key:"headers" schema:"headers" doc:"a null value takes a default header away"`
	Body    source.Node `key:"body" doc:"a mapping or list is sent as JSON; a text as it is"`
}

// read reads the parts of a request, but for its path.
func (r *requestReader) read(q *httpRequest, k requestKeys) {
	given := func(n source.Node) bool { return n.Kind != source.Null }
	q.method = http.MethodPost
	r.written, r.at = r.base.Field("url").Scalar, r.base.Field("url")
	if given(k.URL) {
		r.written, r.at = k.URL.Text(), k.URL
	}
	if given(k.Query) {
		for range k.Query.Entries() { // which reports what is no mapping
		}
		if k.Query.Kind == source.Map {
			q.query = template.Read(k.Query, r.scope)
		}
	}
	if given(k.Method) {
		q.method = readMethod(k.Method)
	}
	if given(k.Headers) {
		q.headers = readHeaders(k.Headers, r.scope)
	}
	if given(k.Body) {
		q.body = template.ReadBody(k.Body, r.scope)
	}
}

func readMethod(n source.Node) string {
	method := strings.ToUpper(n.Text())
	if method == "" || strings.ContainsFunc(method, func(c rune) bool { return c < 'A' || c > 'Z' }) {
		n.Report("write GET, POST, PUT, PATCH or DELETE", "%q is no method", n.Scalar)
	}
	return method
}

// finish joins the address of a request with its path, and settles what depends on its headers.
func (r *requestReader) finish(q *httpRequest) {
	r.join(r.base.Field("path"))
	r.settle(q)
}

func (r *requestReader) settle(q *httpRequest) {
	q.written = r.written
	q.url = template.Read(r.at.With(source.Value{
		Kind: source.String, Line: r.at.Line, Column: r.at.Column, Scalar: r.written,
	}), r.scope)
	if plain, _, err := q.url.Text(&template.Values{}, template.Address); err == nil &&
		!strings.HasPrefix(plain, "[redacted ") && r.written != "" {
		r.checkAddress(plain)
	}
	if kind, ok := q.headers.named("Content-Type"); ok && kind != nil {
		media, _, _ := kind.Text(&template.Values{}, template.Header)
		q.form = strings.HasPrefix(strings.ToLower(media), "application/x-www-form-urlencoded")
	}
}

// checkAddress reports an address that cannot be one, whatever its placeholders stand for.
func (r *requestReader) checkAddress(plain string) {
	if parsed, err := url.Parse(plain); err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") &&
		(parsed.Host != "" || strings.Contains(r.written, "{{")) {
		return
	}
	if strings.HasPrefix(r.written, "{{") {
		return
	}
	// which may hold a password
	r.at.Report("write it like https://shop.example/api", "the address is no http or https address")
}

// join appends a path to the address, before its query.
func (r *requestReader) join(path source.Node) {
	if path.Kind == source.Null {
		return
	}
	written := path.Text()
	address, query, has := strings.Cut(r.written, "?")
	address = strings.TrimSuffix(address, "/")
	if added := "/" + strings.TrimPrefix(written, "/"); !r.trim || !strings.HasSuffix(address, added) {
		address += added
	}
	if r.written = address; has {
		r.written = withQuery(address, query)
	}
}

// other reads a request that is not a turn: open or close. It has the headers of the target unless it goes elsewhere.
func (r *requestReader) other(n source.Node, k requestKeys) httpRequest {
	var q httpRequest
	o := requestReader{scope: r.scope, base: r.base}
	o.read(&q, k)
	if n.Has("url") && n.Has("path") {
		n.Field("path").Report("keep one of them", "path and url both say where the request goes")
	}
	if n.Kind == source.Map && !n.Has("url") && !n.Has("path") {
		n.Report("add `path:`, which is appended to the url of the target, or `url:`", "the request has no address")
	}
	if !n.Has("url") {
		o.join(n.Field("path"))
		own := q.headers
		q.headers = nil
		for _, h := range r.inherited() {
			if _, has := own.named(h.name); !has {
				q.headers = append(q.headers, h)
			}
		}
		q.headers = append(q.headers, own...)
	}
	o.settle(&q)
	return q
}

// inherited returns the target's own headers but the type of its body. Their faults are reported where they stand.
func (r *requestReader) inherited() headers {
	if written := r.base.Field("headers"); written.Kind == source.Map {
		return slices.DeleteFunc(readHeaders(written.To(&source.Reader{}), r.scope), func(h header) bool {
			return h.name == "Content-Type"
		})
	}
	return nil
}

// openKeys are the keys of the request before the first turn.
type openKeys struct {
	requestKeys
	Session *agentSession `key:"session" schema:"session"`
	Text    *answer.Pick  `key:"text" schema:"pick"`
}

func (r *requestReader) open(n source.Node) *httpOpen {
	var k openKeys
	source.Decode(n, &k)
	return &httpOpen{httpRequest: r.other(n, k.requestKeys), session: k.Session, text: k.Text}
}

func (r *requestReader) close(n source.Node) *httpRequest {
	var k requestKeys
	source.Decode(n, &k)
	q := r.other(n, k)
	return &q
}
