package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// outside is a fleet that holds some conversations at once, a second each, and gives back those that it has not begun
// when it is asked to.
type outside struct {
	*elsewhere
	places int
	mu     sync.Mutex
	queued []result.Key
	begun  int
}

func (o *outside) Push(_ context.Context, j orchestrator.Job) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.queued = append(o.queued, j.Key); o.places > 0 {
		o.places--
		go o.work()
	}
	return nil
}

func (o *outside) work() {
	for {
		o.mu.Lock()
		if len(o.queued) == 0 {
			o.places++
			o.mu.Unlock()
			return
		}
		next := o.queued[0]
		o.queued, o.begun = o.queued[1:], o.begun+1
		o.mu.Unlock()
		time.Sleep(time.Second)
		r := o.held(next)
		r.Record.Cost, r.Record.Usage = chat.Cost{USD: 1}, chat.Usage{InputTokens: 60, OutputTokens: 40}
		o.returns <- r
	}
}

func (o *outside) Withdraw() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.queued {
		o.returns <- orchestrator.Return{Key: k, Lost: true}
	}
	o.queued = nil
}

// A budget ends a run whose conversations are all queued for workers elsewhere: what none of them has begun is taken
// back. Where nothing is left to take back, the run is complete.
func TestBudgetElsewhere(t *testing.T) {
	for _, c := range []struct {
		budget             orchestrator.Budget
		tests, least, most int
		over               bool
	}{
		// 4 at a time: up to 7 more are under way when the fifth is known to have ended
		{orchestrator.Budget{USD: 5}, 40, 8, 12, true},
		{orchestrator.Budget{Tokens: 500}, 40, 8, 12, true},
		{orchestrator.Budget{Time: 2500 * time.Millisecond}, 40, 12, 12, true},
		{orchestrator.Budget{USD: 5}, 8, 8, 8, false},
		{orchestrator.Budget{Time: 1500 * time.Millisecond}, 8, 8, 8, false},
		{orchestrator.Budget{USD: 100}, 40, 40, 40, false},
	} {
		t.Run(fmt.Sprintf("%+v of %d", c.budget, c.tests), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{}
				o := &outside{
					elsewhere: &elsewhere{pushes: &pushes{}, returns: make(chan orchestrator.Return, 100)}, places: 4,
				}
				plan := costly(new(int), make([]float64, c.tests)...)
				plan.Budget = c.budget
				totals, err := made(t, orchestrator.Config{
					Workers: 100, Queue: o, Returns: o, Results: l,
				}).Run(t.Context(), plan, nil)
				if errors.Is(err, orchestrator.ErrBudget) != c.over || err != nil && !c.over {
					t.Errorf("the run ended with %v", err)
				}
				if o.begun < c.least || o.begun > c.most || totals.Passed != o.begun || len(l.records) != o.begun {
					t.Errorf("%d passed of %d begun, want %d to %d", totals.Passed, o.begun, c.least, c.most)
				}
			})
		})
	}
}
