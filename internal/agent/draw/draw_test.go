package draw_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/draw"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// support is a flow with everything in it: all shapes, tones and styles, long edges, edges that go back, a loop,
// parallel edges, an edge that ends, parts that nothing leads to.
func support() draw.Graph {
	return draw.Graph{
		Title: "Customer support",
		Nodes: []draw.Node{
			{
				ID: "start", Label: "Welcome",
				Note:  "Greet the user, say you can help with orders, billing and technical problems.",
				Shape: draw.Start, Tone: draw.Accent,
			},
			{ID: "triage", Label: "Which kind of help?", Shape: draw.Decision},
			{ID: "order_lookup", Note: "Ask for the order number (AC- and six digits). Confirm it back. " +
				"Tell the delivery window from the knowledge base."},
			{ID: "billing", Note: "Ask which invoice and what is wrong."},
			{ID: "tech_diagnose", Note: "Offer one fix at a time."},
			{ID: "escalate", Note: "No test reaches this.", Tone: draw.Warn},
			{ID: "wrap_up", Note: "Summarise what was done."},
			{ID: "goodbye", Label: "Goodbye", Shape: draw.End, Tone: draw.Good},
			{ID: "survey", Label: "Survey", Tone: draw.Muted},
			{ID: "thanks", Label: "Thanks", Shape: draw.End, Tone: draw.Muted},
			{ID: "old_menu", Label: "旧メニュー <b>\"menu\"</b> & more", Tone: draw.Muted},
		},
		Edges: []draw.Edge{
			{From: "start", To: "triage"},
			{From: "triage", To: "order_lookup", Label: "Order or delivery"},
			{From: "triage", To: "billing", Label: "Invoice or refund"},
			{From: "triage", To: "tech_diagnose", Label: "Technical problem"},
			{From: "triage", To: "goodbye", Label: "Nothing else"},
			{From: "triage", To: "triage", Label: "Did not understand", Style: draw.Dashed, Tone: draw.Warn},
			{From: "order_lookup", To: "wrap_up", Label: "Order number given"},
			{From: "order_lookup", To: "escalate", Label: "No order number"},
			{From: "billing", To: "escalate", Label: "Wants a refund"},
			{From: "billing", To: "wrap_up", Label: "Understood the charge and what it is for"},
			{From: "tech_diagnose", To: "wrap_up", Label: "Fixed", Tone: draw.Good},
			{From: "tech_diagnose", To: "escalate", Label: "Needs a human", Tone: draw.Accent},
			{From: "escalate", To: "goodbye", Label: "E-mail given"},
			{From: "escalate", To: "triage", Label: "Rather continue here"},
			{From: "escalate", Label: "Hangs up", Tone: draw.Muted},
			{From: "wrap_up", To: "triage", Label: "Something else"},
			{From: "wrap_up", To: "goodbye", Label: "All done"},
			{From: "wrap_up", To: "goodbye", Label: "Said nothing", Style: draw.Dashed},
			{From: "survey", To: "thanks"},
		},
	}
}

// formats are the two ways to draw.
var formats = map[string]func(io.Writer, draw.Graph) error{"svg": draw.SVG, "mmd": draw.Mermaid}

func drawn(t testing.TB, format string, g draw.Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := formats[format](&b, g); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for name, g := range map[string]draw.Graph{
		"support": support(),
		"empty":   {},
		"one":     {Nodes: []draw.Node{{ID: "only"}}},
	} {
		for format := range formats {
			golden.Compare(t, name+"."+format, drawn(t, format, g))
		}
	}
}

func TestGraphsThatCannotBeDrawn(t *testing.T) {
	a := []draw.Node{{ID: "a"}}
	for want, g := range map[string]draw.Graph{
		`2001 nodes are too many to draw: at most 2000`:   {Nodes: make([]draw.Node, 2001)},
		`10001 edges are too many to draw: at most 10000`: {Nodes: a, Edges: make([]draw.Edge, 10_001)},
		`node 2 has no id`:                       {Nodes: []draw.Node{{ID: "a"}, {}}},
		`nodes 1 and 2 have the same id "a"`:     {Nodes: []draw.Node{{ID: "a"}, {ID: "a"}}},
		`edge 1 starts at "b", which is no node`: {Nodes: a, Edges: []draw.Edge{{From: "b", To: "a"}}},
		`edge 2 leads to "b", which is no node`:  {Nodes: a, Edges: []draw.Edge{{From: "a"}, {From: "a", To: "b"}}},
		`edge 1 starts at "` + strings.Repeat("x", 80) + `…", which is no node`: {
			Nodes: a, Edges: []draw.Edge{{From: strings.Repeat("x", 10_000)}},
		},
	} {
		for format, write := range formats {
			var b bytes.Buffer
			if err := write(&b, g); err == nil || err.Error() != want || b.Len() > 0 {
				t.Errorf("%s: error %v and %d bytes, want error %s and no bytes", format, err, b.Len(), want)
			}
		}
	}
}

// broken fails at the first write.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestTheErrorOfTheWriterComesBack(t *testing.T) {
	for format, write := range formats {
		if err := write(broken{}, support()); !errors.Is(err, errBroken) {
			t.Errorf("%s: error %v, want %v", format, err, errBroken)
		}
	}
}

// tangle is a graph of random edges, the same every time.
func tangle(nodes, edges int) draw.Graph {
	g := draw.Graph{Title: "Tangle"}
	for i := range nodes {
		g.Nodes = append(g.Nodes, draw.Node{
			ID: fmt.Sprint(i), Label: fmt.Sprintf("Step number %d", i), Note: "with a note of a few words",
		})
	}
	state := uint32(1)
	next := func() string {
		state = state*1664525 + 1013904223
		return fmt.Sprint(int(state>>8) % nodes)
	}
	for i := range edges {
		g.Edges = append(g.Edges, draw.Edge{From: next(), To: next(), Label: fmt.Sprintf("option %d", i)})
	}
	return g
}

func BenchmarkSVG(b *testing.B) {
	for _, size := range [][2]int{{8, 16}, {25, 50}, {200, 400}, {draw.MaxNodes, draw.MaxEdges}} {
		b.Run(fmt.Sprintf("nodes=%d/edges=%d", size[0], size[1]), func(b *testing.B) {
			g := tangle(size[0], size[1])
			for b.Loop() {
				if err := draw.SVG(io.Discard, g); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMermaid(b *testing.B) {
	g := tangle(200, 400)
	for b.Loop() {
		if err := draw.Mermaid(io.Discard, g); err != nil {
			b.Fatal(err)
		}
	}
}
