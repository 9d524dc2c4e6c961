package flow

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	// maxLevel is the coarsest level; its chunks are folded into one of the same level.
	maxLevel = 3
	// foldWidth is how many chunks of a level are folded into one.
	foldWidth = 4
)

// span is a range of turns, both ends included; it is empty when from is greater than to.
type span struct{ from, to int }

func newChunk(level int, turns span, text string) Chunk {
	return Chunk{Level: level, FromTurn: turns.from, ToTurn: turns.to, Text: text}.named()
}

// named returns the chunk with the ID made of its level and turns.
func (c Chunk) named() Chunk {
	c.ID = fmt.Sprintf("L%d-%d-%d", c.Level, c.FromTurn, c.ToTurn)
	return c
}

// tidy returns a copy in the order of the turns, with disjoint spans. The pipeline's own chunks are tidy; those of a
// seeded memory may be anything. tidy drops chunks that cover nothing or nothing new, gives overlaps to the earlier
// chunk, and clamps levels. Gaps remain.
func tidy(chunks []Chunk) []Chunk {
	sorted := slices.Clone(chunks)
	slices.SortStableFunc(sorted, func(a, b Chunk) int {
		return cmp.Or(cmp.Compare(a.FromTurn, b.FromTurn), cmp.Compare(b.ToTurn, a.ToTurn))
	})
	tidied := sorted[:0]
	end := 0 // the last turn that is covered
	for _, c := range sorted {
		if c.FromTurn < 1 || c.ToTurn < c.FromTurn || c.ToTurn <= end {
			continue
		}
		if c.Level != min(max(c.Level, 0), maxLevel) || c.FromTurn <= end {
			c.Level, c.FromTurn = min(max(c.Level, 0), maxLevel), max(c.FromTurn, end+1)
			c = c.named()
		}
		end = c.ToTurn
		tidied = append(tidied, c)
	}
	return tidied
}

// insertChunk returns tidy chunks with one more. It replaces the chunks within its turns, so that no span occurs twice.
// Only a seeded memory has a chunk that overlaps it; that chunk keeps the turns before it, or else those after it.
func insertChunk(chunks []Chunk, added Chunk) []Chunk {
	placed := make([]Chunk, 0, len(chunks)+1)
	for _, c := range chunks {
		switch {
		case c.ToTurn < added.FromTurn || c.FromTurn > added.ToTurn:
		case c.FromTurn < added.FromTurn:
			c.ToTurn = added.FromTurn - 1
			c = c.named()
		case c.ToTurn > added.ToTurn:
			c.FromTurn = added.ToTurn + 1
			c = c.named()
		default:
			continue
		}
		placed = append(placed, c)
	}
	placed = append(placed, added)
	slices.SortFunc(placed, func(a, b Chunk) int { return cmp.Compare(a.FromTurn, b.FromTurn) })
	return placed
}

// foldable returns the index of the oldest chunks to fold, of the lowest level with enough of them. They are adjacent:
// the pipeline's own levels never interleave, and folding across the interleaved levels of a seeded memory would make
// spans overlap.
func foldable(chunks []Chunk) (first int, found bool) {
	for level := range maxLevel + 1 {
		length := 0
		for i, c := range chunks {
			if c.Level != level {
				length = 0
				continue
			}
			if length++; length == foldWidth {
				return i - foldWidth + 1, true
			}
		}
	}
	return 0, false
}

// folded returns the chunk that adjacent chunks of one level become.
func folded(children []Chunk, text string) Chunk {
	last := children[len(children)-1]
	c := newChunk(min(last.Level+1, maxLevel), span{children[0].FromTurn, last.ToTurn}, text)
	for _, child := range children {
		c.Sources = append(c.Sources, child.ID)
	}
	return c
}

// topLevel returns the highest level of any chunk.
func topLevel(chunks []Chunk) int {
	top := 0
	for _, c := range chunks {
		top = max(top, c.Level)
	}
	return top
}
