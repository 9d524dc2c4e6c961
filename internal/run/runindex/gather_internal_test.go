package runindex

import (
	"fmt"
	"strings"
	"testing"
)

// Words that a gatherer has forgotten, since it had met too many, are the same words to the lexicon when they come
// again.
func TestGathererForgets(t *testing.T) {
	many := func(from, to int) string {
		var text strings.Builder
		for n := from; n < to; n++ {
			fmt.Fprintf(&text, "w%d ", n)
		}
		return text.String()
	}
	x, g, known := &lexicon{}, &gatherer{}, &[]*postings{}
	rows := []*Row{{}, {}, {}}
	x.expect(rows)
	for _, text := range []string{many(0, maxMet+10), "w5 other", "other w7 w5 new"} {
		g.begin()
		g.add([]Passage{{Text: text}})
		x.take(g.gathered, known)
	}
	for word, want := range map[string]string{
		"w5": "[0 1 2]", "w7": "[0 2]", "w6": "[0]", "other": "[1 2]", "new": "[2]",
	} {
		var texts []uint32
		x.words[word].read(func(text uint32) { texts = append(texts, text) })
		if got := fmt.Sprint(texts); got != want {
			t.Errorf("%s stands in %s, want %s", word, got, want)
		}
	}
	if len(g.numbers) >= maxMet {
		t.Errorf("%d words are remembered", len(g.numbers))
	}
}
