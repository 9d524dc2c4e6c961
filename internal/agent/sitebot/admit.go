package sitebot

import (
	"context"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
)

// enter lets a message in, or refuses it before anything of it is counted, stored or shown to a model. leave is called
// when the turn has ended.
func (b *Bot) enter(ctx context.Context, t *turn) (leave func(), err error) {
	if b.Limits == nil {
		return func() {}, nil
	}
	left, err := b.Limits.Enter(ctx, limit.Visit{Site: t.Site, Visitor: t.request.Visitor, IP: t.request.IP})
	if refusal, ok := errors.AsType[*limit.Refusal](err); ok {
		return nil, t.refused(refusal.Reason, refusal)
	}
	if err != nil {
		return nil, &Error{Fault: StoreFailed, Message: "the limits of visitors cannot be read", Err: err}
	}
	return func() { left(ctx, usedOf(t.meter.total())) }, nil
}

// refused is the error of a message that the limits refuse, in the visitor's language.
func (t *turn) refused(reason string, why *limit.Refusal) *Error {
	e := &Error{Fault: Fault(reason), Message: t.Refused(reason, t.request.Language)}
	if why != nil {
		e.RetryAfter = why.After
	}
	return e
}

func usedOf(u Use) limit.Used {
	return limit.Used{
		Spent:         limit.Spent{Tokens: int64(u.Usage.Total() + u.Guess), CostUSD: u.Cost.USD},
		TokensUnknown: u.Usage.Unknown, CostUnknown: u.Cost.Unknown,
	}
}
