package value

import (
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Bounds of the parts of an address, in bytes (RFC 5321, 4.5.3.1).
const (
	maxLocal  = 64
	maxDomain = 253
	maxLabel  = 63
)

// lastLabel matches the last part of a domain.
var lastLabel = text.Regexp(`^([a-z]+|xn--[a-z0-9-]+)$`)

// Email returns the address in the message, its domain in lower-case ASCII: the last one that no negation cancels. All
// addresses are taken, also those that do not count.
func (t *Text) Email() (Found, bool) {
	if !slices.Contains(t.rest, '@') {
		return Found{}, false
	}
	var all []Found
	var places []piece
	for _, w := range fields(t.rest) {
		for _, c := range candidates(t.rest, w) {
			if address, at := addressIn(t.rest, c); address != "" {
				all, places = append(all, Found{address, at.from, at.to}), append(places, at)
			}
		}
	}
	var last Found
	for i, negated := range t.negated(places, false) {
		if !negated {
			last = all[i]
		}
	}
	for _, p := range places {
		t.Remove(p.from, p.to)
	}
	return last, last.Value != ""
}

// between reports whether a character stands between words and addresses.
func between(r rune) bool {
	return strings.ContainsRune("<>()[]{},;:\"'=|`´\x00", r) || unicode.In(r, unicode.Pi, unicode.Pf) ||
		strings.ContainsRune("„‚〝〞〟＂＇「」『』", r)
}

// candidates returns the parts of a word that hold an @.
func candidates(text []byte, w piece) []piece {
	var all []piece
	add := func(p piece) {
		if slices.Contains(text[p.from:p.to], '@') {
			all = append(all, p)
		}
	}
	from := w.from
	for i := w.from; i < w.to; {
		r, size := utf8.DecodeRune(text[i:])
		if between(r) {
			add(piece{from, i})
			from = i + size
		}
		i += size
	}
	add(piece{from, w.to})
	return all
}

// addressIn returns the address that a candidate holds, and where it is; or nothing.
func addressIn(text []byte, c piece) (address string, at piece) {
	before, behind, _ := strings.Cut(string(text[c.from:c.to]), "@")
	said := strings.TrimRightFunc(behind, func(r rune) bool { return r != '-' && !isLetter(r) && !unicode.IsNumber(r) })
	local := before[len(before)-localRun(before):]
	domain := asciiDomain(said)
	if local == "" || len(local) > maxLocal || domain == "" {
		return "", piece{}
	}
	address = local + "@" + domain
	if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
		return "", piece{}
	}
	sign := c.from + len(before)
	return address, piece{sign - len(local), sign + 1 + len(said)}
}

// localRun returns how many bytes at the end of a text may stand before an @.
func localRun(text string) int {
	n := 0
	for n < len(text) {
		b := text[len(text)-1-n]
		if !('a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' ||
			strings.IndexByte(".!#$%&*+/?^_{}~-", b) >= 0) {
			break
		}
		n++
	}
	return n
}

// asciiDomain returns a domain as it is looked up, or nothing if it cannot be one.
func asciiDomain(said string) string {
	domain, err := idna.Lookup.ToASCII(said)
	if err != nil {
		return ""
	}
	domain = strings.ToLower(domain)
	labels := strings.Split(domain, ".")
	if len(domain) > maxDomain || len(labels) < 2 || !lastLabel().MatchString(labels[len(labels)-1]) {
		return ""
	}
	for _, l := range labels {
		if l == "" || len(l) > maxLabel || l[0] == '-' || l[len(l)-1] == '-' {
			return ""
		}
	}
	return domain
}
