package variants

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// maxFolded is how many characters of a text a click unfolds.
const maxFolded = 20_000

// utterance is what somebody said, in parts.
type utterance struct {
	Parts []part
}

// part is a text, its beginning open and the rest folded.
type part struct {
	Text   string
	Folded string
	// FoldedLen counts the characters of Folded, Left those that are not on the page at all.
	FoldedLen, Left int
}

// add adds a text. So many of its characters are shown at once; the rest is folded.
func (u *utterance) add(said string, open int) {
	if strings.TrimSpace(said) == "" {
		return
	}
	var p part
	head, beyond := text.Cut(said, open+maxFolded)
	p.Left = beyond
	p.Text, p.FoldedLen = text.Cut(text.Visible(head), open)
	if p.FoldedLen < open/4 && p.Left == 0 {
		p.Text, p.FoldedLen = text.Visible(head), 0 // too little to fold away
	} else if p.FoldedLen > 0 {
		// Fold between words where there is one.
		if i := strings.LastIndexAny(p.Text, " \n"); i > len(p.Text)-100 {
			p.Text = p.Text[:i+1]
		}
		p.Folded = text.Visible(head)[len(p.Text):]
		_, p.FoldedLen = text.Cut(p.Folded, 0)
	}
	u.Parts = append(u.Parts, p)
}
