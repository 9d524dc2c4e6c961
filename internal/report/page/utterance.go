package page

import (
	"html/template"
	"regexp"
	"strings"

	"rehearse/internal/chat"
	"rehearse/internal/text"
)

// Limits of one text on the page: what is shown at once, and what a click unfolds.
const (
	maxOpen   = 1_500
	maxFolded = 20_000
	maxImage  = 300 << 10
)

// Utterance is what somebody said, in parts.
type Utterance struct {
	Who   string
	Parts []part
}

// part is a text, its beginning open and the rest folded, or an image.
type part struct {
	Text   string
	Folded string
	// FoldedLen counts the characters of Folded, Left those that are not on the page at all.
	FoldedLen, Left int
	Image           template.URL
}

// Empty reports whether nothing was said.
func (u Utterance) Empty() bool { return len(u.Parts) == 0 }

// UtteranceOf returns what somebody said as the page shows it: texts, and the images that the record itself has.
func UtteranceOf(who string, c chat.Content) Utterance {
	u := Utterance{Who: text.OneLine(who, 20)}
	if c.Blocks == nil {
		u.say(c.Text)
	}
	for _, b := range c.Blocks {
		if url, ok := imageOf(b); ok {
			u.Parts = append(u.Parts, part{Image: url})
			continue
		}
		u.say(chat.Content{Blocks: []chat.Block{b}}.String())
	}
	return u
}

func (u *Utterance) say(said string) { u.SayOpen(said, maxOpen) }

// SayOpen adds a said of which the first characters are shown at once.
func (u *Utterance) SayOpen(said string, open int) {
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

var imageURL = regexp.MustCompile(`^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$`)

// imageOf returns the address of an image that the page may show: a bitmap that is in the record itself.
// Anything else could call home or, as SVG, hold a script.
func imageOf(b chat.Block) (template.URL, bool) {
	if b.Type != "image" || len(b.Value) > maxImage || !imageURL.MatchString(b.Value) {
		return "", false
	}
	return template.URL(b.Value), true //nolint:gosec // the pattern admits nothing but base64
}
