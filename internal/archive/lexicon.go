package archive

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// lexicon knows in which texts of a run each word stands. It is made while the log is read, of the same records, and grows with it.
// It is safe for concurrent use.
type lexicon struct {
	mu    sync.RWMutex
	words map[string]*postings
	// rows are the records in the order of the log, also those that a later one has replaced; first is the number of the first text of each.
	rows  []*Row
	first []uint32
	texts []saying
}

// saying is who said a text, and in which turn: the turn times 8, and the place in sayers.
type saying uint32

// sayers are the roles of texts.
var sayers = []string{"", "user", "assistant", "tool", "system", "judge"}

func sayingOf(p Passage) saying {
	return saying(max(0, min(p.Turn, 1<<28))<<3 | max(0, slices.Index(sayers, p.Role)))
}

func (s saying) role() string { return sayers[s&7] }

// postings are the numbers of the texts with a word, each as the distance to the one before.
type postings struct {
	distances []byte
	last      uint32
}

func (p *postings) add(text uint32) {
	p.distances = binary.AppendUvarint(p.distances, uint64(text-p.last))
	p.last = text
}

// read calls do with each text.
func (p *postings) read(do func(text uint32)) {
	text := uint32(0)
	for at := 0; at < len(p.distances); {
		distance, n := binary.Uvarint(p.distances[at:])
		at += n
		text += uint32(distance)
		do(text)
	}
}

// gathered are the words of some records, with the numbers of their texts within these. Workers gather; the lexicon takes what they have gathered.
type gathered struct {
	words map[string][]uint32
	texts []saying
	// of is how many texts each record has.
	of []int
	// folded keeps what words with letters beyond ASCII become.
	folded map[string][]string
	lower  []byte
}

func newGathered() *gathered {
	return &gathered{words: map[string][]uint32{}, folded: map[string][]string{}}
}

// add gathers the words of one record.
func (g *gathered) add(passages []Passage) {
	for _, p := range passages {
		number := uint32(len(g.texts))
		g.texts = append(g.texts, sayingOf(p))
		g.split(p.Text, number)
	}
	g.of = append(g.of, len(passages))
}

// split gathers the words of a text. It finds those of the function split.
func (g *gathered) split(text string, number uint32) {
	g.lower = g.lower[:0]
	from, plain := 0, true
	for at := 0; at <= len(text); at++ {
		if at < len(text) && text[at] >= 0x80 {
			plain = false
			continue
		}
		if at < len(text) && asciiWord[text[at]] != 0 {
			continue
		}
		switch { // a word, or several of another script, ends
		case from == at:
		case plain:
			g.lower = g.lower[:0]
			for i := from; i < at; i++ {
				g.lower = append(g.lower, asciiWord[text[i]])
			}
			list, known := g.words[string(g.lower)]
			if !known || list[len(list)-1] != number {
				g.words[string(g.lower)] = append(list, number)
			}
		default:
			g.splitOther(text[from:at], number)
		}
		from, plain = at+1, true
	}
}

// maxFolded bounds how many words a batch remembers the folding of.
const maxFolded = 10_000

// splitOther gathers the words of a piece of text that has letters beyond ASCII.
func (g *gathered) splitOther(piece string, number uint32) {
	words, ok := g.folded[piece]
	if !ok {
		words = split(piece)
		if len(g.folded) < maxFolded {
			g.folded[strings.Clone(piece)] = words
		}
	}
	for _, word := range words {
		if list := g.words[word]; len(list) == 0 || list[len(list)-1] != number {
			g.words[strings.Clone(word)] = append(list, number)
		}
	}
}

// asciiWord has the small letter of each ASCII letter and each digit itself; 0 for what stands between words.
var asciiWord = func() (table [0x80]byte) {
	for c := byte('0'); c <= '9'; c++ {
		table[c] = c
	}
	for c := byte('a'); c <= 'z'; c++ {
		table[c], table[c-'a'+'A'] = c, c
	}
	return table
}()

// take adds what was gathered of records, whose rows are given in the same order.
func (x *lexicon) take(g *gathered, rows []*Row) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := uint32(len(x.texts))
	x.texts = append(x.texts, g.texts...)
	next := before
	for i, row := range rows {
		row.number = len(x.rows)
		x.rows, x.first = append(x.rows, row), append(x.first, next)
		next += uint32(g.of[i])
	}
	if x.words == nil {
		x.words = map[string]*postings{}
	}
	for word, list := range g.words {
		p := x.words[word]
		if p == nil {
			p = &postings{}
			x.words[strings.Clone(word)] = p
		}
		for _, text := range list {
			p.add(before + text)
		}
	}
}

// textsOf returns the numbers of the first text of a row and of the one behind its last; of a row that the lexicon does not know both are 0.
func (x *lexicon) textsOf(row *Row) (from, to int) {
	if row.number >= len(x.rows) || x.rows[row.number] != row {
		return 0, 0
	}
	if row.number+1 < len(x.first) {
		return int(x.first[row.number]), int(x.first[row.number+1])
	}
	return int(x.first[row.number]), len(x.texts)
}

// marked are numbers of texts, one bit for each.
type marked []uint64

func (m marked) set(text uint32) { m[text/64] |= 1 << (text % 64) }

// next returns the first text from one on that is marked and lies before another; -1 if there is none.
func (m marked) next(from, to int) int {
	for from < to {
		if rest := m[from/64] >> (from % 64); rest != 0 {
			if from += bits.TrailingZeros64(rest); from < to {
				return from
			}
			return -1
		}
		from = (from/64 + 1) * 64
	}
	return -1
}

// with returns the texts that may have the words of a question. They have them surely unless words must stand in a row.
// x.mu is held for reading.
func (x *lexicon) with(q Words) (found marked, surely bool) {
	surely = true
	for _, t := range q {
		surely = surely && len(t.Words) == 1
		for i, word := range t.Words {
			has := make(marked, (len(x.texts)+63)/64)
			if t.Prefix && i == len(t.Words)-1 {
				for known, p := range x.words {
					if strings.HasPrefix(known, word) {
						p.read(has.set)
					}
				}
			} else if p := x.words[word]; p != nil {
				p.read(has.set)
			}
			if found == nil {
				found = has
				continue
			}
			for i := range found {
				found[i] &= has[i]
			}
		}
	}
	return found, surely
}
