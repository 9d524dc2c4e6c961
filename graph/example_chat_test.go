package graph_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/graph"
)

// A chat with memory: the messages stay from turn to turn, the reply is of one turn. Any saver in place of graph.Memory
// keeps them for good.
func Example_memory() {
	type chat struct {
		Messages []string `json:"messages"`
		Reply    string   `json:"reply"`
	}
	messages := graph.Append(func(s *chat) *[]string { return &s.Messages })
	reply := graph.Last(func(s *chat) *string { return &s.Reply }).PerTurn()

	b := graph.New("chat", messages, reply)
	b.Node("answer", func(_ context.Context, s chat) (graph.Update[chat], error) { // a model would be asked here
		text := fmt.Sprintf("You have said %d things, the first was %q.", (len(s.Messages)+1)/2, s.Messages[0])
		return graph.Update[chat]{reply.Set(text), messages.Add(text)}, nil
	})
	b.Edge(graph.Start, "answer")
	b.Edge("answer", graph.End)
	g, err := b.Compile(graph.Config{Checkpoints: graph.NewMemory(graph.MemoryLimits{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, said := range []string{"I am Ann.", "Who am I?"} {
		s, err := g.Run(context.Background(), "ann", graph.Update[chat]{messages.Add(said)}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Reply)
	}
	// Output:
	// You have said 1 things, the first was "I am Ann.".
	// You have said 2 things, the first was "I am Ann.".
}
