package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// finder finds secrets in one pass over a text. It is a trie of the forms of all secrets. Where a text escapes a
// character as addresses, JSON or HTML do, the character counts, so that no escaped forms are kept.
type finder struct {
	nodes []node
	marks []string
	// likely has a bit for each pair of bytes with which a secret, or a mask, may begin.
	likely [1 << 16 / 64]uint64
	plain  []func(text string) bool
}

// The roots of the trie: of hex, which is found in either case, and of all other forms.
const (
	root    = 0
	hexRoot = 1
)

type node struct {
	edges []edge
	// mark is the number of the mask plus one; 0 where no form ends.
	mark int
	// before and after are how many characters of base64 beside the form hold bits of the secret.
	before, after int
}

type edge struct {
	by byte
	to int
}

// span is what one mask replaces.
type span struct{ from, to, mark int }

func newFinder(secrets []secret, plain []func(text string) bool) *finder {
	f := &finder{nodes: make([]node, 2), plain: plain}
	f.allow('[', 'r')
	for _, s := range secrets {
		f.marks = append(f.marks, "[redacted "+s.name+"]")
		mark := len(f.marks)
		if !s.encoded {
			f.add(s.value, node{mark: mark})
			f.addHex(s.value, mark)
		}
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for before := range 3 {
				f.addBase64(s.value, before, alphabet, mark)
			}
		}
	}
	return f
}

// empty reports whether no secret is known.
func (f *finder) empty() bool { return len(f.nodes) == 2 }

// stays reports whether a text is plain as a whole.
func (f *finder) stays(text string) bool {
	return slices.ContainsFunc(f.plain, func(is func(string) bool) bool { return is(text) })
}

// add adds a form. The first secret of several with one form names the mask.
func (f *finder) add(form string, end node) {
	at := root
	for _, by := range []byte(form) {
		at = f.grow(at, by)
	}
	if n := &f.nodes[at]; n.mark == 0 || n.before+n.after > 0 && end.before+end.after == 0 {
		n.mark, n.before, n.after = end.mark, end.before, end.after
	}
	f.allowStart(form[0], form[1])
}

// grow returns the node that an edge leads to, and makes it if it is missing.
func (f *finder) grow(at int, by byte) int {
	if to := f.step(at, by); to > 0 {
		return to
	}
	f.nodes = append(f.nodes, node{})
	f.nodes[at].edges = append(f.nodes[at].edges, edge{by, len(f.nodes) - 1})
	return len(f.nodes) - 1
}

// addBase64 adds the characters of base64 that the secret alone decides when so many bytes stand before it.
func (f *finder) addBase64(value string, before int, alphabet *base64.Encoding, mark int) {
	bits := (before + len(value)) * 8
	encoded := alphabet.EncodeToString(append(make([]byte, before), value...))
	form := encoded[(before*8+5)/6 : bits/6]
	if before == 0 && bits%6 == 0 {
		f.add(form, node{mark: mark})
		return
	}
	end := node{mark: mark, before: min(before, 1)}
	if bits%6 > 0 {
		end.after = 1
	}
	f.add(form, end)
}

func (f *finder) addHex(value string, mark int) {
	form := hex.EncodeToString([]byte(value))
	at := hexRoot
	for _, by := range []byte(form) {
		to := f.grow(at, by)
		if upper := by - 'a' + 'A'; by >= 'a' && f.step(at, upper) == 0 {
			f.nodes[at].edges = append(f.nodes[at].edges, edge{upper, to})
		}
		at = to
	}
	if f.nodes[at].mark == 0 {
		f.nodes[at].mark = mark
	}
	for _, first := range []byte{form[0], upperHex(form[0])} {
		for _, second := range []byte{form[1], upperHex(form[1])} {
			f.allow(first, second)
		}
	}
}

func upperHex(by byte) byte {
	if by >= 'a' {
		return by - 'a' + 'A'
	}
	return by
}

// allow notes that something may begin with a pair of bytes.
func (f *finder) allow(first, second byte) {
	pair := int(first)<<8 | int(second)
	f.likely[pair/64] |= 1 << (pair % 64)
}

