package mine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

const (
	// maxTexts bounds the different texts of one transition or state, maxTextBytes the bytes of all texts.
	maxTexts     = 2_000
	maxTextBytes = 64 << 20
	// maxExampleLength and maxPromptLength bound the bytes of one text.
	maxExampleLength = 500
	maxPromptLength  = 2_000
)

// texts are different texts with their counts. The zero value is empty.
type texts struct {
	byKey map[string]*phrase
}

// phrase is one of them. Texts of the same words are one, shown as it was said first.
type phrase struct {
	key, shown string
	count      int
	// ended is the number of sessions that ended with it.
	ended int
	first time.Time
}

// budget bounds the kept text.
type budget struct {
	bytes   int
	refused int
}

// add counts a text and returns it. It is nil for one that finds no room, which is counted as refused, and for an empty
// one.
func (r *budget) add(t *texts, said string, at time.Time, length int) *phrase {
	shown := tidy(said, length)
	key := words(shown)
	if key == "" {
		return nil
	}
	known := t.byKey[key]
	if known == nil {
		size := len(key) + len(shown)
		if len(t.byKey) >= maxTexts || size > r.bytes {
			r.refused++
			return nil
		}
		r.bytes -= size
		if t.byKey == nil {
			t.byKey = map[string]*phrase{}
		}
		known = &phrase{key: key, shown: shown, first: at}
		t.byKey[key] = known
	}
	known.count++
	if at.Before(known.first) || at.Equal(known.first) && shown < known.shown {
		known.shown, known.first = shown, at
	}
	return known
}

// ranked returns the texts, the most frequent first, then those that were said first.
func (t *texts) ranked() []*phrase {
	all := make([]*phrase, 0, len(t.byKey))
	for _, known := range t.byKey {
		all = append(all, known)
	}
	slices.SortFunc(all, func(a, b *phrase) int {
		return cmp.Or(b.count-a.count, a.first.Compare(b.first), strings.Compare(a.key, b.key))
	})
	return all
}

// count returns how often the text with a key was said.
func (t *texts) count(key string) int {
	if known := t.byKey[key]; known != nil {
		return known.count
	}
	return 0
}

// joiner and nonJoiner are invisible, but emoji and some scripts need them.
const joiner, nonJoiner = '\u200d', '\u200c'

// tidy makes one line of a text, at most length bytes long. Invisible characters become blanks.
func tidy(said string, length int) string {
	line := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(said, "�"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) && r != joiner && r != nonJoiner
	}), " ")
	if len(line) <= length {
		return line
	}
	cut := length - len("…")
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}

// words returns the words of a text in lower case. Texts with the same words count as one; a text without words is like
// no other.
func words(shown string) string {
	found := strings.Join(strings.FieldsFunc(strings.ToLower(shown), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
	return cmp.Or(found, shown)
}

const (
	// startID and endID are the IDs of the start node and of an option that ends the flow, unless a state has such a
	// name.
	startID = "start"
	endID   = "end"
)

// names gives every state the id of the node that stands for it in a replay. States whose names are ids already keep
// them, in whatever order they come; of others that come to the same id the later ones get a number.
func names(states []*state) map[*state]string {
	ids, taken := map[*state]string{}, map[string]bool{}
	for _, s := range states {
		if flow.NodeID(s.name) == s.name {
			ids[s], taken[s.name] = s.name, true
		}
	}
	for _, s := range states {
		if ids[s] == "" {
			ids[s] = free(flow.NodeID(s.name), taken)
			taken[ids[s]] = true
		}
	}
	return ids
}

// free returns an ID that is not taken: the given one, or that one with a number.
func free(id string, taken map[string]bool) string {
	for n, candidate := 2, id; ; n++ {
		if !taken[candidate] {
			return candidate
		}
		candidate = fmt.Sprintf("%s_%d", id, n)
	}
}

// label returns a readable form of a state's name.
func label(name string) string {
	text := strings.Join(strings.FieldsFunc(tidy(name, maxStateName), func(r rune) bool {
		return unicode.IsSpace(r) || r == '_'
	}), " ")
	for i, r := range text {
		return text[:i] + string(unicode.ToUpper(r)) + text[i+len(string(r)):]
	}
	return "State"
}
