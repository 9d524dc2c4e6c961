package transcript

import (
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/markdown"
)

// Limits of one message, in characters: what is shown at once, and what is folded below.
const (
	maxOpen   = 20_000
	maxFolded = 200_000
	maxImage  = 300 << 10
)

// Message is a message of a conversation. It is Silent when it has nothing but blanks.
type Message struct {
	Role   string
	Parts  []Part
	Silent bool
}

// Part is a text of a message, its beginning and what is folded, or an image.
type Part struct {
	Head, Folded template.HTML
	// Plain has the characters of Head, where they are wanted beside it and differ.
	Plain     template.HTML
	FoldedLen int
	// Left counts the characters that are not on the page.
	Left  int
	Image template.URL
}

// MessageOf returns a message; marks are those of a text.
func MessageOf(role string, c chat.Content, marks []markdown.Mark, as Messages) Message {
	m := Message{Role: text.OneLine(role, 20)}
	if c.Blocks == nil {
		m.say(c.Text, marks, as)
	}
	for _, b := range c.Blocks {
		if image, ok := imageOf(b); ok {
			m.Parts = append(m.Parts, Part{Image: image})
			continue
		}
		m.say(chat.Content{Blocks: []chat.Block{b}}.String(), marks, as)
	}
	m.Silent = len(m.Parts) == 0
	return m
}

func (m *Message) say(said string, marks []markdown.Mark, as Messages) {
	if strings.TrimSpace(said) == "" {
		return
	}
	head, _ := text.Cut(said, maxOpen)
	rest, left := text.Cut(said[len(head):], maxFolded)
	p := Part{Left: left}
	if as == Raw {
		p.Head = markdown.Plain(head, marks)
	} else {
		var hidden bool
		// the characters have what a grader decided on
		if p.Head, hidden = markdown.Markdown(head, before(marks, head)); hidden {
			p.Plain = markdown.Plain(head, marks)
		} else if as == Both && markdown.Formatted(head) {
			p.Plain = markdown.Plain(head, nil)
		}
	}
	if rest != "" {
		p.Folded = markdown.Plain(rest, markdown.After(marks, utf8.RuneCountInString(head)))
		p.FoldedLen = utf8.RuneCountInString(rest)
	}
	m.Parts = append(m.Parts, p)
}

// before returns the marks that begin in the head of a message.
func before(marks []markdown.Mark, head string) []markdown.Mark {
	n := utf8.RuneCountInString(head)
	return slices.DeleteFunc(slices.Clone(marks), func(m markdown.Mark) bool { return m.From >= n })
}

var imageURL = text.Regexp(`^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$`)

// imageOf returns the address of an image that a page may show: a bitmap that is in the record itself.
func imageOf(b chat.Block) (template.URL, bool) {
	if b.Type != "image" || len(b.Value) > maxImage || !imageURL().MatchString(b.Value) {
		return "", false
	}
	return template.URL(b.Value), true //nolint:gosec // the pattern admits nothing but base64
}
