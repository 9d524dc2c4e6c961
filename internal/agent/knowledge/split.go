package knowledge

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxPassage is how many characters a passage has at most, without its title.
	maxPassage = 1_200
	// maxTitle bounds titles and the ids that authors give.
	maxTitle = 200
)

// splitText cuts a plain text into passages of whole paragraphs, numbered from 1.
func splitText(name, text string) []passage {
	c := newCutter(name)
	c.add("", "", text, 1)
	return c.passages
}

// cutter gathers the passages of one file.
type cutter struct {
	name     string
	passages []passage
	// used counts how often an id was wanted.
	used map[string]int
}

func newCutter(name string) *cutter { return &cutter{name: name, used: map[string]int{}} }

// add cuts a text into passages. The first gets the id, the others the id with a running number; without an id, all get
// numbers.
func (c *cutter) add(id, title, text string, line int) {
	if len(c.passages) > maxPassages { // too many already, so that more would only cost memory
		return
	}
	title = firstRunes(strings.Join(strings.Fields(title), " "), maxTitle)
	for _, piece := range pieces(text) {
		if title != "" {
			piece = title + "\n\n" + piece
		}
		c.passages = append(c.passages, passage{id: c.id(id), text: piece, line: line})
	}
}

// id returns the wanted id, with a number if another passage of the file has it.
func (c *cutter) id(wanted string) string {
	unique := wanted
	for unique == "" || c.used[unique] > 0 {
		c.used[wanted]++
		if wanted == "" {
			unique = fmt.Sprintf("%s#%d", c.name, c.used[wanted])
		} else {
			unique = fmt.Sprintf("%s.%d", wanted, c.used[wanted])
		}
	}
	c.used[unique]++
	return unique
}

// pieces packs whole paragraphs into texts of at most maxPassage characters. A longer paragraph is cut at the end of a
// line, a sentence or a word, if it has one.
func pieces(text string) []string {
	var packed []string
	last := 0 // characters of the last piece
	for _, paragraph := range paragraphs(text) {
		for len(paragraph) > 0 {
			head, rest := cutAt(paragraph, maxPassage)
			paragraph = rest
			length := utf8.RuneCountInString(head)
			switch n := len(packed); {
			case length == 0: // an indentation without end
			case n > 0 && last+2+length <= maxPassage:
				packed[n-1] += "\n\n" + head
				last += 2 + length
			default:
				packed, last = append(packed, head), length
			}
		}
	}
	return packed
}

// paragraphs returns the parts of a text between blank lines.
func paragraphs(text string) []string {
	var found []string
	start := -1
	at := 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			if start >= 0 {
				found = append(found, strings.TrimRightFunc(text[start:at], unicode.IsSpace))
			}
			start = -1
		} else if start < 0 {
			start = at
		}
		at += len(line)
	}
	if start >= 0 {
		found = append(found, strings.TrimRightFunc(text[start:], unicode.IsSpace))
	}
	return found
}

// cutAt returns at most n characters of a text that ends where a reader would pause, and the rest without its leading
// blanks.
func cutAt(text string, n int) (head, rest string) {
	end, count := len(text), 0
	for i := range text {
		if count == n {
			end = i
			break
		}
		count++
	}
	if end == len(text) {
		return text, ""
	}
	head = text[:end]
	for _, stop := range []string{"\n", ". ", "! ", "? ", "。", "！", "？", " "} {
		// Not too early: a first line that is like a heading would be a poor passage.
		if i := strings.LastIndex(head, stop); i > end/2 {
			head = head[:i+len(stop)]
			break
		}
	}
	return strings.TrimRightFunc(head, unicode.IsSpace), strings.TrimLeftFunc(text[len(head):], unicode.IsSpace)
}
