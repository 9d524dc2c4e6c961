package runner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// A failure that a target knows is recorded as it is, at its own turn; a turn that was said keeps its grade.
func TestFailureError(t *testing.T) {
	for _, tc := range []struct {
		name    string
		failure result.Failure
		// verdicts are those of the turns.
		verdicts []result.Verdict
	}{
		{
			"of the turn", result.Failure{Code: result.Timeout, Source: "orchestrator", Turn: 2, Message: "slow"},
			[]result.Verdict{result.Pass, result.Error, result.Skip},
		},
		{
			"of another turn", result.Failure{Code: result.SpecInvalid, Source: "s", Turn: 3, Message: "m"},
			[]result.Verdict{result.Pass, result.Skip, result.Error},
		},
		{"of a turn that the test lacks", result.Failure{
			Code: result.SpecInvalid, Source: "s", Turn: 4, Message: "m",
		}, []result.Verdict{result.Pass, result.Skip, result.Skip}},
		{
			"of no turn", result.Failure{Code: result.EngineError, Source: "s", Message: "m"},
			[]result.Verdict{result.Pass, result.Error, result.Skip},
		},
		{
			"of a turn that was said", result.Failure{Code: result.EngineError, Source: "s", Turn: 1, Message: "m"},
			[]result.Verdict{result.Pass, result.Error, result.Skip},
		},
	} {
		agent := &agent{answer: func(turn int, _ []chat.Message) (chat.Reply, error) {
			if turn == 2 {
				return chat.Reply{}, &runner.FailureError{Failure: tc.failure}
			}
			return chat.Reply{Text: "fine"}, nil
		}}
		test := &suite.Test{ID: "t", Conversation: true, Turns: make([]suite.Turn, 3)}
		got, err := runner.Run(t.Context(), runner.Conversation{
			Test: test, Target: agent, Grading: grader.New(grader.Config{}),
		})
		if err != nil {
			t.Fatal(err)
		}
		var verdicts []result.Verdict
		for _, s := range got.Scores {
			verdicts = append(verdicts, s.Verdict)
		}
		if diff := cmp.Diff(tc.verdicts, verdicts); diff != "" || got.Verdict != result.Error ||
			got.ExecutionStatus != result.ExecutionError {
			t.Errorf("%s: %s, %s (-want +got):\n%s", tc.name, got.Verdict, got.ExecutionStatus, diff)
		}
		if diff := cmp.Diff([]result.Failure{tc.failure}, got.Failures); diff != "" {
			t.Errorf("%s: failures (-want +got):\n%s", tc.name, diff)
		}
	}
}
