package curl

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

// describe says what the body is. Without a Content-Type of its own, a body that is a JSON document counts as one: curl
// would call it a form, which no agent expects.
func (l *parsed) describe(r *Request) {
	if l.json {
		r.addDefault("Content-Type", jsonType)
		r.addDefault("Accept", jsonType)
	}
	if !l.hasData {
		return
	}
	contentType := strings.ToLower(r.header("Content-Type"))
	_, isJSON := document(r.Body)
	switch {
	case strings.HasPrefix(contentType, formType):
		r.Form = true
	case isJSON && (contentType == "" || strings.Contains(contentType, "json")):
		r.JSON = true
		r.addDefault("Content-Type", jsonType)
	case contentType == "":
		r.Form = true
		r.addDefault("Content-Type", formType)
	}
}

func (r *Request) header(name string) string {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

func (r *Request) addDefault(name, value string) {
	if r.header(name) == "" {
		r.Headers = append(r.Headers, Pair{name, value})
	}
}

// document reads a JSON object or list.
func document(text string) (source.Value, bool) {
	v, err := source.ParseJSON("the curl line", []byte(text), 1)
	return v, err == nil && (v.Kind == source.Map || v.Kind == source.List)
}

// Target returns the request as a target of kind http, as it would be written in a configuration. Where the line has no
// place for the user's message, it takes the value of the first name that messages go by, and the conversation's id
// takes the values of names of such ids. A request without a place for the message is an error.
func (r Request) Target() (source.Value, error) {
	query, body := asMapping(r.Query), source.Text(r.Body)
	switch {
	case r.JSON:
		body, _ = document(r.Body)
	case r.Form && r.Body != "":
		body = asForm(fields(r.Body))
	}
	if !r.placed() {
		var found bool
		if body, found = insertMessage(body); !found {
			query, found = insertMessage(query)
		}
		if !found {
			return source.Value{},
				errors.New("the curl line has no place for the user's message: write {{message}} where it belongs")
		}
		body, query = insertConversation(body), insertConversation(query)
	}
	target := []source.Field{{Name: "kind", Value: source.Text("http")}}
	add := func(name string, v source.Value) { target = append(target, source.Field{Name: name, Value: v}) }
	switch {
	case repeats(r.Query): // whose order a mapping cannot hold
		var pairs []string
		for i, p := range r.Query {
			pairs = append(pairs, escaped(p.Name)+"="+escaped(query.Fields[i].Value.Scalar))
		}
		add("url", source.Text(r.URL+"?"+strings.Join(pairs, "&")))
	default:
		add("url", source.Text(r.URL))
		if len(r.Query) > 0 {
			add("query", query)
		}
	}
	if r.Method != http.MethodPost {
		add("method", source.Text(r.Method))
	}
	if headers := joined(r.Headers); len(headers) > 0 {
		add("headers", asMapping(headers))
	}
	if r.Body != "" || r.Method != http.MethodGet { // where none is written, a target sends one of its own
		add("body", body)
	}
	return source.Value{Kind: source.Map, Fields: target}, nil
}

// placed reports whether the line says itself where the message belongs.
func (r Request) placed() bool {
	in := func(p Pair) bool { return strings.Contains(p.Value, message) }
	return strings.Contains(r.URL+r.Body, message) || slices.ContainsFunc(r.Query, in) ||
		slices.ContainsFunc(r.Headers, in)
}

func asMapping(pairs []Pair) source.Value {
	v := source.Value{Kind: source.Map}
	for _, p := range pairs {
		v.Fields = append(v.Fields, source.Field{Name: p.Name, Value: source.Text(p.Value)})
	}
	return v
}

// asForm returns the fields of a form as a mapping, in which a name that stands more than once has a list.
func asForm(pairs []Pair) source.Value {
	v := source.Value{Kind: source.Map}
	for _, p := range pairs {
		i := slices.IndexFunc(v.Fields, func(f source.Field) bool { return f.Name == p.Name })
		switch {
		case i < 0:
			v.Fields = append(v.Fields, source.Field{Name: p.Name, Value: source.Text(p.Value)})
		case v.Fields[i].Value.Kind == source.List:
			v.Fields[i].Value.Items = append(v.Fields[i].Value.Items, source.Text(p.Value))
		default:
			v.Fields[i].Value = source.Value{
				Kind: source.List, Items: []source.Value{v.Fields[i].Value, source.Text(p.Value)},
			}
		}
	}
	return v
}

func repeats(pairs []Pair) bool {
	seen := map[string]bool{}
	for _, p := range pairs {
		if seen[p.Name] {
			return true
		}
		seen[p.Name] = true
	}
	return false
}

// joined puts together the values of headers that stand more than once (RFC 9110, section 5.3; RFC 6265, section 5.4
// for cookies).
func joined(headers []Pair) []Pair {
	var all []Pair
	for _, h := range headers {
		i := slices.IndexFunc(all, func(p Pair) bool { return strings.EqualFold(p.Name, h.Name) })
		if i < 0 {
			all = append(all, h)
			continue
		}
		between := ", "
		if strings.EqualFold(h.Name, "Cookie") {
			between = "; "
		}
		all[i].Value += between + h.Value
	}
	return all
}

// credential matches names of headers, parameters and fields whose values are credentials.
var credential = text.Regexp(
	`(?i)auth|token|secret|passw|credential|cookie|session|(^|[-_])(key|pat|pass)$|api[-_]?key`)

// leastKey is how long a user without a password is that may be a key, in bytes. A shorter one is a name, which stands
// in many texts.
const leastKey = 8

// secrets returns the credentials of a request: its user's password, cookies, and values whose names say that they are
// some.
func (l *parsed) secrets(r Request) []Pair {
	var found []Pair
	add := func(name, value string) {
		if value != "" && !strings.Contains(value, "{{") {
			found = append(found, Pair{name, value})
		}
	}
	if user, password, _ := strings.Cut(l.user, ":"); password != "" {
		add("curl password", password)
	} else if len(user) >= leastKey { // some services take their key for the user
		add("curl user", user)
	}
	for _, h := range r.Headers {
		switch {
		case strings.EqualFold(h.Name, "Cookie"):
			for part := range strings.SplitSeq(h.Value, ";") {
				_, value, _ := strings.Cut(strings.TrimSpace(part), "=")
				add("curl cookie", value)
			}
		case credential().MatchString(h.Name):
			scheme, token, ok := strings.Cut(h.Value, " ")
			if !ok {
				token = scheme
			}
			add("curl "+h.Name, strings.TrimSpace(token))
		}
	}
	for _, p := range append(slices.Clone(r.Query), fields(r.Body)...) {
		if credential().MatchString(p.Name) && !ConversationName(p.Name) {
			add("curl "+p.Name, p.Value)
		}
	}
	if body, ok := document(r.Body); ok {
		secretsIn(body, add)
	}
	return found
}

func secretsIn(v source.Value, add func(name, value string)) {
	for _, f := range v.Fields {
		if f.Value.Kind == source.String && credential().MatchString(f.Name) && !ConversationName(f.Name) {
			add("curl "+f.Name, f.Value.Scalar)
		}
	}
	for i := range size(v) {
		secretsIn(child(v, i), add)
	}
}

// Read reads a pasted curl line as the mapping of a target. The redactor learns its credentials, also where the line is
// refused.
func Read(line string, secrets *redact.Redactor) (Request, source.Value, error) {
	request, err := Parse(line)
	if err != nil {
		return request, source.Value{}, err
	}
	for _, secret := range request.Secrets {
		secrets.Credential(secret.Name, secret.Value)
	}
	secrets.Address(request.URL)
	mapping, err := request.Target()
	return request, mapping, err
}
