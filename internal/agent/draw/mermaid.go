package draw

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Bounds of a label in characters. Mermaid wraps labels but does not clip them, and by default reads at most 50,000
// characters in all.
const (
	maxMermaidName = 120
	maxMermaidNote = 160
	maxMermaidWord = 80
)

// Mermaid writes the graph as a Mermaid flowchart. Nodes are named n0, n1 and so on in the order of the graph. The dots
// at the ends of edges are named e0, e1 and so on by edge. Long labels are clipped.
//
// It returns an error for a graph that is too large, for an edge that names no node, and when w fails.
func Mermaid(w io.Writer, g Graph) error {
	joined, err := g.check()
	if err != nil {
		return err
	}
	m := mermaid{w: bufio.NewWriter(w), lines: map[Tone][]int{}}
	m.title(g.Title)
	m.printf("flowchart TD\n")
	for i := range g.Nodes {
		m.node(i, &g.Nodes[i])
	}
	for i := range g.Edges {
		m.edge(i, &g.Edges[i], joined[i])
	}
	m.styles()
	return m.w.Flush()
}

// mermaid writes a flowchart. The writer keeps the first error and returns it from Flush.
type mermaid struct {
	w     *bufio.Writer
	tones [5]bool        // which tones nodes have
	lines map[Tone][]int // which edges have a tone of their own
	dots  bool
}

func (m *mermaid) printf(format string, args ...any) { fmt.Fprintf(m.w, format, args...) }

// title writes the front matter; JSON is valid YAML. Mermaid reads a title as HTML without entities, so similar
// characters replace brackets.
func (m *mermaid) title(s string) {
	s = strings.NewReplacer("<", "‹", ">", "›").Replace(text.Clip(oneLine(s), maxMermaidName))
	if s == "" {
		return
	}
	if quoted, err := json.Marshal(s); err == nil {
		m.printf("---\ntitle: %s\n---\n", strings.ReplaceAll(string(quoted), "%", `\u0025`))
	}
}

func (m *mermaid) node(i int, n *Node) {
	open, shut := `["`, `"]`
	switch n.Shape {
	case Start:
		open, shut = `("`, `")`
	case Decision:
		open, shut = `{{"`, `"}}`
	case End:
		open, shut = `(["`, `"])`
	}
	label := entities(text.Clip(n.name(), maxMermaidName))
	if note := oneLine(n.Note); note != "" {
		label += "<br/>" + entities(text.Clip(note, maxMermaidNote))
	}
	m.tones[n.Tone.known()] = true
	m.printf("  n%d%s%s%s:::%s\n", i, open, label, shut, n.Tone)
}

func (m *mermaid) edge(i int, e *Edge, joined ends) {
	to := fmt.Sprintf("n%d", joined.to)
	if joined.to == none {
		m.dots = true
		to = fmt.Sprintf(`e%d((" ")):::dot`, i)
	}
	arrow := "-->"
	if e.Style == Dashed {
		arrow = "-.->"
	}
	if label := entities(text.Clip(oneLine(e.Label), maxMermaidWord)); label != "" {
		arrow += `|"` + label + `"|`
	}
	if t := e.Tone.known(); t != Plain {
		m.lines[t] = append(m.lines[t], i)
	}
	m.printf("  n%d %s %s\n", joined.from, arrow, to)
}

func (m *mermaid) styles() {
	for i, used := range m.tones {
		if t := light.tones[i]; used {
			dash := ""
			if Tone(i) == Muted {
				dash = ",stroke-dasharray:4 3"
			}
			m.printf("  classDef %s fill:%s,stroke:%s,color:%s%s\n", Tone(i), t.fill, t.line, t.text, dash)
		}
	}
	if m.dots {
		m.printf("  classDef dot fill:%s,stroke:%s\n", light.edges[Plain], light.edges[Plain])
	}
	for t := Accent; t <= Muted; t++ {
		if edges := m.lines[t]; len(edges) > 0 {
			numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(edges), " ", ","), "[]")
			m.printf("  linkStyle %s stroke:%s\n", numbers, light.edges[t])
		}
	}
}
