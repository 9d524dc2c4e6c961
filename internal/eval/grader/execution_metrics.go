package grader

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// limit is one limit of what a turn may use. The method returns what was used; an error says that it is not known.
type limit struct {
	most  float64
	noun  string
	check func(x *runner.Exchange, most float64) (within bool, used string, err error)
}

// errNoRequests says why the number of calls to a model cannot be checked.
var errNoRequests = errors.New("max_llm_calls: the target does not say how often it asked a model: remove the limit")

func newExecutionMetrics(a *Args) runner.Grader {
	doc := func(what string) string {
		return "the greatest " + what + "; of a conversation, the sum over its turns"
	}
	limits := []limit{
		{a.NumberOr("max_tool_calls", -1, 0, unbounded, doc("number of tool calls")), "tool calls", toolCallsWithin},
		{
			a.NumberOr("max_llm_calls", -1, 0, unbounded, doc("number of requests to the agent's model")),
			"model calls", requestsWithin,
		},
		{
			a.NumberOr("max_tokens", -1, 0, unbounded, doc("number of tokens, input and output together")), "tokens",
			tokensWithin,
		},
		{a.NumberOr("max_cost_usd", -1, 0, unbounded, doc("cost in US dollars")), "US dollars", costWithin},
		{a.NumberOr("max_duration_ms", -1, 0, unbounded, doc("time in milliseconds")), "ms", durationWithin},
	}
	for _, name := range []string{"target_exploration_ratio", "exploration_tolerance"} {
		if n, ok := a.Node(name, "number", "has no effect", false); ok {
			n.Warn("remove it", "limits of exploration have no effect: they are left out")
		}
	}
	var asked []limit
	for _, l := range limits {
		if l.most >= 0 {
			asked = append(asked, l)
		}
	}
	if len(asked) == 0 {
		a.node.Report("add `max_tool_calls:`, `max_llm_calls:`, `max_tokens:`, `max_cost_usd:` or `max_duration_ms:`",
			"%s needs a limit", a.Assertion.Type)
	}
	check := &runner.Check{}
	g := gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		return gradeLimits(*check, asked, x)
	})
	check.Assertion = a.Assertion
	return g
}

// gradeLimits scores the share of limits that are held.
func gradeLimits(check runner.Check, limits []limit, x *runner.Exchange) (result.Grade, error) {
	g := result.Grade{Code: result.Budget}
	held := 0
	var broken string
	for _, l := range limits {
		within, used, err := l.check(x, l.most)
		if err != nil {
			return result.Grade{}, err
		}
		want := fmt.Sprintf("at most %s %s", amount(l.most), l.noun)
		g.Assertions = append(g.Assertions, result.Assertion{Text: want, Passed: within, Evidence: used})
		if within {
			held++
		} else if broken == "" {
			broken = fmt.Sprintf("wanted: %s; got: %s", want, used)
		}
	}
	g.Score = float64(held) / float64(len(limits))
	if !passes(check, x, g.Score) {
		g.Reason = broken
	}
	return g, nil
}

func toolCallsWithin(x *runner.Exchange, most float64) (bool, string, error) {
	n := len(x.Reply.ToolCalls)
	return float64(n) <= most, counted(n, "tool call"), nil
}

func requestsWithin(x *runner.Exchange, most float64) (bool, string, error) {
	if x.Reply.Requests == 0 {
		return false, "", errNoRequests
	}
	return float64(x.Reply.Requests) <= most, counted(x.Reply.Requests, "model call"), nil
}

func tokensWithin(x *runner.Exchange, most float64) (bool, string, error) {
	if x.Reply.Usage.Unknown {
		return false, "", errNoUsage
	}
	return float64(x.Reply.Usage.Total()) <= most, counted(x.Reply.Usage.Total(), "token"), nil
}

func durationWithin(x *runner.Exchange, most float64) (bool, string, error) {
	if x.Reply.Untimed {
		return false, "", errUntimed
	}
	took := milliseconds(x.Reply.Latency)
	return took <= most, amount(took) + " ms", nil
}
