package graph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// plain is the state of small graphs.
type plain struct {
	Log      []string          `json:"log"`
	Name     string            `json:"name"`
	Count    int               `json:"count"`
	Sum      int               `json:"sum"`
	Map      map[string]string `json:"map"`
	Seen     []string          `json:"seen"`
	Retained int               `json:"kept"`
}

var (
	logged = graph.Append(func(s *plain) *[]string { return &s.Log })
	named  = graph.Last(func(s *plain) *string { return &s.Name })
	count  = graph.Last(func(s *plain) *int { return &s.Count })
	sum    = graph.Merge(func(s *plain) *int { return &s.Sum }, func(old, written int) int { return old + written })
	mapped = graph.Merge(func(s *plain) *map[string]string { return &s.Map }, overlay)
	seen   = graph.Append(func(s *plain) *[]string { return &s.Seen }).PerTurn()
	kept   = graph.Last(func(s *plain) *int { return &s.Retained }).Retained()
)

type update = graph.Update[plain]

func plainGraph() *graph.Builder[plain] {
	return graph.New("test", logged, named, count, sum, mapped, seen, kept)
}

// note is a node that writes its name into the log.
func note(name string) func(context.Context, plain) (update, error) {
	return func(context.Context, plain) (update, error) { return update{logged.Add(name)}, nil }
}

// noted adds such nodes.
func noted(b *graph.Builder[plain], names ...string) {
	for _, name := range names {
		b.Node(name, note(name))
	}
}

func stream(context.Context, plain, graph.TokenSink) (update, error) { return nil, nil }

// edges adds edges written as "a b c": from a to b and to c.
func edges(b *graph.Builder[plain], lines ...string) {
	for _, line := range lines {
		names := strings.Fields(line)
		b.Edge(names[0], names[1:]...)
	}
}

