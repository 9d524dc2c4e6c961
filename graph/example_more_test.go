package graph_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/graph"
)

// pages is the state of the examples below.
type pages struct {
	URLs  []string `json:"urls"`
	Found []string `json:"found"`
}

var (
	urls  = graph.Append(func(s *pages) *[]string { return &s.URLs })
	found = graph.Append(func(s *pages) *[]string { return &s.Found })
)

// A map over items: eight pages at a time, and what is found stands in the order of the pages.
func ExampleEach() {
	b := graph.New("crawl", urls, found)
	graph.Each(b, "read", func(s pages) []string { return s.URLs },
		func(_ context.Context, _ pages, url string) (graph.Update[pages], error) {
			return graph.Update[pages]{found.Add(strings.ToUpper(url))}, nil
		}).Parallel(8).Retry(graph.RetryPolicy{Attempts: 2})
	b.Edge(graph.Start, "read")
	b.Edge("read", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := g.Run(context.Background(), "thread", graph.Update[pages]{urls.Add("a", "b", "c")}, nil)
	fmt.Println(s.Found, err)
	// Output: [A B C] <nil>
}

// A subgraph has a state of its own, which lives for the turn.
func ExampleSub() {
	type summary struct {
		Text  string `json:"text"`
		Short string `json:"short"`
	}
	text := graph.Last(func(s *summary) *string { return &s.Text })
	short := graph.Last(func(s *summary) *string { return &s.Short })
	inner := graph.New("summarise", text, short)
	inner.Node("cut", func(_ context.Context, s summary) (graph.Update[summary], error) {
		return graph.Update[summary]{short.Set(s.Text[:3] + "…")}, nil
	})
	inner.Edge(graph.Start, "cut")
	inner.Edge("cut", graph.End)
	summarise, err := inner.Compile(graph.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}

	b := graph.New("pages", urls, found)
	graph.Sub(b, "summarise", summarise,
		func(s pages) graph.Update[summary] { return graph.Update[summary]{text.Set(s.URLs[0])} },
		func(_ pages, end summary) graph.Update[pages] { return graph.Update[pages]{found.Add(end.Short)} })
	b.Edge(graph.Start, "summarise")
	b.Edge("summarise", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := g.Run(context.Background(), "thread", graph.Update[pages]{urls.Add("a long story")}, nil)
	fmt.Println(s.Found, err)
	// Output: [a l…] <nil>
}

// Forking from the past: another thread begins where this one was after its first turn.
func ExampleGraph_Fork() {
	b := graph.New("pages", urls, found)
	b.Node("count", func(_ context.Context, s pages) (graph.Update[pages], error) {
		return graph.Update[pages]{found.Add(fmt.Sprint(len(s.URLs)))}, nil
	})
	b.Edge(graph.Start, "count")
	b.Edge("count", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for _, url := range []string{"a", "b", "c"} {
		if _, err := g.Run(ctx, "thread", graph.Update[pages]{urls.Add(url)}, nil); err != nil {
			fmt.Println(err)
			return
		}
	}
	history, err := g.History(ctx, "thread")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := g.Fork(ctx, "thread", history[0].ID, "what-if"); err != nil {
		fmt.Println(err)
		return
	}
	s, err := g.Run(ctx, "what-if", graph.Update[pages]{urls.Add("x")}, nil)
	fmt.Println(s.URLs, s.Found, err)
	// Output: [a x] [1 2] <nil>
}
