package runner_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// parrot is a target that repeats what it is told. It is its own session, since it remembers nothing.
type parrot struct{}

func (parrot) Open(context.Context, runner.Opening) (runner.Session, error) { return parrot{}, nil }

func (parrot) Send(_ context.Context, message chat.Content) (chat.Reply, error) {
	return chat.Reply{Text: "You said: " + message.String()}, nil
}

func (parrot) Close() error { return nil }

// polite makes one check of every assertion: the reply says please.
type polite struct{}

func (p polite) Check(a suite.Assertion) (runner.Check, error) {
	return runner.Check{Assertion: a, Grader: p}, nil
}

func (polite) Grade(_ context.Context, x *runner.Exchange) (result.Grade, error) {
	if strings.Contains(x.Text, "please") {
		return result.Grade{Score: 1}, nil
	}
	return result.Grade{Code: result.AssistantContent, Reason: "wanted: please"}, nil
}

// Hold needs three things: a test, a target to talk to, and what makes graders of the test's assertions.
func ExampleRun() {
	assertions := []suite.Assertion{{Type: "polite", Weight: 1, Threshold: -1}}
	test := &suite.Test{
		ID: "order",
		Turns: []suite.Turn{
			{Input: chat.Content{Text: "A coffee, please"}, Assertions: assertions},
			{Input: chat.Content{Text: "Now!"}, Assertions: assertions},
		},
	}
	record, err := runner.Run(context.Background(), runner.Conversation{
		Test: test, Target: parrot{}, Grading: polite{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, score := range record.Scores {
		fmt.Println(record.Turns[i].Output, score.Score, score.Verdict)
	}
	fmt.Println(record.Verdict, record.Failures[0].Message)
	// Output:
	// You said: A coffee, please 1 pass
	// You said: Now! 0 fail
	// fail wanted: please
}
