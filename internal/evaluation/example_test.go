package evaluation_test

import (
	"context"
	"fmt"
	"os"

	"rehearse/internal/chat"
	"rehearse/internal/evaluation"
	"rehearse/internal/runspec"
	"rehearse/internal/setup"
	"rehearse/internal/suite"
)

// New plans a run and opens no model, so that a plan can be shown without a key.
func ExampleNew() {
	s, err := setup.Open(setup.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }() // nothing was opened
	made := suite.Of("greetings", "", []*suite.Test{{ID: "hello", Turns: []suite.Turn{{Input: chat.Content{Text: "Hello!"}}}}})
	e, err := evaluation.New(context.Background(), evaluation.Config{
		Setup: s, Suites: []*suite.Suite{made}, Spec: runspec.Spec{Targets: []string{"openai:gpt-5-mini"}, Trials: 3},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Describe(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// would run 1 test as 3 conversations with 3 turns, 8 at a time:
	//   greetings / hello → openai:gpt-5-mini: 1 turn × 3 trials
	// 0 tests need a judge (openai:gpt-5)
}
