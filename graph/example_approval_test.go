package graph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/graph"
)

// Approval by a person: the turn waits for the answer, which may come from another process days later.
func Example_approval() {
	type order struct {
		Draft string   `json:"draft"`
		Log   []string `json:"log"`
	}
	draft := graph.Last(func(s *order) *string { return &s.Draft })
	log := graph.Append(func(s *order) *[]string { return &s.Log })

	b := graph.New("orders", draft, log)
	b.Node("write", func(context.Context, order) (graph.Update[order], error) {
		return graph.Update[order]{draft.Set("200 chairs"), log.Add("written")}, nil
	})
	b.Node("approve", func(ctx context.Context, s order) (graph.Update[order], error) {
		ok, err := graph.Interrupt[bool](ctx, "Order "+s.Draft+"?")
		if err != nil {
			return nil, err
		}
		return graph.Update[order]{log.Add(fmt.Sprintf("%s: %v", s.Draft, ok))}, nil
	})
	b.Edge(graph.Start, "write")
	b.Edge("write", "approve")
	b.Edge("approve", graph.End)
	g, err := b.Compile(graph.Config{Checkpoints: graph.NewMemory(graph.MemoryLimits{})})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	_, err = g.Run(ctx, "order-1", nil, nil)
	var question *graph.InterruptError
	if !errors.As(err, &question) {
		fmt.Println(err)
		return
	}
	fmt.Println(question.Node, "asks", string(question.Question))
	if _, err := g.UpdateState(ctx, "order-1", graph.Update[order]{draft.Set("20 chairs")},
		graph.UpdateOptions{Merge: true}); err != nil {
		fmt.Println(err)
	}
	s, err := g.Resume(ctx, "order-1", graph.Answers{question.ID: true}, nil)
	fmt.Println(s.Log, err)
	// Output:
	// approve asks "Order 200 chairs?"
	// [written 20 chairs: true] <nil>
}
