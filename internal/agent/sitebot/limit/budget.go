package limit

import (
	"context"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// Used is what a turn has used of models.
type Used struct {
	Spent
	// TokensUnknown and CostUnknown are true where not all of it is known; Spent is then the part that is.
	TokensUnknown, CostUnknown bool
}

// countLimit bounds how long writing down what a turn has used may take.
const countLimit = 5 * time.Second

// afford refuses what a site has no money for today.
func (g *Limiter) afford(ctx context.Context, s *site.Site) error {
	if !s.Limits.HasBudget() {
		return nil
	}
	now := g.now()
	spent, err := g.store.Spent(ctx, s.Name, dayOf(s, now))
	if err != nil {
		return err
	}
	if l := s.Limits; l.TokensPerDay > 0 && spent.Tokens >= int64(l.TokensPerDay) ||
		l.CostPerDay > 0 && spent.CostUSD >= l.CostPerDay {
		return &Refusal{site.BudgetSpent, untilTomorrow(s, now)}
	}
	return nil
}

// count writes down what a turn has used. The turn counts for the day on which it ends. It does so although the visitor
// may have gone: the money has.
func (g *Limiter) count(ctx context.Context, s *site.Site, u Used) {
	if !s.Limits.HasBudget() {
		return
	}
	day := dayOf(s, g.now())
	g.warn(s, day, u)
	if u.Spent == (Spent{}) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countLimit)
	defer cancel()
	if err := g.store.Spend(ctx, s.Name, day, u.Spent); err != nil {
		g.log.Error("what a turn has used is not counted in the budget", "site", s.Name, "tokens", u.Tokens, "cost_usd",
			u.CostUSD, "error", err)
	}
}

// warn says once a day that a budget cannot see all that is used.
func (g *Limiter) warn(s *site.Site, day string, u Used) {
	unknown := ""
	switch {
	case s.Limits.CostPerDay > 0 && u.CostUnknown:
		unknown = "cost_per_day"
	case s.Limits.TokensPerDay > 0 && u.TokensUnknown:
		unknown = "tokens_per_day"
	default:
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unsure[s.Name] != day {
		g.unsure[s.Name] = day
		g.log.Warn("a turn has used what the budget does not see: its model has no price, "+
			"or a call came without a count of tokens", "site", s.Name, "budget", unknown)
	}
}

// dayOf returns the day at a site, such as 2026-03-01.
func dayOf(s *site.Site, now time.Time) string { return now.In(s.Zone()).Format(time.DateOnly) }

// untilTomorrow returns how long the day at a site still lasts.
func untilTomorrow(s *site.Site, now time.Time) time.Duration {
	at := now.In(s.Zone())
	return time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, at.Location()).Sub(now)
}