func compiled(t testing.TB, b *graph.Builder[plain], c graph.Config) *graph.Graph[plain] {
	t.Helper()
	g, err := b.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// only defines a graph of such nodes and edges.
func only(names []string, lines ...string) func(b *graph.Builder[plain]) {
	return func(b *graph.Builder[plain]) {
		noted(b, names...)
		edges(b, lines...)
	}
}

// Compile tells what LangGraph finds out at run time, or never: nodes nobody reaches, ways without an end, branches to
// nowhere.
func TestCompileErrors(t *testing.T) {
	toEnd := func(plain) string { return graph.End }
	for name, test := range map[string]struct {
		define func(b *graph.Builder[plain])
		want   string
	}{
		"empty": {
			func(*graph.Builder[plain]) {}, "no edge leaves START: add one to the node where turns begin",
		},
		"unknown target": {
			only([]string{"answer"}, "START anwser"),
			`from node "START" to "anwser", which is no node (known: END, START, answer)`,
		},
		"unknown origin": {
			only([]string{"answer"}, "START answer", "anwser END"),
			`an edge leaves "anwser", which is no node (known: END, START, answer)`,
		},
		"from END": {
			only([]string{"a"}, "START a", "a END", "END a"), `an edge leaves "END", which is no node`,
		},
		"to START":        {only([]string{"a"}, "START a", "a START"), `from node "a" to "START", which is no node`},
		"edge to nowhere": {only([]string{"a"}, "START a", "a"), `leaves node "a" and leads nowhere`},
		"edge twice":      {only([]string{"a"}, "START a a", "a END"), `two edges lead from node "START" to "a"`},
		"unreachable":     {only([]string{"a", "b"}, "START a", "a END", "b END"), `node "b" is never reached`},
		"unreachable loop": {
			only([]string{"a", "b", "c"}, "START a", "a END", "b c", "c b END"), `node "c" is never reached`,
		},
		"join parent": {func(b *graph.Builder[plain]) {
			noted(b, "a", "b", "join")
			edges(b, "START a", "a join", "b join", "join END")
		}, `node "b" is never reached`},
		"no way out": {only([]string{"a"}, "START a"), `node "a" can never lead to END: lead an edge from it on`},
		"endless loop": {
			only([]string{"a", "b", "c"}, "START a c", "a b", "b a", "c END"), `node "b" can never lead to END`,
		},
		"name twice":    {only([]string{"a", "a"}, "START a", "a END"), `two nodes are called "a"`},
		"reserved name": {only([]string{"END", "a"}, "START a", "a END"), `a node cannot be called "END"`},
		"no name":       {only([]string{"", "a"}, "START a", "a END"), `a node cannot be called ""`},
		"no function": {
			func(b *graph.Builder[plain]) { b.Node("a", nil); edges(b, "START a", "a END") },
			`node "a" has no function`,
		},
		"no time": {
			func(b *graph.Builder[plain]) { b.Node("a", note("a")).Limit(-1); edges(b, "START a", "a END") },
			`node "a" has a limit of -1ns`,
		},
		"no steps": {
			func(b *graph.Builder[plain]) { noted(b, "a"); b.Steps(0); edges(b, "START a", "a END") },
			"a turn of 0 steps can do nothing",
		},
		"branch twice": {func(b *graph.Builder[plain]) {
			noted(b, "a")
			edges(b, "START a")
			b.Branch("a", toEnd, "END")
			b.Branch("a", toEnd, "END")
		}, `node "a" has two branches`},
		"branch, no func": {func(b *graph.Builder[plain]) {
			only([]string{"a"}, "START a")(b)
			b.Branch("a", nil, graph.End)
		}, `the branch after node "a" has no function`},
		"branch to nowhere": {func(b *graph.Builder[plain]) {
			only([]string{"a"}, "START a")(b)
			b.Branch("a", toEnd)
		}, `leaves node "a" and leads nowhere`},
		"streams side by side": {func(b *graph.Builder[plain]) {
			noted(b, "a")
			b.Streaming("x", stream)
			b.Streaming("y", stream)
			edges(b, "START a", "a x y", "x END", "y END")
		}, `nodes "x" and "y" stream side by side`},
	} {
		t.Run(name, func(t *testing.T) {
			b := plainGraph()
			test.define(b)
			_, err := b.Compile(graph.Config{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), `graph "test": `) {
				t.Errorf("%v does not say which graph", err)
			}
		})
	}
}

// Streaming nodes that follow each other, or exclude each other, are fine as far as Compile can know.
func TestCompileLetsStreamsFollow(t *testing.T) {
	b := plainGraph()
	b.Streaming("x", stream)
	b.Streaming("y", stream)
	b.Streaming("z", stream)
	edges(b, "START x", "x y z", "y z", "z END")
	compiled(t, b, graph.Config{})
	bot(t, graph.Config{})
}

func TestCompileTellsEverything(t *testing.T) {
	b := plainGraph()
	noted(b, "a", "a")
	edges(b, "START b")
	b.Branch("c", func(plain) string { return "" }, "a")
	_, err := b.Compile(graph.Config{})
	for _, want := range []string{`called "a"`, `to "b"`, `leaves "c"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not tell %s", err, want)
		}
	}
}

// A state that has a field without a rule cannot be compiled, so no write and no stored value is for a field that
// nobody knows.
func TestFieldErrors(t *testing.T) {
	type state struct {
		A string `json:"a"`
		B string `json:"b"`
		c string
		D chan int `json:"d"`
		E int      `json:"e,string"`
		F string   `json:"G"`
		G string
	}
	a := graph.Last(func(s *state) *string { return &s.A })
	other := ""
	for name, test := range map[string]struct {
		fields []graph.Column[state]
		want   string
	}{
		"none": {
			nil, `field "A" of graph_test.state has no rule for writes: declare it with Last, Merge or Append`,
		},
		"twice": {[]graph.Column[state]{a, a}, `field "a" is declared twice`},
		"elsewhere": {
			[]graph.Column[state]{graph.Last(func(*state) *string { return &other })},
			"a declaration points to no field of graph_test.state",
		},
		"unexported": {
			[]graph.Column[state]{graph.Last(func(s *state) *string { return &s.c })},
			`field "c" cannot be stored: export it`,
		},
		"channel": {
			[]graph.Column[state]{graph.Last(func(s *state) *chan int { return &s.D })},
			"a chan int cannot be stored: keep it out",
		},
		"quoted": {
			[]graph.Column[state]{graph.Last(func(s *state) *int { return &s.E })},
			`the option "string" of its json tag is not supported`,
		},
		"same JSON name": {[]graph.Column[state]{
			graph.Last(func(s *state) *string { return &s.F }), graph.Last(func(s *state) *string { return &s.G }),
		}, `two fields are called "G" in JSON`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := graph.New("test", test.fields...).Compile(graph.Config{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
	_, err := graph.New("test", graph.Last(func(s *int) *int { return s })).Compile(graph.Config{})
	if err == nil || !strings.Contains(err.Error(), "make it a struct") {
		t.Errorf("a state that is no struct: %v", err)
	}
}

// A compiled graph does not change any more.
func TestCompileDetaches(t *testing.T) {
	b := plainGraph()
	n := b.Node("a", func(ctx context.Context, _ plain) (update, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}).Limit(time.Millisecond)
	edges(b, "START a", "a END")
	g := compiled(t, b, graph.Config{})
	n.OrElse(nil)
	noted(b, "b")
	if _, err := g.Run(t.Context(), "thread", nil, nil); err == nil {
		t.Error("the fallback came after Compile and counts")
	}
	if got := len(g.Drawing().Nodes); got != 3 {
		t.Errorf("%d nodes are drawn, want START, a, END", got)
	}
}

func TestDrawing(t *testing.T) {
	b := plainGraph()
	b.Node("route", note("route"))
	b.Streaming("answer", stream)
	b.Edge(graph.Start, "route")
	b.Branch("route", func(plain) string { return "answer" }, "answer", graph.End)
	b.Edge("answer", graph.End)
	d := compiled(t, b, graph.Config{}).Drawing()
	text := d.Mermaid()
	if strings.Count(text, "-.->") != 2 || strings.Count(text, "-->") != 2 {
		t.Errorf("want two solid and two dashed edges:\n%s", text)
	}
	want := []graph.DrawnNode{
		{Name: graph.Start}, {Name: "answer", Streams: true}, {Name: "route", Branches: true}, {Name: graph.End},
	}
	if !slices.Equal(d.Nodes, want) {
		t.Errorf("nodes %+v, want %+v", d.Nodes, want)
	}
}

// The bound of a graph is its own: it may have more nodes than can be drawn, and is refused beyond it.
func TestCompileBound(t *testing.T) {
	chain := func(nodes int) error {
		b := plainGraph()
		before := graph.Start
		for i := range nodes {
			name := fmt.Sprintf("n%d", i)
			b.Node(name, note(name))
			b.Edge(before, name)
			before = name
		}
		b.Edge(before, graph.End)
		_, err := b.Compile(graph.Config{})
		return err
	}
	if err := chain(2_001); err != nil {
		t.Error(err)
	}
	if err := chain(graph.MaxNodes + 1); err == nil ||
		!strings.Contains(err.Error(), "5001 nodes are too many: at most 5000") {
		t.Errorf("a node more than the bound: %v", err)
	}
}
