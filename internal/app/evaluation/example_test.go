package evaluation_test

import (
	"context"
	"fmt"
	"os"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Describe shows what a run would do. It opens what the run would open, and asks nothing.
func ExampleEvaluation_Describe() {
	s, err := wire.Open(wire.Options{Dry: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }() // nothing was opened
	made := suite.Of("greetings", "", []*suite.Test{{
		ID: "hello", Turns: []suite.Turn{{Input: chat.Content{Text: "Hello!"}}},
	}})
	e, err := evaluation.New(context.Background(), evaluation.Config{
		Setup: s, Suites: []*suite.Suite{made}, Spec: runspec.Spec{Targets: []string{"ollama:llama3"}, Trials: 3},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Describe(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// would run 1 test as 3 conversations with 3 turns, 8 at a time:
	//   greetings / hello → ollama:llama3: 1 turn × 3 trials
	// 0 tests need a judge (openai:gpt-5)
}
