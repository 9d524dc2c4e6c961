package orchestrator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
)

// costly returns a plan of tests with these costs. read counts the tests that are read.
func costly(read *int, costs ...float64) orchestrator.Plan {
	tests := func(yield func(orchestrator.Unit, error) bool) {
		for i, cost := range costs {
			*read++
			if !yield(orchestrator.Unit{Test: test(fmt.Sprintf("%c%g", 'a'+i, cost)), Target: "t"}, nil) {
				return
			}
		}
	}
	return orchestrator.Plan{Tests: tests, Costs: slices.Values(costs)}
}

// pushes notes the order in which jobs are pushed.
type pushes struct {
	*queue.Memory
	mu  sync.Mutex
	ids []string
}

func (p *pushes) Push(ctx context.Context, j orchestrator.Job) error {
	p.mu.Lock()
	p.ids = append(p.ids, j.Key.TestID)
	p.mu.Unlock()
	return p.Memory.Push(ctx, j)
}

// The longest conversations begin first, equal ones and those of a single worker as they are written.
func TestLongestFirst(t *testing.T) {
	for workers, want := range map[int]string{2: "d9 b4 a1 c1 e1", 1: "a1 b4 c1 d9 e1"} {
		l, q := &ledger{}, &pushes{Memory: queue.NewMemory(workers)}
		o := made(t, orchestrator.Config{Workers: workers, Queue: q, Results: l, Run: verdicts(nil)})
		if _, err := o.Run(t.Context(), costly(new(int), 1, 4, 1, 9, 1), nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.Join(q.ids, " ")); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
}

// Tests are read when their turn comes, and no earlier, but for those that stand before a costlier one.
func TestTestsAreReadWhenTheyBegin(t *testing.T) {
	for name, costs := range map[string][]float64{"alike": {2, 2, 2, 2, 2, 2}, "falling": {9, 8, 7, 6, 5, 4}} {
		read, began := 0, 0
		o := made(t, orchestrator.Config{
			Workers: 2, Queue: queue.NewMemory(2), Results: &ledger{}, Run: verdicts(nil),
			Observe: func(p orchestrator.Progress) {
				if began = max(began, p.Totals.Tests+p.InFlight); read > began+1 {
					t.Errorf("%s: %d tests are read when %d have begun", name, read, began)
				}
			},
		})
		if _, err := o.Run(t.Context(), costly(&read, costs...), nil); err != nil || read != len(costs) {
			t.Errorf("%s: read %d tests: %v", name, read, err)
		}
	}
}
