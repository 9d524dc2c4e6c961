package enrich

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Outcome is what asking a source came to.
type Outcome string

// The outcomes. OutcomeSkipped is that of a source that goes by addresses where the visitor's is not public.
const (
	OutcomeCompleted Outcome = "completed"
	OutcomePartial   Outcome = "partial"
	OutcomeNotFound  Outcome = "not_found"
	OutcomeError     Outcome = "error"
	OutcomeSkipped   Outcome = "skipped"
)

// Attempt tells the log how it went with one source.
type Attempt struct {
	Source  string        `json:"source"`
	Outcome Outcome       `json:"outcome"`
	Took    time.Duration `json:"took_ns"`
	// Err is why the outcome is OutcomeError; it has no secret in it, nor the visitor's address.
	Err error `json:"-"`
}

// ask asks one source within its limit. The profile has a status if, and only if, the source knew something.
func (s step) ask(ctx context.Context, v Visitor) (Profile, Attempt) {
	a := Attempt{Source: s.name, Outcome: OutcomeSkipped}
	if s.byIP && !v.public() {
		return Profile{}, a
	}
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	start := time.Now()
	p, err := s.source.Look(limited, v)
	a.Took = time.Since(start)
	switch {
	case err != nil:
		a.Outcome, a.Err = OutcomeError, s.explain(ctx, limited, err)
		return Profile{}, a
	case p.Status == Completed:
		a.Outcome = OutcomeCompleted
	case p.Status == Partial:
		a.Outcome = OutcomePartial
	default:
		a.Outcome = OutcomeNotFound
		return Profile{}, a
	}
	if !known(p.Source) {
		p.Source = s.name
	}
	return p, a
}

func (s step) explain(ctx, limited context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within what was left of %s for all sources", s.name, Budget)
	case ctx.Err() == nil && limited.Err() != nil:
		return fmt.Errorf("%s: no answer within %s", s.name, s.limit)
	}
	return fmt.Errorf("%s: %w", s.name, err)
}
