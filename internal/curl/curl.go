// Package curl reads a pasted curl line as the request of a chat agent, and finds where the user's message and the conversation's id stand
// in it. It runs nothing.
package curl

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"rehearse/internal/shell"
)

// Request is what a curl line sends.
type Request struct {
	// URL is the address without query; Query are its parameters in their order.
	URL   string
	Query []Pair
	// Method is as the line says it, else what curl would use.
	Method  string
	Headers []Pair
	// Body is the text that is sent; empty without one. Form is true for the fields of a form, JSON for a JSON document.
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
	l := &parsed{words: words[1:]}
	if err := l.read(); err != nil {
		return Request{}, err
	}
	return l.request()
}

// parsed is a line as far as it is read.
type parsed struct {
	words   []string
	address string
	method  string
	user    string
	headers []Pair
	data    []string
	hasData bool
	// json is true for --json; get puts the data into the query.
	json, get bool
}

// option is what curl calls an option: its letter, if it has one, and what it does with its value. Options without a value have no take.
type option struct {
	letter byte
	name   string
	take   func(l *parsed, value string) error
	do     func(l *parsed)
}

// options are those that are understood (curl.se/docs/manpage.html). Those that neither take nor do change nothing of a request.
var options = [...]option{
	{'X', "request", func(l *parsed, v string) error { l.method = v; return nil }, nil},
	{'H', "header", (*parsed).header, nil},
	{'d', "data", (*parsed).plainData, nil},
	{0, "data-ascii", (*parsed).plainData, nil},
	{0, "data-binary", (*parsed).plainData, nil},
	{0, "data-raw", func(l *parsed, v string) error { return l.add(v, "&") }, nil},
	{0, "data-urlencode", (*parsed).encoded, nil},
	{0, "json", (*parsed).jsonData, nil},
	{'G', "get", nil, func(l *parsed) { l.get = true }},
	{'u', "user", func(l *parsed, v string) error { l.user = v; return nil }, nil},
	{'b', "cookie", (*parsed).cookie, nil},
	{'A', "user-agent", func(l *parsed, v string) error { return l.header("User-Agent: " + v) }, nil},
	{'e', "referer", func(l *parsed, v string) error { return l.header("Referer: " + strings.TrimSuffix(v, ";auto")) }, nil},
	{0, "url", (*parsed).target, nil},
	{'s', "silent", nil, nil}, {'S', "show-error", nil, nil}, {'L', "location", nil, nil}, {'i', "include", nil, nil},
	{'i', "show-headers", nil, nil}, {'v', "verbose", nil, nil}, {'N', "no-buffer", nil, nil}, {0, "compressed", nil, nil},
}

func (l *parsed) read() error {
	for len(l.words) > 0 {
		word := l.words[0]
		l.words = l.words[1:]
		var err error
		switch {
		case strings.HasPrefix(word, "--") && len(word) > 2:
			err = l.long(word)
		case strings.HasPrefix(word, "-") && len(word) > 1 && word != "--":
			err = l.short(word)
		case word == "|" || word == ";" || word == "&" || word == "&&" || word == "||" || strings.HasPrefix(word, ">") || strings.HasPrefix(word, "<"):
			err = fmt.Errorf("%s is for a shell: leave it and what follows out of the curl line", word)
		case word != "--":
			err = l.target(word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *parsed) long(word string) error {
	for _, o := range options {
		if "--"+o.name == word {
			return l.apply(o, word, "", false)
		}
	}
	return unknown(word)
}

// short reads letters behind one -, such as -sX POST or -XPOST.
func (l *parsed) short(word string) error {
	for rest := word[1:]; rest != ""; rest = rest[1:] {
		o, ok := byLetter(rest[0])
		if !ok {
			return unknown("-" + strings.ToValidUTF8(rest[:1], "?"))
		}
		if o.take != nil {
			return l.apply(o, "-"+rest[:1], rest[1:], rest[1:] != "")
		}
		if err := l.apply(o, "", "", false); err != nil {
			return err
		}
	}
	return nil
}

func byLetter(letter byte) (option, bool) {
	for _, o := range options {
		if o.letter == letter {
			return o, true
		}
	}
	return option{}, false
}

func unknown(word string) error {
	return fmt.Errorf("%s of curl is not understood here: leave it out, or write the target into rehearse.yaml", word)
}

// apply carries an option out. Its value is the given one, else the next word.
func (l *parsed) apply(o option, shown, value string, given bool) error {
	switch {
	case o.do != nil:
		o.do(l)
	case o.take != nil && given:
		return o.take(l, value)
	case o.take != nil:
		if len(l.words) == 0 {
			return fmt.Errorf("%s of curl needs a value", shown)
		}
		value, l.words = l.words[0], l.words[1:]
		return o.take(l, value)
	}
	return nil
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

func (l *parsed) plainData(text string) error {
	if strings.HasPrefix(text, "@") {
		return errors.New("-d @FILE of curl reads a file: write the data itself")
	}
	return l.add(text, "&")
}

func (l *parsed) jsonData(text string) error {
	if strings.HasPrefix(text, "@") {
		return errors.New("--json @FILE of curl reads a file: write the data itself")
	}
	l.json = true
	return l.add(text, "")
}

// encoded keeps content, =content or NAME=CONTENT with the content percent-encoded.
func (l *parsed) encoded(text string) error {
	name, content, named := strings.Cut(text, "=")
	if !named {
		name, content = "", text
	}
	if strings.Contains(name, "@") || !named && strings.Contains(text, "@") {
		return errors.New("--data-urlencode with @FILE of curl reads a file: write the data itself")
	}
	content = escaped(content)
	if name != "" {
		content = name + "=" + content
	}
	return l.add(content, "&")
}

func (l *parsed) add(text, separator string) error {
	if l.hasData {
		text = separator + text
	}
	l.data, l.hasData = append(l.data, text), true
	return nil
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
		r.Headers = append(r.Headers, Pair{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(l.user))})
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

// fields reads a=b&c=d. What is badly encoded stays as it is.
func fields(text string) []Pair {
	var pairs []Pair
	for part := range strings.SplitSeq(text, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		pairs = append(pairs, Pair{unescaped(name), unescaped(value)})
	}
	return pairs
}

func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// escaped percent-encodes a text. A placeholder stays: its value is encoded when it is known.
func escaped(text string) string {
	var b strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "{{")
		inside, after, closed := strings.Cut(rest, "}}")
		if !found || !closed {
			before, inside, after = text, "", ""
		}
		b.WriteString(url.QueryEscape(before))
		if inside != "" {
			b.WriteString("{{" + inside + "}}")
		}
		text = after
	}
	return b.String()
}
