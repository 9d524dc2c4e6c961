package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// grade grades one exchange: deterministic checks first, models last. decided is false if a grader could not decide:
// the item is then an error without a score. What the others found stands in it all the same.
func (h *activeConversation) grade(ctx context.Context, name string, checks []Check,
	x *Exchange) (item result.Score, use result.JudgeUse, decided bool) {
	threshold := h.threshold
	item = result.Score{Name: name, Type: itemType(checks), Assertions: []result.Assertion{}}
	grades := make([]result.Grade, len(checks))
	decided = true
	failed := false
	for _, judged := range []bool{false, true} {
		for i, c := range checks {
			if c.Judged != judged {
				continue
			}
			if judged && failed && !c.Always && shortCircuit(x) {
				grades[i] = notCalled(c)
				continue
			}
			g, err := h.ask(ctx, c, x)
			use = use.Add(g.Judge)
			if err != nil {
				decided = false
				item.Failures = append(item.Failures, undecidedBy(ctx, c, x, err))
				continue
			}
			grades[i] = c.Adjust(g)
			fails, _ := c.Fails(grades[i], threshold)
			failed = failed || fails
		}
	}
	for i, c := range checks {
		for _, a := range grades[i].Assertions {
			if a.Grader == "" {
				a.Grader = label(c)
			}
			item.Assertions = append(item.Assertions, a)
		}
		g := grades[i]
		if fails, why := c.Fails(g, threshold); fails && g.Code != "" {
			item.Failures = append(item.Failures, result.Failure{
				Code: g.Code, Source: source(c, g), Turn: x.Turn, Message: sentence(c, why, g),
			})
		}
		for _, f := range g.Also {
			f.Turn = x.Turn
			item.Failures = append(item.Failures, f)
		}
	}
	if !decided {
		result.SortFailures(item.Failures)
		item.Verdict = result.Error
		return item, use, false
	}
	item.Verdict = result.Fail
	score(&item, checks, grades, failed, threshold, x)
	result.SortFailures(item.Failures)
	return item, use, true
}

// ask has a grader grade the exchange. A grader that does not end with its context is not waited for.
func (h *activeConversation) ask(ctx context.Context, c Check, x *Exchange) (result.Grade, error) {
	ctx, span := trace.Start(trace.As(collect.Grading(ctx, x.Turn), trace.Judge), trace.Grade,
		trace.A(trace.Grader, c.Type))
	defer span.Finish()
	g, err := isolate(ctx, h.Guard, func() (result.Grade, error) { return c.Grader.Grade(ctx, x) }, nil)
	if err != nil {
		span.Fail(err.Error())
	}
	return g, err
}

func shortCircuit(x *Exchange) bool {
	return x.Test.Execution.ShortCircuit != nil && *x.Test.Execution.ShortCircuit
}

func notCalled(c Check) result.Grade {
	return result.Grade{Assertions: []result.Assertion{{Text: label(c), Evidence: result.NotCalled}}}
}

func undecidedBy(ctx context.Context, c Check, x *Exchange, err error) result.Failure {
	if errors.Is(context.Cause(ctx), errTooLong) {
		return result.Failure{Code: result.Timeout, Source: "orchestrator", Turn: x.Turn, Message: tooLong(x.Test)}
	}
	who := label(c)
	if c.Judged {
		who = "judge"
	}
	return result.Failure{
		Code: result.JudgeError, Source: who, Turn: x.Turn,
		Message: fmt.Sprintf("%s could not decide: %v", label(c), err),
	}
}

// label is what a check is called in records.
func label(c Check) string {
	if c.Name != "" {
		return c.Name
	}
	return c.Type
}

// source names who found a failure: the grade's own source, else the one that belongs to the code, else the judge or
// the check.
func source(c Check, g result.Grade) string {
	byCode := g.Code.Source()
	if c.Judged && byCode == "" {
		byCode = "judge"
	}
	return cmp.Or(g.Source, byCode, label(c))
}

// sentence says what was wanted and what was got. It begins with the author's name of the check, if there is one.
func sentence(c Check, why string, g result.Grade) string {
	message := strings.Trim(why+"; "+g.Reason, "; ")
	if c.Name == "" {
		return message
	}
	return c.Name + ": " + message
}

// itemType returns the type that all checks share, "rubrics" when there are none, and "composite" for a mixture.
func itemType(checks []Check) string {
	if len(checks) == 0 {
		return "rubrics"
	}
	if slices.ContainsFunc(checks, func(c Check) bool { return c.Type != checks[0].Type }) {
		return "composite"
	}
	return checks[0].Type
}

// skipped is the score of something that was not reached.
func skipped(name string, checks []Check) result.Score {
	return result.Score{Name: name, Type: itemType(checks), Verdict: result.Skip, Assertions: []result.Assertion{}}
}
