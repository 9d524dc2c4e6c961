package draw

import (
	"fmt"
	"strings"
)

// paints are the colours of one tone.
type paints struct{ fill, line, text, soft string }

// scheme holds the colours of a picture; they are those of the HTML report.
type scheme struct {
	page  string
	tones [5]paints // by Tone
	edges [5]string // lines of edges
	words [5]string // labels of edges
}

var (
	light = scheme{
		page: "#ffffff",
		tones: [5]paints{
			Plain:  {"#f6f4f0", "#8a8275", "#211f1b", "#5a554d"},
			Accent: {"#e8edf7", "#3355a8", "#1c2c4d", "#3f5078"},
			Good:   {"#e3f2e9", "#1a6b45", "#123f2a", "#2b5a42"},
			Warn:   {"#fcf0da", "#a86200", "#4a2f00", "#6d4a10"},
			Muted:  {"#ffffff", "#8f887c", "#635e55", "#6b665d"},
		},
		edges: [5]string{"#7a7265", "#3355a8", "#1a6b45", "#a86200", "#8f887c"},
		words: [5]string{"#433f38", "#2c4a94", "#1a6b45", "#855000", "#6b665d"},
	}
	dark = scheme{
		page: "#1d1c19",
		tones: [5]paints{
			Plain:  {"#2a2824", "#8b8478", "#ece8e0", "#bdb6aa"},
			Accent: {"#23304a", "#a3bbff", "#dde7fd", "#b4c4ec"},
			Good:   {"#17301f", "#79d0a0", "#d5f2e1", "#a3d6b9"},
			Warn:   {"#36270b", "#f0c071", "#fbe8c6", "#dcc08c"},
			Muted:  {"#1d1c19", "#7d766b", "#aba498", "#aba498"},
		},
		edges: [5]string{"#9d9589", "#a3bbff", "#79d0a0", "#f0c071", "#7d766b"},
		words: [5]string{"#d3cdc2", "#b9cbff", "#79d0a0", "#f0c071", "#aba498"},
	}
)

var toneNames = [5]string{"plain", "accent", "good", "warn", "muted"}

// known returns the tone, or Plain for an unknown number.
func (t Tone) known() Tone {
	if t < Plain || t > Muted {
		return Plain
	}
	return t
}

// String returns the name of the tone.
func (t Tone) String() string { return toneNames[t.known()] }

const fontStack = `Inter,ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Liberation Sans",Arial,sans-serif`

// styleSheet is the style of every picture. It has no variables, because not every SVG viewer knows them.
func styleSheet() string {
	var b strings.Builder
	b.WriteString("text{font-family:" + fontStack + ";text-anchor:middle}\n")
	fmt.Fprintf(&b, ".title{font-size:%dpx;font-weight:650;letter-spacing:-.01em;text-anchor:start}\n", headFont.size)
	fmt.Fprintf(&b, ".part{font-size:%dpx;font-weight:600;text-anchor:start}\n", noteFont.size)
	fmt.Fprintf(&b, ".name{font-size:%dpx;font-weight:600}\n.note,.word{font-size:%dpx}\n", labelFont.size,
		noteFont.size)
	b.WriteString(".box{stroke-width:1.25}\n.start .box{stroke-width:2.5}\n.ring{fill:none;stroke-width:1.25}\n" +
		".muted .box{stroke-dasharray:4 3}\n")
	b.WriteString(".line{fill:none;stroke-width:1.5;stroke-linecap:round}\n.dashed .line{stroke-dasharray:5 4}\n")
	b.WriteString(".edge:hover .line{stroke-width:5}\n")
	light.write(&b)
	b.WriteString("@media (prefers-color-scheme:dark){\n")
	dark.write(&b)
	b.WriteString("}\n")
	return b.String()
}

func (s *scheme) write(b *strings.Builder) {
	fmt.Fprintf(b, ".page,.plate{fill:%s}\n.title{fill:%s}\n.part{fill:%s}\n.rule{stroke:%s;opacity:.4}\n",
		s.page, s.tones[Plain].text, s.tones[Plain].soft, s.tones[Plain].line)
	for i, t := range s.tones {
		name := Tone(i).String()
		fmt.Fprintf(b, ".%s .box{fill:%s;stroke:%s}.%s .ring{stroke:%s}.%s .name{fill:%s}.%s .note{fill:%s}\n",
			name, t.fill, t.line, name, t.line, name, t.text, name, t.soft)
		fmt.Fprintf(b, ".%s .line{stroke:%s}.%s .tip{fill:%s}.%s .word{fill:%s}\n", name, s.edges[i], name, s.edges[i],
			name, s.words[i])
	}
}
