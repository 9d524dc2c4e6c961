package runindex

import (
	"encoding/binary"
	"math/bits"
	"os"
	"slices"
	"strings"
	"sync"
)

// lexicon knows in which texts of a run each word stands. It learns the words of a record some time after its row was
// read, and grows with the log. It is safe for concurrent use.
type lexicon struct {
	// log is the file that the records stand in.
	log os.FileInfo

	mu    sync.RWMutex
	words map[string]*postings
	// rows are the records in the order of the log, also those that a later one has replaced; first is the number of
	// the first text of each whose words are known.
	rows  []*Row
	first []uint32
	texts []saying
	// learning is closed when the words that are being learned are known, or failed says why they are not; nil while
	// none are.
	learning chan struct{}
	failed   error
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

// expect adds the rows of records whose words are to be learned, in the order of the log.
func (x *lexicon) expect(rows []*Row) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, row := range rows {
		row.number = len(x.rows)
		x.rows = append(x.rows, row)
	}
}

// expected returns how many records the lexicon has the rows of; nil has none.
func (x *lexicon) expected() int {
	if x == nil {
		return 0
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.rows)
}

// take adds what was gathered of the next records. Known are the postings of the words that the gatherer has met; take
// keeps them up to date.
func (x *lexicon) take(g *gathered, known *[]*postings) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.words == nil {
		x.words = map[string]*postings{}
	}
	if g.anew {
		*known = nil
	}
	for _, word := range g.met {
		p := x.words[word]
		if p == nil {
			p = &postings{}
			x.words[word] = p
		}
		*known = append(*known, p)
	}
	from := 0
	for i, to := range g.ends {
		text := uint32(len(x.texts) + i)
		for _, word := range g.words[from:to] {
			(*known)[word].add(text)
		}
		from = to
	}
	next := uint32(len(x.texts))
	for _, texts := range g.of {
		x.first = append(x.first, next)
		next += uint32(texts)
	}
	x.texts = append(x.texts, g.texts...)
}

// textsOf returns the numbers of the first text of a row and of the one behind its last; of a row whose words are not
// known both are 0.
func (x *lexicon) textsOf(row *Row) (from, to int) {
	if row.number >= len(x.first) || x.rows[row.number] != row {
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

// with returns the texts that have the words of a question; those that must stand in a row may stand apart there. x.mu
// is held for reading.
func (x *lexicon) with(q Words) (found marked) {
	for _, t := range q {
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
	return found
}
