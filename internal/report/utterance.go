package report

import (
	"bytes"
	"encoding/json"
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
	maxJSON   = 6_000
)

// utterance is what somebody said, in parts.
type utterance struct {
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
func (u utterance) Empty() bool { return len(u.Parts) == 0 }

func utteranceOf(who string, c chat.Content) utterance {
	u := utterance{Who: text.OneLine(who, 20)}
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

func (u *utterance) say(said string) { u.sayOpen(said, maxOpen) }

// sayOpen adds a said of which the first characters are shown at once.
func (u *utterance) sayOpen(said string, open int) {
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

// call is one use of a tool. Short ones stand on one line.
type call struct {
	Name, Args, Result, Took string
	Short                    bool
}

func callOf(c chat.ToolCall) call {
	v := call{Name: text.OneLine(c.Name, 100), Result: pretty(c.Result)}
	v.Args = text.OneLine(textOf(c.Args), 200)
	v.Short = len(v.Args) <= 120
	if !v.Short {
		v.Args = pretty(c.Args)
	}
	if c.LatencyMS > 0 {
		v.Took = text.Milliseconds(c.LatencyMS)
	}
	return v
}

// pretty returns a value as indented JSON, or the text itself where it is none; nothing for nothing.
func pretty(value any) string {
	raw, ok := value.(json.RawMessage)
	if m, isMap := value.(map[string]any); isMap && len(m) > 0 {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(m) == nil {
			raw, ok = b.Bytes(), true
		}
	}
	if !ok || len(raw) == 0 {
		return ""
	}
	said := textOf(raw)
	var b bytes.Buffer
	if raw[0] != '"' && len(raw) < 1<<20 && json.Indent(&b, raw, "", "  ") == nil {
		said = b.String()
	}
	said, left := text.Cut(text.Visible(strings.TrimSpace(said)), maxJSON)
	if left > 0 {
		said += "\n… " + text.Plural(left, "more character")
	}
	return said
}

// textOf returns raw JSON as it is, and of a JSON string the said.
func textOf(raw json.RawMessage) string {
	var said string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &said) == nil {
		return said
	}
	return string(raw)
}
