package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// said is a trial with one turn that took so many attempts.
func said(j orchestrator.Task, v result.Verdict, attempts int, codes ...result.Code) *result.Test {
	t := &result.Test{
		TestID: j.Test.ID, Trial: j.Trial, Verdict: v, Turns: []result.Turn{{Index: 1, Attempts: attempts}},
		Judge: result.JudgeUse{Calls: 1, Cost: chat.Cost{USD: 1}}, Cost: chat.Cost{USD: 3},
	}
	for _, code := range codes {
		t.Failures = append(t.Failures, result.Failure{Code: code})
	}
	return t
}

// TestAttribution: p and f are verdicts, e a judge that gave none, t a lost trial, u one whose simulated user failed, r
// a pass for which the target was asked twice. A word is a trial: its own verdict, then those of judging its transcript
// again.
func TestAttribution(t *testing.T) {
	for _, tc := range []struct {
		trials  string
		causes  string
		again   int
		unknown string
	}{
		{"ppp fff ppp", "agent", 6, ""},
		{"ppp fpp ppp", "judge", 6, ""},
		{"ppp fff pfp fff", "judge", 8, ""},
		{"ppp fff ppp fff ppp fff ppp fff ppf", "agent judge", 18, ""},
		{"ppp fff t", "inconclusive transport", 4, ""},
		{"ppe fff", "judge", 4, ""},
		{"p t p", "transport", 0, ""},
		{"p e p", "judge", 0, ""},
		{"p r p", "transport", 0, ""},
		{"pee fee", "judge", 4, "fewer than two"},
		{"p p p", "none", 0, ""},
		{"t t", "transport", 0, ""},
		{"p u p", "none", 0, ""},
		{"ppp fff u", "inconclusive", 4, ""},
		{"ppp fff u t", "inconclusive transport", 4, ""},
		{"f f", "none", 0, ""},
	} {
		t.Run(tc.trials, func(t *testing.T) {
			words := strings.Fields(tc.trials)
			verdict := map[byte]result.Verdict{
				'p': result.Pass, 'f': result.Fail, 'e': result.Error, 't': result.Error, 'r': result.Pass,
			}
			l, again := &ledger{}, map[int]int{}
			o := made(t, orchestrator.Config{
				Workers: 1, Queue: queue.NewMemory(1), Results: l,
				Run: func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
					switch c := words[j.Trial-1][0]; c {
					case 't':
						return said(j, result.Error, 3, result.EngineError), nil
					case 'u':
						lost := said(j, result.Error, 1, result.EngineError)
						lost.Failures[0].Source = "user"
						return lost, nil
					case 'e':
						return said(j, result.Error, 1, result.JudgeError), nil
					case 'r':
						return said(j, result.Pass, 2), nil
					default:
						return said(j, verdict[c], 1), nil
					}
				},
				Rejudge: func(_ context.Context, j orchestrator.Task, trial *result.Test) (*result.Test, error) {
					again[j.Trial]++
					return said(j, verdict[words[trial.Trial-1][again[j.Trial]]], 1), nil
				},
			})
			totals, err := o.Run(t.Context(), orchestrator.Plan{
				Tests: units(trials("x", len(words), suite.MeanScore)),
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			sum := l.records[len(l.records)-1]
			a := sum.Trials.Attribution
			if tc.causes == "none" {
				if a != nil {
					t.Errorf("%+v, want none", a)
				}
				return
			}
			if a == nil || strings.Join(a.Causes, " ") != tc.causes || a.Use.Calls != tc.again ||
				!strings.Contains(a.Unknown, tc.unknown) || a.Unknown != "" && tc.unknown == "" {
				t.Fatalf("%+v, want %s and %d calls", a, tc.causes, tc.again)
			}
			// Conversations were paid for once, and judging again as the judge's work alone.
			if n := len(words); totals.Judge.Calls != n+tc.again || totals.Cost.USD != float64(3*n+tc.again) ||
				sum.Judge.Calls != totals.Judge.Calls {
				t.Errorf("totals %+v, the test's judge %+v", totals, sum.Judge)
			}
			flaky := slices.ContainsFunc(sum.Failures, func(f result.Failure) bool {
				return f.Code == result.Flaky && strings.Contains(f.Message, "what varies: ")
			})
			if sum.Trials.Class == "flaky" && !flaky {
				t.Errorf("the failure does not say what varies: %v", sum.Failures)
			}
		})
	}
}

// A run that is stopped while transcripts are judged again keeps the tests whose trials were all held, and says that it
// does not know.
func TestAttributionStopped(t *testing.T) {
	for _, how := range []string{"stop", "cancel", "budget", "panic"} {
		t.Run(how, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stop, l := make(chan struct{}), &ledger{}
			plan := orchestrator.Plan{Tests: units(trials("x", 2, suite.MeanScore))}
			if how == "budget" {
				plan.Budget.USD = 5
			}
			o := made(t, orchestrator.Config{
				Workers: 1, Queue: queue.NewMemory(1), Results: l,
				Run: func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
					if how == "stop" && j.Trial == 2 {
						close(stop)
					}
					return said(j, []result.Verdict{result.Pass, result.Fail}[j.Trial-1], 1), nil
				},
				Rejudge: func(context.Context, orchestrator.Task, *result.Test) (*result.Test, error) {
					if how == "panic" {
						panic("broken")
					}
					cancel()
					return nil, errors.New("interrupted")
				},
			})
			_, err := o.Run(ctx, plan, stop)
			if err != nil && !errors.Is(err, orchestrator.ErrBudget) {
				t.Fatal(err)
			}
			if len(l.records) != 3 {
				t.Fatal(l.brief())
			}
			a := l.records[2].Trials.Attribution
			if a == nil || len(a.Causes) != 0 || a.Unknown == "" || a.Agent != nil {
				t.Errorf("%+v", a)
			}
			if message := fmt.Sprint(l.records[2].Failures); !strings.Contains(message, "what varies is unknown") {
				t.Error(message)
			}
		})
	}
}
