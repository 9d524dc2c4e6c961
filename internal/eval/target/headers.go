package target

import (
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/template"
)

// headers are those of a request, by their canonical names.
type headers []header

// header is one that a request has. One without a value takes a default header away.
type header struct {
	name  string
	value *template.Template
}

func readHeaders(n source.Node, scope template.Scope) (all headers) {
	for name, value := range n.Entries() {
		if !isToken(name) {
			value.Report("write letters, digits and hyphens", "%q is no name of a header", name)
			continue
		}
		h := header{name: textproto.CanonicalMIMEHeaderKey(name)}
		if value.Kind != source.Null {
			h.value = template.ReadText(value, scope)
		}
		all = append(all, h)
	}
	return all
}

// isToken reports whether a text can be the name of a header (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// named returns the value of a header. ok is true also of one that is taken away.
func (h headers) named(name string) (value *template.Template, ok bool) {
	i := slices.IndexFunc(h, func(h header) bool { return h.name == name })
	if i < 0 {
		return nil, false
	}
	return h[i].value, true
}

func (h headers) templates() (all []*template.Template) {
	for _, one := range h {
		all = append(all, one.value)
	}
	return all
}

// filledHeaders are headers with the values of a conversation.
type filledHeaders struct {
	header http.Header
	// away are the default headers that are taken away.
	away map[string]bool
	// said are the headers that hold values of the conversation.
	said map[string]string
}

func (h headers) filled(v *template.Values) (filledHeaders, error) {
	f := filledHeaders{header: http.Header{}, away: map[string]bool{}, said: map[string]string{}}
	for _, one := range h {
		if one.value == nil {
			f.away[one.name] = true
			continue
		}
		value, ok, err := one.value.Text(v, template.Header)
		if err != nil {
			return f, err
		}
		if ok {
			f.header.Set(one.name, value)
		}
		if ok && len(one.value.Names()) > 0 {
			f.said[one.name] = value
		}
	}
	return f, nil
}

// on sets the headers of a request: the default ones, pairs of a name and a value, then those that are configured. It
// returns the host that is configured, empty for none.
func (f filledHeaders) on(request http.Header, defaults ...[2]string) (host string) {
	for _, h := range append(defaults, [2]string{"User-Agent", "rehearse"}) {
		if h[1] != "" && !f.away[http.CanonicalHeaderKey(h[0])] {
			request.Set(h[0], h[1])
		}
	}
	if f.away["User-Agent"] {
		request.Set("User-Agent", "") // which sends none
	}
	maps.Copy(request, f.header)
	host = request.Get("Host")
	request.Del("Host")
	return host
}
