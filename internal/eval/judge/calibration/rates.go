package calibration

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

func took(calls int, u chat.Usage, c chat.Cost) string {
	tokens, cost := text.Count(u.Total())+" tokens", text.Dollars(c.USD)
	if u.Unknown {
		tokens = "tokens unknown"
	}
	if c.Unknown {
		cost = "cost unknown"
	}
	return fmt.Sprintf("judge: %s, %s, %s", text.Plural(calls, "call"), tokens, cost)
}

const unknown = "unknown"

func rate(x *float64) string {
	if x == nil {
		return unknown
	}
	return text.Percent(*x)
}

func rates(x *[2]float64) string {
	if x == nil {
		return ""
	}
	return text.PercentRange(*x)
}

func figure(x *float64) string {
	if x == nil {
		return unknown
	}
	return fmt.Sprintf("%.3f", *x)
}

func interval(x *[2]float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf("%.3f to %.3f", x[0], x[1])
}

func part(s Share) string { return rate(s.Rate) + fmt.Sprintf(" (%d of %d)", s.Count, s.Of) }
