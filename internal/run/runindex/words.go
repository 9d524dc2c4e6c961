package runindex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Words is a question of words: all of them must stand in a text, in any order. The zero value fits every text.
type Words []Term

// Term is words that stand in a row; Prefix is true where the last is only a beginning.
type Term struct {
	Words  []string
	Prefix bool
}

// inARow reports whether words must stand in a row.
func (w Words) inARow() bool {
	return slices.ContainsFunc(w, func(t Term) bool { return len(t.Words) > 1 })
}

// maxTerms bounds a question.
const maxTerms = 32

// ParseWords reads a question: words, "words in a row", and begin* for a beginning. Case and accents do not count.
func ParseWords(q string) (terms Words) {
	for i, part := range strings.Split(q, `"`) {
		if i%2 == 1 {
			if words := split(part); len(words) > 0 {
				terms = append(terms, Term{Words: words})
			}
			continue
		}
		for word := range strings.FieldsSeq(part) {
			if words := split(word); len(words) > 0 {
				terms = append(terms, Term{words, strings.HasSuffix(word, "*")})
			}
		}
	}
	return terms[:min(len(terms), maxTerms)]
}

// folders are transformers that Fold uses, one text after another: making one takes longer than folding a sentence.
var folders = sync.Pool{New: func() any {
	return transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC, cases.Fold())
}}

// Fold returns a text without case and accents.
func Fold(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 {
		return strings.ToLower(s)
	}
	folder := folders.Get().(transform.Transformer)
	defer folders.Put(folder)
	folded, _, err := transform.String(folder, s)
	if err != nil {
		return strings.ToLower(s)
	}
	return folded
}

// unspaced are scripts that set no blanks between words: each of their characters is a word, so that what is looked for
// is found as a row of them.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// firstUnspaced is the first character of these scripts: most texts have none behind it.
const firstUnspaced = '\u0e01'

func isUnspaced(r rune) bool { return r >= firstUnspaced && unicode.In(r, unspaced...) }

// split returns the words of a text, folded.
func split(s string) []string {
	words := strings.FieldsFunc(Fold(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	if strings.IndexFunc(s, isUnspaced) < 0 {
		return words
	}
	var all []string
	for _, word := range words {
		from := 0
		for i, r := range word {
			if !isUnspaced(r) {
				continue
			}
			if from < i {
				all = append(all, word[from:i])
			}
			from = i + utf8.RuneLen(r)
			all = append(all, word[i:from])
		}
		if from < len(word) {
			all = append(all, word[from:])
		}
	}
	return all
}

// Fit reports whether the words stand in a text.
func (w Words) Fit(text string) bool {
	words := split(text)
	return !slices.ContainsFunc(w, func(t Term) bool { return !t.in(words) })
}

func (t Term) in(words []string) bool {
	for i := 0; i+len(t.Words) <= len(words); i++ {
		if t.at(words[i:]) {
			return true
		}
	}
	return false
}

func (t Term) at(words []string) bool {
	last := len(t.Words) - 1
	for i, word := range t.Words {
		if words[i] != word && (i < last || !t.Prefix || !strings.HasPrefix(words[i], word)) {
			return false
		}
	}
	return true
}

// Passage is a text of a conversation that can be found: what somebody said, an id, or a reason. Turn is 0 for the
// whole conversation.
type Passage struct {
	Turn int
	// Role is user, assistant, tool, system or judge; empty for ids and failures.
	Role string
	Text string
}

// Passages returns the texts of a record.
func Passages(t *result.Test) (all []Passage) {
	add := func(turn int, role, text string) {
		if strings.TrimSpace(text) != "" {
			all = append(all, Passage{turn, role, text})
		}
	}
	add(0, "", t.TestID)
	for _, x := range t.Turns {
		add(x.Index, "", x.TurnID)
		add(x.Index, "user", x.Input.String())
		add(x.Index, "assistant", x.Output)
		for _, c := range x.ToolCalls {
			add(x.Index, "tool", c.Name+" "+Plain(c.Args)+" "+Plain(c.Result))
		}
	}
	for _, m := range t.Output {
		if m.Role == "system" {
			add(0, "system", m.Content.String())
		}
	}
	for _, s := range t.Scores {
		for _, a := range s.Assertions {
			add(turnOf(s.Name), "judge", a.Evidence)
		}
		for _, f := range s.Failures {
			add(turnOf(s.Name), "", f.Message)
		}
	}
	for _, f := range t.Failures {
		add(f.Turn, "", f.Message)
	}
	add(0, "", t.SkipReason)
	return all
}

// Plain returns what a piece of JSON says. Escapes in it would hide words: of a\nb the second would be nb.
func Plain(raw json.RawMessage) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var said strings.Builder
	tokens := json.NewDecoder(bytes.NewReader(raw))
	tokens.UseNumber()
	for {
		token, err := tokens.Token()
		if err != nil { // the end: it was read as JSON before
			return strings.TrimSpace(said.String())
		}
		if token == nil {
			token = "null"
		}
		fmt.Fprint(&said, token, " ")
	}
}

// turnOf returns the turn of an item such as turn-3; 0 for the conversation's own.
func turnOf(item string) (n int) {
	digits, ok := strings.CutPrefix(item, "turn-")
	if !ok || len(digits) > 6 {
		return 0
	}
	for _, r := range digits {
		if r < '0' || r > '9' {
			return 0
		}
		n = 10*n + int(r-'0')
	}
	return n
}

// Begins returns how many of the words of a text, as they are between blanks, hold the term where they begin; 0 where
// they do not.
func (t Term) Begins(text []string) (n int) {
	var words []string
	for i, word := range text {
		words = append(words, split(word)...)
		if len(words) >= len(t.Words) {
			for from := range words {
				if from+len(t.Words) <= len(words) && t.at(words[from:]) {
					return i + 1
				}
				if i > 0 {
					break // a term that begins in a later word begins there
				}
			}
			return 0
		}
	}
	return 0
}