// allowStart notes all ways in which a text may write the first two bytes of a form.
func (f *finder) allowStart(first, second byte) {
	f.allow(first, second)
	for _, escape := range []byte(`%\&+`) {
		f.allow(first, escape)
	}
	digit := hex.EncodeToString([]byte{first})[0]
	f.allow('%', digit)
	f.allow('%', upperHex(digit))
	f.allow('\\', 'u')
	if at := strings.IndexByte(meant, first); at >= 0 {
		f.allow('\\', escapes[at])
	}
	f.allow('&', '#')
	if !isBase64(first) || first == '+' {
		for letter := byte('a'); letter <= 'z'; letter++ { // &lt;, &Eacute;
			f.allow('&', letter)
			f.allow('&', letter-'a'+'A')
		}
	}
}

// The escapes of JSON with a letter, and what they mean.
const (
	escapes = `"\/bfnrt`
	meant   = "\"\\/\b\f\n\r\t"
)

// step returns the node that an edge leads to; 0 without one.
func (f *finder) step(at int, by byte) int {
	for _, e := range f.nodes[at].edges {
		if e.by == by {
			return e.to
		}
	}
	return 0
}

// stringOrBytes is what can be searched.
type stringOrBytes interface{ ~string | ~[]byte }

// find returns the spans of secrets in their order. Those that touch the same characters are one.
func find[T stringOrBytes](f *finder, s T) []span {
	spans, _ := search(f, s)
	return spans
}

// search is find, and returns where a secret may begin that does not end within s; len(s) when there is none.
func search[T stringOrBytes](f *finder, s T) (spans []span, open int) {
	open = len(s)
	if f.empty() {
		return nil, open
	}
	for i := 0; i+1 < len(s); i++ {
		pair := int(s[i])<<8 | int(s[i+1])
		if f.likely[pair/64]&(1<<(pair%64)) == 0 {
			continue
		}
		if s[i] == '[' {
			if n := f.masked(s, i); n > 0 { // what is masked already stays
				i += n - 1
				continue
			}
		}
		m := &matcher[T]{finder: f, s: s}
		m.walk(i, root)
		m.walkHex(i)
		if m.open {
			open = min(open, i)
		}
		if m.best.mark == 0 {
			continue
		}
		found := widened(f, s, i, m.best)
		if last := len(spans) - 1; last >= 0 && found.from < spans[last].to {
			spans[last].to = max(spans[last].to, found.to)
		} else {
			spans = append(spans, found)
		}
	}
	if len(s) > 0 && open == len(s) && f.begins(s[len(s)-1]) {
		open = len(s) - 1
	}
	return spans, open
}

// begins reports whether a secret may begin with a byte that is the last one of a text.
func (f *finder) begins(last byte) bool {
	return last == '%' || last == '\\' || last == '&' || f.step(root, last) > 0 || f.step(hexRoot, last) > 0
}

// masked returns the length of the mask that begins at i; 0 without one.
func (f *finder) masked(s any, i int) int {
	rest, _ := s.(string)
	if data, ok := s.([]byte); ok {
		rest = string(data[i:min(len(data), i+200)])
	} else {
		rest = rest[i:]
	}
	if !strings.HasPrefix(rest, "[redacted ") {
		return 0
	}
	for _, mark := range f.marks {
		if strings.HasPrefix(rest, mark) {
			return len(mark)
		}
	}
	return 0
}

// widened returns the span of a match at i, with the characters of base64 beside it that hold bits of the secret.
func widened[T stringOrBytes](f *finder, s T, i int, m match) span {
	n := f.nodes[m.node]
	found := span{i, m.end, m.mark}
	if n.before > 0 && i > 0 && isBase64(s[i-1]) {
		found.from--
	}
	if n.after > 0 && m.end < len(s) && isBase64(s[m.end]) {
		for found.to++; found.to < len(s) && found.to < m.end+3 && s[found.to] == '='; found.to++ {
		}
	}
	return found
}

func isBase64(by byte) bool {
	return by >= 'a' && by <= 'z' || by >= 'A' && by <= 'Z' || by >= '0' && by <= '9' || by == '+' || by == '/' ||
		by == '-' || by == '_'
}

// mask replaces spans by their masks.
func mask[T stringOrBytes](f *finder, s T, spans []span) []byte {
	masked := make([]byte, 0, len(s)+16*len(spans))
	at := 0
	for _, found := range spans {
		masked = append(masked, s[at:max(at, found.from)]...)
		masked = append(masked, f.marks[found.mark-1]...)
		at = found.to
	}
	return append(masked, s[at:]...)
}
