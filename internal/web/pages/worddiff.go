package pages

import (
	"html/template"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// maxText is how many characters of a text pages look at when they compare or search it.
const maxText = 20_000

// maxCompared bounds how many words of each side are compared one by one; longer texts are marked as a whole between
// what they begin and end with.
const maxCompared = 1_500

// differing returns two texts with the words marked that the other lacks: in del in the first, in ins in the second.
func differing(a, b string, both bool) (one, other template.HTML) {
	a, _ = text.Cut(a, maxText)
	b, _ = text.Cut(b, maxText)
	x, y := wordsOf(a), wordsOf(b)
	if !both || a == b {
		return marked(x, nil, ""), marked(y, nil, "")
	}
	changedX, changedY := changedWords(x, y)
	return marked(x, changedX, "del"), marked(y, changedY, "ins")
}

// wordsOf cuts a text into words and what stands between them; joined they are the text.
func wordsOf(s string) (words []string) {
	from, space := 0, false
	for i, r := range s {
		if is := unicode.IsSpace(r); is != space && i > from {
			words, from = append(words, s[from:i]), i
		}
		space = unicode.IsSpace(r)
	}
	if from < len(s) {
		words = append(words, s[from:])
	}
	return words
}

// changedWords reports of each word whether it belongs to no longest common subsequence that was found.
func changedWords(x, y []string) (inX, inY []bool) {
	inX, inY = make([]bool, len(x)), make([]bool, len(y))
	from := 0
	for from < min(len(x), len(y)) && x[from] == y[from] {
		from++
	}
	endX, endY := len(x), len(y)
	for endX > from && endY > from && x[endX-1] == y[endY-1] {
		endX, endY = endX-1, endY-1
	}
	n, m := endX-from, endY-from
	for i := range n {
		inX[from+i] = true
	}
	for i := range m {
		inY[from+i] = true
	}
	if n == 0 || m == 0 || n > maxCompared || m > maxCompared {
		return inX, inY
	}
	longest := make([][]int16, n+1) // of the words from i and j on
	for i := range longest {
		longest[i] = make([]int16, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if x[from+i] == y[from+j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case x[from+i] == y[from+j]:
			inX[from+i], inY[from+j] = false, false
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return inX, inY
}

// marked writes words; those that changed stand in an element.
func marked(words []string, changed []bool, element string) template.HTML {
	var b strings.Builder
	open := false
	for i, word := range words {
		is := changed != nil && changed[i]
		if is != open {
			b.WriteString(map[bool]string{true: "<" + element + ">", false: "</" + element + ">"}[is])
			open = is
		}
		b.WriteString(template.HTMLEscapeString(text.Visible(word)))
	}
	if open {
		b.WriteString("</" + element + ">")
	}
	return template.HTML(b.String()) //nolint:gosec // every word is escaped, and the elements are its own
}
