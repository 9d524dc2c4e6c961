package orchestrator_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
)

// costs yields tests with their costs.
func costs(of ...float64) iter.Seq2[orchestrator.Unit, error] {
	return func(yield func(orchestrator.Unit, error) bool) {
		for i, cost := range of {
			if !yield(orchestrator.Unit{Test: test(fmt.Sprintf("%c%g", 'a'+i, cost)), Target: "t", Cost: cost}, nil) {
				return
			}
		}
	}
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
		if _, err := o.Run(t.Context(), orchestrator.Plan{Tests: costs(1, 4, 1, 9, 1)}, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.Join(q.ids, " ")); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
}
