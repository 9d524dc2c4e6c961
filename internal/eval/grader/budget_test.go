package grader

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestBudgets(t *testing.T) {
	x := reply("hi")
	x.TurnCount = 3
	x.Reply = chat.Reply{Latency: 1500 * time.Millisecond, Cost: chat.Cost{USD: 0.02}, Usage: chat.Usage{
		InputTokens: 100, OutputTokens: 20,
	}}
	s := New(Config{})
	for _, tc := range []struct {
		yaml  string
		score float64
		says  string
	}{
		{"{type: latency, max_ms: 1500}", 1, "1500 ms"},
		{"{type: latency, max_ms: 1499.5}", 0, "wanted: at most 1499.5 ms; got: 1500 ms"},
		{"{type: latency, threshold: 2000}", 1, ""},
		{"{type: latency, threshold: 1}", 0, "at most 1 ms"},
		{"{type: latency, max_ms: 0}", 0, ""},
		{"{type: cost, max_usd: 0.02}", 1, "$0.02"},
		{"{type: cost, budget: 0.000012}", 0, "at most $0.000012; got: $0.02"},
		{"{type: token-usage, max_total: 120}", 1, "120 total tokens"},
		{
			"{type: token_usage, max_total: 200, max_input: 99, max_output: 19}", 0,
			"at most 99 input tokens; got: 100 input tokens",
		},
		{"{type: token_usage, max_output: 20}", 1, ""},
		{"{type: turn_count, min: 3, max: 3}", 1, "3 turns"},
		{"{type: turn_count, min: 4}", 0, "wanted: at least 4 turns; got: 3 turns"},
		{"{type: turn_count, max: 2}", 0, "at most 2 turns"},
	} {
		check := one(t, s, tc.yaml)
		g := grade(t, check, x)
		if g.Score != tc.score || g.Code != result.Budget ||
			!strings.Contains(g.Reason+g.Assertions[0].Evidence, tc.says) {
			t.Errorf("%s: %+v, want score %v and %q", tc.yaml, g, tc.score, tc.says)
		}
		if check.Threshold > 1 || tc.score == 1 && !check.Passes(g, 0.8) {
			t.Errorf("%s: threshold %v is left in the check", tc.yaml, check.Threshold)
		}
	}
	runProblems(t, []problemCase{
		{"type: latency", 1, 3, `needs "max_ms"`},
		{"type: latency\nmax_ms: fast", 2, 11, "expected a number"},
		{"type: latency\nmax_ms: 5\nthreshold: 5", 3, 14, "are the same here"},
		{"type: cost", 1, 3, `needs "max_usd"`},
		{"type: cost\nmax_usd: -1", 2, 12, "out of range"},
		{"type: cost\nmax_usd: 1\nbudget: 1", 3, 11, "are the same"},
		{"type: token_usage", 1, 3, "needs a bound"},
		{"type: turn_count", 1, 3, "needs a bound"},
		{"type: turn_count\nmin: 2\nmax: 1", 2, 8, "greater than max"},
		{"type: turn_count\nvalue: 2\nmax: 1", 2, 10, "unknown key"},
	})
}

// A missing number is no 0 for an expression, too.
func TestExpressionOfTheUnknown(t *testing.T) {
	for _, code := range []string{
		"usage.total_tokens < 100", "usage.input_tokens == 0", "cost_usd < 1", "cost_usd == 0", "cost_usd != 1",
		"cost_usd + 1 < 9", `$env["cost_usd"] == 0`, "usage.total_tokens + 1 < 9",
	} {
		check := one(t, New(Config{}), "{type: expression, value: "+strconv.Quote(code)+"}")
		x := reply("hi")
		x.Reply.Usage.Unknown, x.Reply.Cost.Unknown = true, true
		if g, err := check.Grader.Grade(context.Background(), x); err == nil {
			t.Errorf("%s of a reply without usage: score %v", code, g.Score)
		}
		x.Reply.Usage, x.Reply.Cost = chat.Usage{}, chat.Cost{}
		if g := grade(t, check, x); g.Score != 1 {
			t.Errorf("%s of a reply without a model: %s", code, g.Reason)
		}
	}
}

func TestCostWithoutPrice(t *testing.T) {
	check := one(t, New(Config{}), "{type: cost, max_usd: 1}")
	x := reply("hi")
	x.Reply.Usage.OutputTokens, x.Reply.Cost.Unknown = 5, true
	if _, err := check.Grader.Grade(context.Background(), x); err == nil ||
		!strings.Contains(err.Error(), "no price is configured") {
		t.Errorf("tokens without a price: error %v", err)
	}
}

// What a target does not report is not within any budget; only a reply that no model was asked for has used nothing.
func TestBudgetsWithoutUsage(t *testing.T) {
	for _, yaml := range []string{
		"{type: cost, max_usd: 1}", "{type: token_usage, max_total: 100}", "{type: token_usage, max_input: 0}",
	} {
		check := one(t, New(Config{}), yaml)
		x := reply("hi")
		x.Reply.Usage.Unknown, x.Reply.Cost.Unknown = true, true
		if _, err := check.Grader.Grade(context.Background(), x); !errors.Is(err, errNoUsage) {
			t.Errorf("%s of a reply without usage: error %v", yaml, err)
		}
		x.Reply.Usage, x.Reply.Cost = chat.Usage{}, chat.Cost{}
		if g := grade(t, check, x); g.Score != 1 {
			t.Errorf("%s of a reply without a model: %s", yaml, g.Reason)
		}
	}
}
