package orchestrator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestBudgetOfTokens counts what the targets, judges and users of this run and of its earlier part have used.
func TestBudgetOfTokens(t *testing.T) {
	use := chat.Usage{InputTokens: 8, OutputTokens: 2}
	for name, c := range map[string]struct {
		record   result.Test
		regraded bool
		want     int
	}{
		"targets": {record: result.Test{Usage: use}, want: 2},
		"judges":  {record: result.Test{Judge: result.JudgeUse{Usage: use}}, want: 2},
		"users":   {record: result.Test{User: &result.User{Usage: use}}, want: 2},
		"graded again: judges": {
			record: result.Test{Usage: use, Judge: result.JudgeUse{Usage: use}}, regraded: true, want: 2,
		},
		"unknown is nothing": {record: result.Test{Usage: chat.Usage{Unknown: true}}, want: 4},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{}
			o := made(t, orchestrator.Config{
				Workers: 1, Queue: queue.NewMemory(1), Results: l,
				Run: func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
					r := c.record
					r.Suite, r.TestID, r.Verdict = j.Test.Suite, j.Test.ID, result.Pass
					return &r, nil
				},
			})
			_, err := o.Run(t.Context(), orchestrator.Plan{
				Tests: units(test("a"), test("b"), test("c"), test("d")), Regraded: c.regraded,
				Budget: orchestrator.Budget{Tokens: 15}, Spent: orchestrator.Budget{Tokens: 1},
			}, nil)
			if len(l.records) != c.want || errors.Is(err, orchestrator.ErrBudget) != (c.want < 4) {
				t.Errorf("Run = %v with %d records, want %d", err, len(l.records), c.want)
			}
		})
	}
}

// TestBudgetOfTime: nothing begins after it, what is under way ends, and what was used before counts.
func TestBudgetOfTime(t *testing.T) {
	for before, want := range map[time.Duration]int{0: 3, 4 * time.Second: 1, 5 * time.Second: 0, time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			l := &ledger{}
			o := made(t, orchestrator.Config{
				Workers: 1, Queue: queue.NewMemory(1), Results: l,
				Run: func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
					time.Sleep(2 * time.Second)
					return &result.Test{Suite: j.Test.Suite, TestID: j.Test.ID, Verdict: result.Pass}, nil
				},
			})
			_, err := o.Run(t.Context(), orchestrator.Plan{
				Tests:  units(test("a"), test("b"), test("c"), test("d")),
				Budget: orchestrator.Budget{Time: 5 * time.Second}, Spent: orchestrator.Budget{Time: before},
			}, nil)
			if !errors.Is(err, orchestrator.ErrBudget) || len(l.records) != want {
				t.Errorf("after %s: %v with %d records, want %d", before, err, len(l.records), want)
			}
		})
	}
}
