package orchestrator

import (
	"fmt"
	"time"
)

// overspentElsewhere is overspent for conversations that wait in the queue of workers elsewhere: they are begun without
// being asked for here.
func (s *scheduler) overspentElsewhere() error {
	if s.Returns == nil || s.under.len() == 0 {
		return nil
	}
	return s.overspent()
}

// overspent returns why nothing new may begin, or nil. What a provider did not report counts as nothing.
func (s *scheduler) overspent() error {
	if !s.plan.Budget.Bounded() {
		return nil
	}
	budget, totals := s.plan.Budget, s.tally.Totals()
	usd := s.plan.Spent.USD + totals.Judge.Cost.USD
	tokens := s.plan.Spent.Tokens + totals.Judge.Usage.Total()
	if !s.plan.Regraded { // else targets and users were paid before; a test's cost has its judge's in it
		usd = s.plan.Spent.USD + totals.Cost.USD + totals.User.Spent().USD
		tokens += totals.Usage.Total() + totals.User.Used().Total()
	}
	switch {
	case budget.USD > 0 && usd >= budget.USD:
		return fmt.Errorf("%w: $%.4f of $%.4f", ErrBudget, usd, budget.USD)
	case budget.Tokens > 0 && tokens >= budget.Tokens:
		return fmt.Errorf("%w: %d of %d tokens", ErrBudget, tokens, budget.Tokens)
	case budget.Time > 0 && s.plan.Spent.Time >= budget.Time:
		return s.overtime()
	}
	return nil
}

func (s *scheduler) overtime() error {
	return fmt.Errorf("%w: the run has lasted %s", ErrBudget, s.plan.Budget.Time)
}

// late returns a channel that tells when the time of the run is over; still ends the wait.
func (s *scheduler) late() (over <-chan time.Time, still func()) {
	if s.plan.Budget.Time == 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(s.plan.Budget.Time - s.plan.Spent.Time)
	return timer.C, func() { timer.Stop() }
}

// close begins nothing new: jobs that no worker holds yet are taken back.
func (s *scheduler) close() {
	if s.closing {
		return
	}
	s.closing = true
	if w, ok := s.Queue.(Withdrawer); ok {
		w.Withdraw()
	}
}
