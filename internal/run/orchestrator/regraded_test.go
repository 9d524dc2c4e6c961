package orchestrator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Of conversations that are graded again every trial counts, whatever the ones before came to.
func TestRegradedTrials(t *testing.T) {
	for _, tc := range []struct {
		of   map[string]result.Verdict
		want []string
	}{
		{nil, []string{"x#1 pass", "x#2 pass", "x#3 pass", "x 3/3 1.00 pass"}},
		{
			map[string]result.Verdict{"x#1": result.Fail, "x#2": result.Fail, "x#3": result.Fail},
			[]string{"x#1 fail", "x#2 fail", "x#3 fail", "x 0/3 0.25 fail"},
		},
		{
			map[string]result.Verdict{"x#2": result.Error},
			[]string{"x#1 pass", "x#2 error", "x#3 pass", "x 2/3 1.00 pass"},
		},
	} {
		l := &ledger{}
		o := made(t, orchestrator.Config{Workers: 1, Queue: queue.NewMemory(1), Results: l, Run: verdicts(tc.of)})
		if _, err := o.Run(t.Context(), orchestrator.Plan{
			Tests: units(trials("x", 3, suite.PassAtK)), Regraded: true,
		}, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, l.brief()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.of, diff)
		}
	}
}

// What conversations had cost before is not spent again: only judges count against the budget.
func TestRegradedBudget(t *testing.T) {
	for judge, held := range map[float64]int{0: 3, 1: 2} {
		l := &ledger{}
		o := made(t, orchestrator.Config{Workers: 1, Queue: queue.NewMemory(1), Results: l, Run: func(_ context.Context,
			j orchestrator.Task) (*result.Test, error) {
			return &result.Test{
				TestID: j.Test.ID, Verdict: result.Pass, Cost: chat.Cost{USD: 50 + judge},
				Judge: result.JudgeUse{Cost: chat.Cost{USD: judge}},
			}, nil
		}})
		_, err := o.Run(t.Context(), orchestrator.Plan{
			Tests: units(test("a"), test("b"), test("c")), Budget: orchestrator.Budget{USD: 2}, Regraded: true,
		}, nil)
		if errors.Is(err, orchestrator.ErrBudget) != (held < 3) || len(l.records) != held {
			t.Errorf("judges at $%v each: %v with %d records, want %d", judge, err, len(l.records), held)
		}
	}
}
