package runindex

import "strings"

// gatherer finds the words of records. It numbers the words that it meets, so that whoever takes them need not look
// each up again.
type gatherer struct {
	numbers map[string]uint32
	// last is the text in which each word was met last; text counts them from 1.
	last []uint32
	text uint32
	// folded are the words of what has letters beyond ASCII.
	folded map[string][]string
	lower  []byte
	*gathered
}

// gathered are the words of some records.
type gathered struct {
	// met are the words that were met for the first time, numbered on from those before; anew is true where numbers
	// begin again from 0.
	met  []string
	anew bool
	// texts are those of the records; of says how many each record has.
	texts []saying
	of    []int
	// words are the numbers of the words of the texts, each once a text; ends says where those of each text end.
	words []uint32
	ends  []int
}

// maxMet bounds how many words a gatherer remembers, maxFolded of how many it remembers the folding.
const (
	maxMet    = 200_000
	maxFolded = 10_000
)

// begin makes room for the words of the next records.
func (g *gatherer) begin() {
	g.gathered = &gathered{}
	if g.numbers == nil || len(g.numbers) > maxMet {
		g.numbers, g.last, g.folded, g.anew = map[string]uint32{}, nil, map[string][]string{}, true
	}
}

// add gathers the words of one record.
func (g *gatherer) add(passages []Passage) {
	for _, p := range passages {
		g.text++
		g.texts = append(g.texts, sayingOf(p))
		g.split(p.Text)
		g.ends = append(g.ends, len(g.words))
	}
	g.of = append(g.of, len(passages))
}

// split gathers the words of a text. It finds those of the function split.
func (g *gatherer) split(text string) {
	from, plain := 0, true
	g.lower = g.lower[:0]
	for at := 0; at <= len(text); at++ {
		if at < len(text) && text[at] >= 0x80 {
			plain = false
			continue
		}
		if at < len(text) {
			if small := asciiWord[text[at]]; small != 0 {
				g.lower = append(g.lower, small)
				continue
			}
		}
		switch { // a word, or several of another script, ends
		case from == at:
		case plain:
			g.word(g.lower)
		default:
			g.splitOther(text[from:at])
		}
		from, plain, g.lower = at+1, true, g.lower[:0]
	}
}

// word notes that a word stands in the text.
func (g *gatherer) word(word []byte) {
	number, known := g.numbers[string(word)]
	if !known {
		number = uint32(len(g.last))
		kept := string(word)
		g.numbers[kept] = number
		g.met, g.last = append(g.met, kept), append(g.last, 0)
	}
	if g.last[number] != g.text {
		g.last[number] = g.text
		g.words = append(g.words, number)
	}
}

// splitOther gathers the words of a piece of text that has letters beyond ASCII.
func (g *gatherer) splitOther(piece string) {
	words, ok := g.folded[piece]
	if !ok {
		words = split(piece)
		if len(g.folded) < maxFolded {
			g.folded[strings.Clone(piece)] = words
		}
	}
	for _, word := range words {
		g.word([]byte(word))
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
