package graph_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/graph"
)

// A bot that greets: one node decides, one of two others answers, and the thread remembers the messages.
func Example() {
	type state struct {
		Messages []string `json:"messages"`
		Question bool     `json:"question"`
	}
	messages := graph.Append(func(s *state) *[]string { return &s.Messages })
	question := graph.Last(func(s *state) *bool { return &s.Question }).PerTurn()
	say := func(text string) func(context.Context, state, graph.TokenSink) (graph.Update[state], error) {
		return func(ctx context.Context, _ state, out graph.TokenSink) (graph.Update[state], error) {
			return graph.Update[state]{messages.Add(text)}, out(ctx, text+"\n")
		}
	}

	b := graph.New("bot", messages, question)
	b.Node("classify", func(_ context.Context, s state) (graph.Update[state], error) {
		return graph.Update[state]{question.Set(strings.HasSuffix(s.Messages[len(s.Messages)-1], "?"))}, nil
	})
	b.Streaming("answer", say("I don't know."))
	b.Streaming("greet", say("Hello!"))
	b.Edge(graph.Start, "classify")
	b.Branch("classify", func(s state) string {
		if s.Question {
			return "answer"
		}
		return "greet"
	}, "answer", "greet")
	b.Edge("answer", graph.End)
	b.Edge("greet", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}

	var last state
	for _, input := range []string{"Hi", "What time is it?"} {
		last, err = g.Run(context.Background(), "thread-1", graph.Update[state]{
			messages.Add(input),
		}, func(_ context.Context, text string) error {
			fmt.Print(text)
			return nil
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(len(last.Messages), "messages")
	// Output:
	// Hello!
	// I don't know.
	// 4 messages
}
