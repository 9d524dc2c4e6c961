package grader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// budgetCheck makes a grader of a function that returns whether an exchange stays within a budget, and how much it
// used.
func budgetCheck(want string, check func(x *runner.Exchange) (passed bool, used string, err error)) runner.Grader {
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		passed, used, err := check(x)
		if err != nil {
			return result.Grade{}, err
		}
		g := yesNo(want, passed, used)
		g.Code = result.Budget
		return g, nil
	})
}

func newLatency(a *Args) runner.Grader {
	most := a.NumberOr("max_ms", -1, 0, unbounded,
		"the greatest latency in milliseconds; of a conversation, the sum over its turns")
	a.Node("threshold", "number", "the same as max_ms", false)
	own := a.Assertion.Threshold
	a.Assertion.Threshold = -1 // the parameter threshold is an amount here, not a score
	switch {
	case most >= 0 && own >= 0:
		a.Report("threshold", "keep max_ms", "max_ms and threshold are the same here")
	case most < 0 && own < 0 && !a.node.Has("max_ms"):
		a.node.Report("add `max_ms:`", "latency needs %q", "max_ms")
	case most < 0:
		most = own
	}
	return budgetCheck("at most "+amount(most)+" ms", func(x *runner.Exchange) (bool, string, error) {
		return durationWithin(x, most)
	})
}

// errUntimed is the reason why the latency of a recorded answer cannot be checked.
var errUntimed = errors.New("the answer was recorded without its latency")

// errNoUsage says why a budget of tokens or money cannot be checked.
var errNoUsage = errors.New("the target reports no token usage: check its turns by latency or turn_count")

func newCost(a *Args) runner.Grader {
	n, ok := a.either("max_usd", "budget", "number",
		"the greatest cost in US dollars; of a conversation, the sum over its turns", true)
	most := 0.0
	if ok {
		most = n.Number(0, unbounded)
	}
	return budgetCheck("at most $"+amount(most), func(x *runner.Exchange) (bool, string, error) {
		return costWithin(x, most)
	})
}

// costWithin returns whether the cost of an exchange is within a number of dollars, and the cost.
func costWithin(x *runner.Exchange, most float64) (bool, string, error) {
	cost := x.Reply.Cost
	switch {
	case !cost.Unknown || cost.USD > most:
		return cost.USD <= most, "$" + amount(cost.USD), nil
	case x.Reply.Usage.Unknown && cost.USD == 0:
		return false, "", errNoUsage
	case cost.USD == 0:
		return false, "", fmt.Errorf("cost of %d tokens: no price is configured for the model of this target",
			x.Reply.Usage.Total())
	}
	return false, "", fmt.Errorf(
		"cost of at least $%s: a model behind the reply has no price, or reports no token usage", amount(cost.USD))
}

func newTokenUsage(a *Args) runner.Grader {
	total := a.IntOr("max_total", -1, 0, "the greatest number of tokens, input and output together")
	input := a.IntOr("max_input", -1, 0, "the greatest number of input tokens")
	output := a.IntOr("max_output", -1, 0, "the greatest number of output tokens")
	if total < 0 && input < 0 && output < 0 {
		a.node.Report("add `max_total:`, `max_input:` or `max_output:`", "token_usage needs a bound")
	}
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		if x.Reply.Usage.Unknown {
			return result.Grade{}, errNoUsage
		}
		used := x.Reply.Usage
		var parts []result.Grade
		for _, bound := range []struct {
			name       string
			most, used int
		}{{"total", total, used.Total()}, {"input", input, used.InputTokens}, {"output", output, used.OutputTokens}} {
			if bound.most >= 0 {
				want := "at most " + counted(bound.most, bound.name+" token")
				parts = append(parts, yesNo(want, bound.used <= bound.most, counted(bound.used, bound.name+" token")))
			}
		}
		return together(parts), nil
	})
}

// together makes one grade of several yes-or-no grades: 1 when all passed, else the first failure's reason.
func together(parts []result.Grade) result.Grade {
	g := result.Grade{Score: 1, Code: result.Budget}
	for _, p := range parts {
		g.Assertions = append(g.Assertions, p.Assertions...)
		if p.Score < g.Score {
			g.Score, g.Reason = p.Score, p.Reason
		}
	}
	return g
}

func newTurnCount(a *Args) runner.Grader {
	low := a.IntOr("min", -1, 0, "the least number of turns held so far")
	high := a.IntOr("max", -1, 0, "the greatest number of turns held so far")
	a.checkRange("", -1, low, high)
	return budgetCheck(countWanted("turn", -1, low, high), func(x *runner.Exchange) (bool, string, error) {
		return inRange(x.TurnCount, -1, low, high), counted(x.TurnCount, "turn"), nil
	})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
