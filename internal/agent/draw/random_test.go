package draw_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/agent/draw"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

// nasty are texts that have broken a drawing somewhere.
var nasty = []string{
	"", "end", "subgraph", "--", "-->", "a --> b", `"`, `"]`, `"]; click n0 call alert()`, "|", "\\", "{{}}", "(())",
	":::accent", "@{ shape: rect }", "`**bold**`", "1. one", "- x", "+ x", "# x", "> x", "#", "#quot;", "&lt;",
	"$$x^2$$", "fa:fa-twitter", "style a:#b;", "classDef a:#b;", "<script>alert(1)</script>", "]]>", "<![CDATA[",
	"<!--", "%%{init: {'theme':'dark'}}%%", "%% x", "---\ntitle: x\n---", "a\nb", "a\r\nb\tc", "\x00\x1b[31m",
	"\u202egnp.exe", "\ufffe", "\xff\xfe", "e" + strings.Repeat("\u0301", 8), "日本語の長い文章はどこでも折り返せる", "مرحبا بالعالم",
	"👩‍👩‍👧‍👦 family", "a_very_long_identifier_without_any_spaces_that_has_to_be_broken", strings.Repeat("word ", 2_000),
	strings.Repeat("x", 10_000), strings.Repeat("\u0301", 10_000), strings.Repeat("😀", 2_500),
	strings.Repeat("\"", 10_000),
}

func text() *rapid.Generator[string] { return rapid.OneOf(rapid.SampledFrom(nasty), rapid.String()) }

func graph(t *rapid.T) draw.Graph {
	tone := rapid.IntRange(-1, 6)
	n := rapid.IntRange(0, 25).Draw(t, "nodes")
	g := draw.Graph{Title: text().Draw(t, "title")}
	for i := range n {
		g.Nodes = append(g.Nodes, draw.Node{
			ID: fmt.Sprint(i, text().Draw(t, "id")), Label: text().Draw(t, "label"), Note: text().Draw(t, "note"),
			Shape: draw.Shape(rapid.IntRange(-1, 5).Draw(t, "shape")), Tone: draw.Tone(tone.Draw(t, "tone")),
		})
	}
	if n == 0 {
		return g
	}
	for range rapid.IntRange(0, 50).Draw(t, "edges") {
		e := draw.Edge{
			From: g.Nodes[rapid.IntRange(0, n-1).Draw(t, "from")].ID, Label: text().Draw(t, "label"),
			Style: draw.Style(rapid.IntRange(-1, 2).Draw(t, "style")), Tone: draw.Tone(tone.Draw(t, "tone")),
		}
		if to := rapid.IntRange(-1, n-1).Draw(t, "to"); to >= 0 {
			e.To = g.Nodes[to].ID
		}
		g.Edges = append(g.Edges, e)
	}
	return g
}

// shape is a rectangle of a picture.
type shape struct{ x, y, w, h int }

func (a shape) meets(b shape) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

// picture is what a reader finds in an SVG.
type picture struct {
	page          shape
	nodes, plates []shape
	edges, dots   int
	texts         []string
}

// read parses an SVG strictly: it knows every element and attribute that a picture may have, so that nothing else gets
// in.
func read(t rapid.TB, svg string) picture {
	t.Helper()
	if !utf8.ValidString(svg) {
		t.Fatal("not UTF-8")
	}
	var p picture
	var at []shape // where the groups around are
	allowed := regexp.MustCompile(`^(svg|title|desc|style|g|rect|polygon|circle|path|text)$`)
	attribute := regexp.MustCompile(
		`^(xmlns|width|height|viewBox|role|aria-label|class|x|y|rx|cx|cy|r|d|points|transform)$`)
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return p
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		switch e := token.(type) {
		case xml.EndElement:
			at = at[:len(at)-1]
		case xml.CharData:
			p.texts = append(p.texts, string(e))
		case xml.StartElement:
			values := map[string]string{}
			for _, a := range e.Attr {
				if values[a.Name.Local] = a.Value; !attribute.MatchString(a.Name.Local) {
					t.Fatalf("attribute %s of %s", a.Name.Local, e.Name.Local)
				}
			}
			if !allowed.MatchString(e.Name.Local) {
				t.Fatalf("element %s", e.Name.Local)
			}
			var base shape
			if len(at) > 0 {
				base = at[len(at)-1]
			}
			at = append(at, p.element(t, base, e.Name.Local, values))
		case xml.Comment, xml.ProcInst, xml.Directive:
			t.Fatalf("%T", e)
		}
	}
}

