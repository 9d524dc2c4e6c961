package orchestrator_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// An Orchestrator runs every test of a plan after the tests that it depends on.
func ExampleOrchestrator() {
	records := &ledger{}
	o, err := orchestrator.New(orchestrator.Config{
		RunID: "20260714-093000-k3x9", Workers: 2, Queue: queue.NewMemory(2), Results: records,
		Run: func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
			verdict := result.Pass
			if j.Test.ID == "login" {
				verdict = result.Fail
			}
			return &result.Test{Suite: j.Test.Suite, TestID: j.Test.ID, Target: j.Target, Verdict: verdict}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	order := &suite.Test{
		Suite: "shop", ID: "order", DependsOn: []string{"login"}, OnDependencyFailure: suite.SkipUnlessPassed,
	}
	tests := func(yield func(orchestrator.Unit, error) bool) {
		for _, t := range []*suite.Test{order, {Suite: "shop", ID: "login"}, {Suite: "shop", ID: "browse"}} {
			if !yield(orchestrator.Unit{Test: t, Target: "agent"}, nil) {
				return
			}
		}
	}
	needed := func(_, id string) bool { return id == "login" }
	totals, err := o.Run(context.Background(), orchestrator.Plan{Tests: tests, Needed: needed}, nil)
	fmt.Println(totals.Passed, totals.Failed, totals.Skipped, err)
	// Output: 1 1 1 <nil>
}
