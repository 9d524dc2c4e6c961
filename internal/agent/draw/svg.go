package draw

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// SVG writes the graph as a self-contained picture without scripts, light or dark like the reader's display. Text that
// does not fit a box is clipped; the whole text is in its title, which browsers show on hovering. The style names
// classes. A page with several pictures should therefore show them as images, not inline.
//
// It returns an error for a graph that is too large, for an edge that names no node, and when w fails.
func SVG(w io.Writer, g Graph) error {
	joined, err := g.check()
	if err != nil {
		return err
	}
	p := painter{w: bufio.NewWriter(w), g: &g, sheet: layOut(&g, joined)}
	p.open()
	for i, part := range p.parts {
		p.group(part, func() { p.edges(part, p.paths[i]) })
	}
	for i, part := range p.parts {
		p.group(part, func() {
			p.heads(part)
			p.labels(part, p.paths[i])
		})
	}
	p.printf("</svg>\n")
	return p.w.Flush()
}

// painter writes a sheet. The writer keeps the first error and returns it from Flush.
type painter struct {
	w *bufio.Writer
	g *Graph
	*sheet
}

func (p *painter) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

// escape writes text for XML. The text must be free of control characters.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace

func (p *painter) open() {
	title := oneLine(p.g.Title)
	if title == "" {
		title = "Graph"
	}
	if p.g.Inline {
		p.printf(`<svg class="drawing" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n",
			p.width, p.height, p.width, p.height, escape(title))
		p.printf("<title>%s</title>\n<desc>%s</desc>\n", escape(title), escape(p.describe()))
		return
	}
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n",
		p.width, p.height, p.width, p.height, escape(title))
	p.printf("<title>%s</title>\n<desc>%s</desc>\n<style>\n%s</style>\n", escape(title), escape(p.describe()),
		styleSheet())
	p.printf(`<rect class="page" width="%d" height="%d"/>`+"\n", p.width, p.height)
	for i, line := range p.title.lines {
		p.text("title", margin, margin+i*headFont.line+headFont.size, line)
	}
	if p.rest > 0 {
		p.printf(`<path class="rule" d="M%d %dH%d"/>`+"\n", margin, p.rest, p.width-margin)
		p.text("part", margin, p.rest+noteFont.line+8, restHeading)
	}
}

// data writes attributes.
func data(all []Datum) string {
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, ` data-%s="%s"`, d.Name, escape(strings.ToValidUTF8(d.Value, "\ufffd")))
	}
	return b.String()
}

// StyleSheet is that of pictures that stand in a page.
func StyleSheet() string {
	return ".drawing {\n" + styleSheet() +
		"}\n.drawing { display: block; margin: 0 auto; max-width: 100%; height: auto; }\n"
}

// describe says in words what the picture shows.
func (p *painter) describe() string {
	s := fmt.Sprintf("%s and %s", many(len(p.g.Nodes), "node"), many(len(p.g.Edges), "edge"))
	if i := p.g.start(); i != none {
		s += ", starting at " + p.g.Nodes[i].name()
	}
	if n := len(p.parts) - 1; n > 0 {
		s += "; " + many(n, "part") + " not connected to the start"
	}
	return s + "."
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (p *painter) text(class string, x, y int, s string) {
	p.printf(`<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y, escape(s))
}

// group moves what draw writes to the place of a part.
func (p *painter) group(part *part, draw func()) {
	p.printf(`<g transform="translate(%d %d)">`+"\n", part.x, part.y)
	draw()
	p.printf("</g>\n")
}

func (p *painter) edges(part *part, paths []path) {
	for i := range part.wires {
		e := &p.g.Edges[part.wires[i].edge]
		class := "edge " + e.Tone.String()
		if e.Style == Dashed {
			class += " dashed"
		}
		p.printf(`<g class="%s"%s><title>%s</title><path class="line" d="%s"/><path class="tip" d="%s"/></g>`+"\n",
			class, data(e.Data), escape(p.edgeTitle(e)), paths[i].line, paths[i].arrow)
	}
}

// edgeTitle returns the ends of an edge and its whole label. It names nodes by ID: a long label would be repeated for
// each of the node's edges.
func (p *painter) edgeTitle(e *Edge) string {
	to := "end"
	if e.To != "" {
		to = text.Clip(oneLine(e.To), maxQuoted)
	}
	s := text.Clip(oneLine(e.From), maxQuoted) + " → " + to
	if label := oneLine(e.Label); label != "" {
		s += ": " + label
	}
	return s
}