// element notes one element, and returns where those in it are.
func (p *picture) element(t rapid.TB, base shape, name string, values map[string]string) shape {
	t.Helper()
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	class, _, _ := strings.Cut(values["class"], " ")
	switch {
	case name == "svg":
		p.page = shape{0, 0, number(values["width"]), number(values["height"])}
		if want := fmt.Sprintf("0 0 %d %d", p.page.w, p.page.h); values["viewBox"] != want {
			t.Fatalf("viewBox %s, want %s", values["viewBox"], want)
		}
	case name == "rect" && class == "box" || class == "plate":
		s := shape{
			base.x + number(values["x"]), base.y + number(values["y"]), number(values["width"]),
			number(values["height"]),
		}
		if class == "box" {
			p.nodes = append(p.nodes, s)
		} else {
			p.plates = append(p.plates, s)
		}
	case name == "polygon":
		points := strings.FieldsFunc(values["points"], func(r rune) bool { return r == ',' || r == ' ' })
		left, top, right, bottom := number(points[0]), number(points[3]), number(points[6]), number(points[9])
		p.nodes = append(p.nodes, shape{base.x + left, base.y + top, right - left, bottom - top})
	case class == "edge":
		p.edges++
	case class == "dot":
		p.dots++
	}
	if by := values["transform"]; by != "" {
		var s shape
		if _, err := fmt.Sscanf(by, "translate(%d %d)", &s.x, &s.y); err != nil {
			t.Fatal(err)
		}
		return s
	}
	return base
}

func TestEveryPictureIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := graph(t)
		var b strings.Builder
		if err := draw.SVG(&b, g); err != nil {
			t.Fatal(err)
		}
		sound(t, &g, read(t, b.String()))
		var again strings.Builder
		if err := draw.SVG(&again, g); err != nil || again.String() != b.String() {
			t.Fatal("drawn twice, two pictures")
		}
	})
}

// sound fails when something is missing, lies on something else or sticks out.
func sound(t rapid.TB, g *draw.Graph, p picture) {
	t.Helper()
	dots := 0
	for _, e := range g.Edges {
		if e.To == "" {
			dots++
		}
	}
	if len(p.nodes) != len(g.Nodes) || p.edges != len(g.Edges) || p.dots != dots {
		t.Fatalf("%d nodes, %d edges, %d dots; want %d, %d, %d", len(p.nodes), p.edges, p.dots, len(g.Nodes),
			len(g.Edges), dots)
	}
	for i, a := range append(p.nodes, p.plates...) {
		if a.x < 0 || a.y < 0 || a.x+a.w > p.page.w || a.y+a.h > p.page.h {
			t.Fatalf("%v is not in %v", a, p.page)
		}
		for _, b := range append(p.nodes, p.plates...)[:i] {
			if a.meets(b) {
				t.Fatalf("%v and %v overlap", a, b)
			}
		}
	}
}

func TestTheWholeTextIsThere(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 2_000))
	p := read(t, drawn(t, "svg", draw.Graph{
		Nodes: []draw.Node{{ID: "a", Label: long, Note: "note " + long}},
		Edges: []draw.Edge{{From: "a", To: "a", Label: "edge " + long}},
	}))
	all := strings.Join(p.texts, "")
	for _, want := range []string{long + " (a)\nnote " + long, "a → a: edge " + long} {
		if !strings.Contains(all, want) {
			t.Errorf("no text %.20s…", want)
		}
	}
}

