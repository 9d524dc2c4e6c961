// Package curl reads a pasted curl line as the request of a chat agent, and finds where the user's message and the
// conversation's id stand in it. It runs nothing.
package curl

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/shell"
)

// Request is what a curl line sends.
type Request struct {
	// URL is the address without query; Query are its parameters in their order.
	URL   string
	Query []Pair
	// Method is as the line says it, else what curl would use.
	Method  string
	Headers []Pair
	// Body is the text that is sent; empty without one. Form is true for the fields of a form, JSON for a JSON
	// document.
	Body       string
	Form, JSON bool
	// Secrets are the credentials of the line.
	Secrets []Pair
}

// Pair is a name with its value.
type Pair struct{ Name, Value string }

// maxLine bounds a pasted line.
const maxLine = 1 << 20

// Parse reads a curl line. An option that is not understood is an error that names it.
func Parse(line string) (Request, error) {
	if len(line) > maxLine {
		return Request{}, fmt.Errorf("the curl line is longer than %d KB", maxLine>>10)
	}
	words, err := shell.Words(line)
	if err != nil {
		return Request{}, fmt.Errorf("the curl line: %w", err)
	}
	if len(words) > 0 && words[0] == "$" { // a prompt that was pasted along
		words = words[1:]
	}
	if len(words) == 0 || words[0] != "curl" {
		return Request{}, errors.New("the line does not begin with curl")
	}
	l := &parsed{}
	if err := l.read(words[1:]); err != nil {
		return Request{}, err
	}
	return l.request()
}

// parsed is a line as far as it is read.
type parsed struct {
	address string
	method  string
	user    string
	headers []Pair
	data    []string
	hasData bool
	// json is true for --json; get puts the data into the query.
	json, get bool
}

func (l *parsed) target(word string) error {
	if l.address != "" {
		return errors.New("the curl line has two addresses: write one request")
	}
	l.address = word
	return nil
}

// header keeps "Name: value". "Name;" is an empty header, "Name:" takes one of curl's own away.
func (l *parsed) header(text string) error {
	if strings.HasPrefix(text, "@") {
		return errors.New("-H @FILE of curl reads a file: write the header itself")
	}
	name, value, colon := strings.Cut(text, ":")
	if name = strings.TrimSpace(name); name == "" {
		return errors.New("a header of the curl line has no name")
	}
	value = strings.TrimSpace(value)
	if strings.EqualFold(name, "Accept-Encoding") {
		return nil // as --compressed: answers are read as they come
	}
	if !colon {
		name = strings.TrimSuffix(name, ";")
	} else if value == "" {
		return nil
	}
	l.headers = append(l.headers, Pair{name, value})
	return nil
}

func (l *parsed) cookie(text string) error {
	if !strings.Contains(text, "=") {
		return errors.New("-b FILE of curl reads a file: write the cookies as NAME=VALUE")
	}
	return l.header("Cookie: " + text)
}

// request puts together what curl would send.
func (l *parsed) request() (Request, error) {
	if l.address == "" {
		return Request{}, errors.New("the curl line has no address")
	}
	if !strings.Contains(l.address, "://") {
		l.address = "http://" + l.address
	}
	body := strings.Join(l.data, "")
	r := Request{Method: l.method, Headers: l.headers}
	var err error
	if r.URL, r.Query, err = split(l.address); err != nil {
		return r, err
	}
	if l.get {
		r.Query, body, l.hasData = append(r.Query, fields(body)...), "", false
	}
	if r.Method == "" {
		r.Method = "GET"
		if l.hasData {
			r.Method = "POST"
		}
	}
	r.Body = body
	if l.user != "" {
		if !strings.Contains(l.user, ":") {
			l.user += ":" // curl would ask for a password
		}
		r.Headers = append(r.Headers, Pair{
			"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(l.user)),
		})
	}
	l.describe(&r)
	r.Secrets = l.secrets(r)
	return r, nil
}

// split takes the query and its parameters off an address.
func split(address string) (string, []Pair, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return "", nil, errors.New("the address of the curl line is not http or https")
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	if rest == "" || strings.HasPrefix(rest, "/") {
		return "", nil, errors.New("the address of the curl line has no host")
	}
	return scheme + "://" + rest, fields(query), nil
}