func TestLargestGraphs(t *testing.T) {
	nodes, edges := draw.MaxNodes, draw.MaxEdges
	if race.Enabled {
		nodes, edges = nodes/10, edges/10
	}
	for _, size := range [][2]int{{nodes, edges}, {nodes, nodes}, {2, edges}, {1, edges}, {nodes, 0}} {
		g := tangle(size[0], size[1])
		svg := drawn(t, "svg", g)
		if nodes, edges := strings.Count(svg, `<g class="node `),
			strings.Count(svg, `<g class="edge `); nodes != size[0] || edges != size[1] {
			t.Errorf("%v: %d nodes and %d edges", size, nodes, edges)
		}
		drawn(t, "mmd", g)
	}
}

var mermaidLine = regexp.MustCompile(`^  (` +
	`n\d+(\["L"\]|\("L"\)|\{\{"L"\}\}|\(\["L"\]\)):::T` +
	`|n\d+ (-->|-\.->)(\|"L"\|)? (n\d+|e\d+\(\(" "\)\):::dot)` +
	`|classDef (T|dot) fill:C,stroke:C(,color:C(,stroke-dasharray:4 3)?)?` +
	`|linkStyle \d+(,\d+)* stroke:C)$`)

// label is what may stand between quotes: entities, line breaks, and characters that are nothing to Mermaid.
var label = regexp.MustCompile(`"(?:#(?:\d+|quot|lt|gt|amp);|<br/>|: |[\pL\pM\p{N}\pS\p{Zs}\pP\p{Cf}\p{Co}\p{Cn}])*?"`)

func TestEveryChartIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := graph(t)
		var b strings.Builder
		if err := draw.Mermaid(&b, g); err != nil {
			t.Fatal(err)
		}
		soundChart(t, &g, b.String())
	})
}

func soundChart(t rapid.TB, g *draw.Graph, chart string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(chart, "\n"), "\n")
	if lines[0] == "---" {
		if !strings.HasPrefix(lines[1], `title: "`) ||
			strings.ContainsAny(strings.TrimPrefix(lines[1], "title: "), "<>%") || lines[2] != "---" {
			t.Fatalf("front matter %q", lines[:3])
		}
		lines = lines[3:]
	}
	if lines[0] != "flowchart TD" {
		t.Fatalf("first line %q", lines[0])
	}
	nodes, edges := 0, 0
	for _, line := range lines[1:] {
		plain := label.ReplaceAllStringFunc(line, func(s string) string {
			bare := strings.ReplaceAll(s[1:len(s)-1], "<br/>", "")
			if strings.ContainsAny(bare, "\"<>&`*_[]{}|$%@\\^~=+") {
				t.Fatalf("label %s", s)
			}
			if s == `" "` {
				return s
			}
			return `"L"`
		})
		plain = regexp.MustCompile(`#[0-9a-f]{6}`).ReplaceAllString(plain, "C")
		plain = regexp.MustCompile(`\b(plain|accent|good|warn|muted)\b`).ReplaceAllString(plain, "T")
		if !mermaidLine.MatchString(plain) {
			t.Fatalf("line %q, read as %q", line, plain)
		}
		switch {
		case strings.Contains(plain, ">"):
			edges++
		case strings.HasPrefix(plain, "  n"):
			nodes++
		}
	}
	if nodes != len(g.Nodes) || edges != len(g.Edges) {
		t.Fatalf("%d nodes and %d edges, want %d and %d", nodes, edges, len(g.Nodes), len(g.Edges))
	}
}

func FuzzLabels(f *testing.F) {
	for _, s := range nasty {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g := draw.Graph{
			Title: s, Nodes: []draw.Node{{ID: "x" + s, Label: s, Note: s}, {ID: "y", Shape: draw.Decision, Note: s}},
			Edges: []draw.Edge{
				{From: "x" + s, To: "y", Label: s},
				{From: "y", To: "x" + s, Label: s},
				{From: "y", To: "y", Label: s},
				{From: "y", Label: s},
			},
		}
		sound(t, &g, read(t, drawn(t, "svg", g)))
		soundChart(t, &g, drawn(t, "mmd", g))
	})
}
