package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ledger keeps records in the order in which they came.
type ledger struct {
	mu      sync.Mutex
	records []*result.Test
}

func (l *ledger) Append(records ...*result.Test) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, records...)
	return nil
}

func (l *ledger) brief() []string {
	var out []string
	for _, r := range l.records {
		s := r.TestID
		if r.Trial > 0 {
			s += fmt.Sprintf("#%d", r.Trial)
		}
		if r.Trials != nil {
			s += fmt.Sprintf(" %d/%d %.2f", r.Trials.Passed, r.Trials.Count, r.Score)
		}
		out = append(out, s+" "+string(r.Verdict))
	}
	return out
}

// verdicts holds conversations whose verdict is looked up by "id" or "id#trial"; pass if it is not listed.
func verdicts(of map[string]result.Verdict) func(context.Context, orchestrator.Task) (*result.Test, error) {
	return func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
		name := j.Test.ID
		if j.Trial > 0 {
			name = fmt.Sprintf("%s#%d", j.Test.ID, j.Trial)
		}
		r := &result.Test{TestID: j.Test.ID, Trial: j.Trial, Verdict: result.Pass, Score: 1, Cost: chat.Cost{USD: 1}}
		if v, ok := of[name]; ok {
			r.Verdict, r.Score = v, 0.25
		}
		if r.Verdict.Graded() {
			r.GradedScore = &r.Score
		}
		return r, nil
	}
}

func units(tests ...*suite.Test) iter.Seq2[orchestrator.Unit, error] {
	return func(yield func(orchestrator.Unit, error) bool) {
		for _, t := range tests {
			if !yield(orchestrator.Unit{Test: t, Target: "t"}, nil) {
				return
			}
		}
	}
}

// made returns an orchestrator of a configuration that has everything.
func made(t require, c orchestrator.Config) *orchestrator.Orchestrator {
	t.Helper()
	o, err := orchestrator.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// require is what made needs of a test, rapid's too.
type require interface {
	Helper()
	Fatal(...any)
}

func test(id string, needs ...string) *suite.Test { return &suite.Test{ID: id, DependsOn: needs} }

func trials(id string, n int, s suite.Strategy) *suite.Test {
	return &suite.Test{ID: id, Execution: suite.Execution{Trials: suite.Trials{Count: n, Strategy: s}}}
}

func always(string, string) bool { return true }

func TestDependencies(t *testing.T) {
	policy := func(p suite.OnDependencyFailure, t *suite.Test) *suite.Test {
		t.OnDependencyFailure = p
		return t
	}
	const skip, run = suite.SkipUnlessPassed, suite.RunAnyway
	for _, tc := range []struct {
		name  string
		tests []*suite.Test
		of    map[string]result.Verdict
		want  []string
	}{
		{
			"a dependent waits, also when it is written first", []*suite.Test{test("b", "a"), test("a")}, nil,
			[]string{"a pass", "b pass"},
		},
		{
			"a low score holds nobody back", []*suite.Test{test("a"), test("b", "a"), test("d", "b")},
			map[string]result.Verdict{"a": result.Fail}, []string{"a fail", "b pass", "d pass"},
		},
		{
			"skip unless passed, and theirs", []*suite.Test{test("a"), policy(skip, test("b", "a")), test("d", "b")},
			map[string]result.Verdict{"a": result.Fail}, []string{"a fail", "b skip", "d skip"},
		},
		{
			"an error skips dependents", []*suite.Test{test("b", "a"), test("a")},
			map[string]result.Verdict{"a": result.Error}, []string{"a error", "b skip"},
		},
		{
			"an error skips those who want a pass", []*suite.Test{policy(skip, test("b", "a")), test("a")},
			map[string]result.Verdict{"a": result.Error}, []string{"a error", "b skip"},
		},
		{
			"run anyway", []*suite.Test{test("a"), policy(run, test("c", "a"))},
			map[string]result.Verdict{"a": result.Fail}, []string{"a fail", "c pass"},
		},
		{"run anyway after an error and a skip", []*suite.Test{
			test("a"), test("b", "a"), policy(run, test("c", "a", "b")),
		}, map[string]result.Verdict{"a": result.Error}, []string{"a error", "b skip", "c pass"}},
		{"one that is skipped as it comes releases who waited", []*suite.Test{
			test("c", "b"), test("a"), test("b", "a"),
		}, map[string]result.Verdict{"a": result.Error}, []string{"a error", "b skip", "c skip"}},
		{
			"several", []*suite.Test{test("c", "a", "b"), test("a"), test("b", "a")}, nil,
			[]string{"a pass", "b pass", "c pass"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &ledger{}
			o := made(t, orchestrator.Config{Workers: 3, Queue: queue.NewMemory(3), Results: l, Run: verdicts(tc.of)})
			if _, err := o.Run(t.Context(), orchestrator.Plan{
				Tests: units(tc.tests...), Needed: always,
			}, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, l.brief()); diff != "" {
				t.Errorf("records mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrials(t *testing.T) {
	mixed := map[string]result.Verdict{"x#1": result.Fail, "x#3": result.Fail}
	for _, tc := range []struct {
		strategy suite.Strategy
		of       map[string]result.Verdict
		want     []string
		class    string
	}{
		{suite.PassAtK, mixed, []string{"x#1 fail", "x#2 pass", "x 1/2 1.00 pass"}, ""},
		{suite.PassAtK, nil, []string{"x#1 pass", "x 1/1 1.00 pass"}, ""},
		{suite.PassAll, mixed, []string{"x#1 fail", "x#2 pass", "x#3 fail", "x 1/3 0.25 fail"}, "flaky"},
		{suite.MeanScore, mixed, []string{"x#1 fail", "x#2 pass", "x#3 fail", "x 1/3 0.50 fail"}, "flaky"},
		{suite.ConfidenceInterval, nil, []string{"x#1 pass", "x#2 pass", "x#3 pass", "x 3/3 1.00 pass"}, "stable_pass"},
		{suite.MeanScore, map[string]result.Verdict{"x#2": result.Error}, []string{
			"x#1 pass", "x#2 error", "x#3 pass", "x 2/3 0.00 error",
		}, ""},
		{suite.PassAtK, map[string]result.Verdict{"x#1": result.Error}, []string{
			"x#1 error", "x#2 pass", "x 1/2 1.00 pass",
		}, ""},
	} {
		t.Run(fmt.Sprintf("%s %v", tc.strategy, tc.of), func(t *testing.T) {
			l := &ledger{}
			o := made(t, orchestrator.Config{Workers: 1, Queue: queue.NewMemory(1), Results: l, Run: verdicts(tc.of)})
			totals, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(trials("x", 3, tc.strategy))}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, l.brief()); diff != "" {
				t.Errorf("records mismatch (-want +got):\n%s", diff)
			}
			last := l.records[len(l.records)-1]
			if string(last.Trials.Class) != tc.class || totals.Tests != 1 || totals.Conversations != len(tc.want)-1 ||
				math.Abs(totals.Cost.USD-float64(len(tc.want)-1)) > 1e-9 {
				t.Errorf("class %s, totals %+v", last.Trials.Class, totals)
			}
		})
	}
}

func TestFlakyIsFiled(t *testing.T) {
	const f = result.Fail
	for passes, of := range map[int]map[string]result.Verdict{
		0: {"x#1": f, "x#2": f, "x#3": f, "x#4": f}, 1: {"x#1": f, "x#2": f, "x#3": f}, 3: {"x#2": f}, 4: nil,
	} {
		l := &ledger{}
		o := made(t, orchestrator.Config{Workers: 2, Queue: queue.NewMemory(2), Results: l, Run: verdicts(of)})
		if _, err := o.Run(t.Context(), orchestrator.Plan{
			Tests: units(trials("x", 4, suite.MeanScore)),
		}, nil); err != nil {
			t.Fatal(err)
		}
		sum := l.records[len(l.records)-1]
		if flaky := passes == 1 || passes == 3; flaky != (len(sum.Failures) == 1) ||
			flaky && (sum.Failures[0].Code != result.Flaky ||
				!strings.Contains(sum.Failures[0].Message, fmt.Sprintf("%d passes in 4 trials", passes))) {
			t.Errorf("%d passes: failures = %+v", passes, sum.Failures)
		}
		if passes == 3 && (len(sum.Trials.PassHatK) != 4 || sum.Trials.PassHatK[0] != 0.75 ||
			sum.Trials.PassAtK[1] != 1) {
			t.Errorf("trials = %+v", sum.Trials)
		}
	}
}

func TestAtMostSoManyInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		o := made(t, orchestrator.Config{
			Workers: 4, Queue: queue.NewMemory(4), Results: &ledger{},
			Run: func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				return &result.Test{TestID: j.Test.ID, Verdict: result.Pass}, nil
			},
		})
		var tests []*suite.Test
		for i := range 20 {
			tests = append(tests, test(fmt.Sprint(i)))
		}
		started := time.Now()
		totals, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(tests...)}, nil)
		if err != nil || totals.Passed != 20 || most.Load() != 4 || time.Since(started) != 5*time.Second {
			t.Errorf("Run = %+v, %v with %d at once in %s; want 20 passes, 4 at once, 5s", totals, err, most.Load(),
				time.Since(started))
		}
	})
}

func TestStopFinishesWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{}
		o := made(t, orchestrator.Config{Workers: 2, Queue: queue.NewMemory(2), Results: l, Run: func(_ context.Context,
			j orchestrator.Task) (*result.Test, error) {
			time.Sleep(2 * time.Second)
			return &result.Test{TestID: j.Test.ID, Verdict: result.Pass}, nil
		}})
		stop := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(stop) })
		_, err := o.Run(t.Context(), orchestrator.Plan{
			Tests: units(test("a"), test("b"), test("c"), test("d"), test("e")),
		}, stop)
		if !errors.Is(err, orchestrator.ErrStopped) || len(l.records) != 4 {
			t.Errorf("Run = %v with %d records, want ErrStopped with the 4 that had begun", err, len(l.records))
		}
	})
}

// Once it is stopped a run starts nothing, however fast its conversations end.
func TestStopComesFirst(t *testing.T) {
	stop := make(chan struct{})
	var all []*suite.Test
	for i := range 1000 {
		all = append(all, test(fmt.Sprint(i)))
	}
	l := &ledger{}
	o := made(t, orchestrator.Config{Workers: 1, Queue: queue.NewMemory(1), Results: l, Run: func(_ context.Context,
		j orchestrator.Task) (*result.Test, error) {
		if j.Test.ID == "1" {
			close(stop)
		}
		return &result.Test{TestID: j.Test.ID, Verdict: result.Pass}, nil
	}})
	if _, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(all...)}, stop); !errors.Is(err,
		orchestrator.ErrStopped) || len(l.records) != 2 {
		t.Errorf("Run = %v with %d records, want ErrStopped with 2", err, len(l.records))
	}
	l.records = nil
	if _, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(all[:1]...)}, stop); !errors.Is(err,
		orchestrator.ErrStopped) || len(l.records) != 0 {
		t.Errorf("Run = %v with %d records, want ErrStopped with none", err, len(l.records))
	}
}

func TestCancelGivesUpWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l := &ledger{}
		o := made(t, orchestrator.Config{
			Workers: 2, Queue: queue.NewMemory(2), Results: l,
			Run: func(ctx context.Context, _ orchestrator.Task) (*result.Test, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		_, err := o.Run(ctx, orchestrator.Plan{Tests: units(test("a"), test("b"), test("c"))}, nil)
		if !errors.Is(err, orchestrator.ErrStopped) || len(l.records) != 0 {
			t.Errorf("Run = %v with %d records", err, len(l.records))
		}
	})
}

// panicking panics as a grading, as the grader that it makes, as a target or as its session, whichever is named.
type panicking string

func (p panicking) boom(at panicking) {
	if p == at {
		panic("boom")
	}
}

func (p panicking) Check(a suite.Assertion) (runner.Check, error) {
	p.boom("grading")
	return runner.Check{Assertion: a, Grader: p}, nil
}

func (p panicking) Grade(context.Context, *runner.Exchange) (result.Grade, error) {
	p.boom("grader")
	return result.Grade{Score: 1}, nil
}

func (p panicking) Open(context.Context, runner.Opening) (runner.Session, error) {
	p.boom("target")
	return p, nil
}

func (p panicking) Send(context.Context, chat.Content) (chat.Reply, error) {
	p.boom("session")
	return chat.Reply{Text: "hello"}, nil
}

func (panicking) Close() error { return nil }

// TestPanicIsAnErrorOfItsTest holds that whatever panics in a conversation, the other one is held.
func TestPanicIsAnErrorOfItsTest(t *testing.T) {
	for _, where := range []panicking{"grading", "grader", "target", "session", "hold"} {
		t.Run(string(where), func(t *testing.T) {
			l := &ledger{}
			o := made(t, orchestrator.Config{
				Workers: 1, Queue: queue.NewMemory(1), Results: l,
				Run: func(ctx context.Context, j orchestrator.Task) (*result.Test, error) {
					if j.Test.ID != "a" {
						return &result.Test{TestID: j.Test.ID, Verdict: result.Pass}, nil
					}
					where.boom("hold")
					return runner.Run(ctx, runner.Conversation{Test: j.Test, Target: where, Grading: where})
				},
			})
			a := test("a")
			a.Turns = []suite.Turn{{Assertions: []suite.Assertion{{Type: "x", Weight: 1, Threshold: -1}}}}
			totals, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(a, test("b"))}, nil)
			if err != nil || totals.Errors != 1 || totals.Passed != 1 ||
				!strings.Contains(l.records[0].Failures[0].Message, "boom") {
				t.Errorf("Run = %+v, %v", totals, err)
			}
		})
	}
}

func TestBudgetStopsTheRun(t *testing.T) {
	l := &ledger{}
	o := made(t, orchestrator.Config{Workers: 1, Queue: queue.NewMemory(1), Results: l, Run: verdicts(nil)})
	_, err := o.Run(t.Context(), orchestrator.Plan{
		Tests: units(test("a"), test("b"), test("c")), Budget: orchestrator.Budget{USD: 2},
	}, nil)
	if !errors.Is(err, orchestrator.ErrBudget) || len(l.records) != 2 {
		t.Errorf("Run = %v with %d records", err, len(l.records))
	}
}

// TestResume holds the law that an interrupted run and its resumption give the records of an undisturbed one, each
// once.
func TestResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tests []*suite.Test
		of := map[string]result.Verdict{}
		for i := range rapid.IntRange(1, 8).Draw(t, "tests") {
			id := string(rune('a' + i))
			x := trials(id, rapid.IntRange(0, 3).Draw(t, "trials"),
				rapid.SampledFrom([]suite.Strategy{suite.PassAtK, suite.PassAll, suite.MeanScore}).Draw(t, "strategy"))
			if i > 0 && rapid.Bool().Draw(t, "depends") {
				x.DependsOn = []string{string(rune('a' + rapid.IntRange(0, i-1).Draw(t, "on")))}
			}
			for n := range 4 {
				if rapid.Bool().Draw(t, "fails") {
					of[fmt.Sprintf("%s#%d", id, n)], of[id] = result.Fail, result.Fail
				}
			}
			tests = append(tests, x)
		}
		run := func(hold func(context.Context, orchestrator.Task) (*result.Test, error),
			prior func(result.Key) (orchestrator.Outcome, bool)) (*ledger, error) {
			l := &ledger{}
			o := made(t, orchestrator.Config{Workers: 2, Queue: queue.NewMemory(2), Results: l, Run: hold})
			_, err := o.Run(context.Background(), orchestrator.Plan{
				Tests: units(tests...), Needed: always, Prior: prior,
			}, nil)
			return l, err
		}
		whole, err := run(verdicts(of), nil)
		if err != nil {
			t.Fatal(err)
		}
		left := atomic.Int32{}
		left.Store(int32(rapid.IntRange(0, 10).Draw(t, "interrupted after")))
		first, err := run(func(ctx context.Context, j orchestrator.Task) (*result.Test, error) {
			if left.Add(-1) < 0 {
				return nil, context.Canceled
			}
			return verdicts(of)(ctx, j)
		}, nil)
		if err != nil && !errors.Is(err, orchestrator.ErrStopped) {
			t.Fatal(err)
		}
		second, err := run(verdicts(of), func(k result.Key) (orchestrator.Outcome, bool) {
			for _, r := range first.records {
				if r.TestID == k.TestID && r.Trial == k.Trial {
					return orchestrator.Outcome{Verdict: r.Verdict, Score: r.Score}, true
				}
			}
			return orchestrator.Outcome{}, false
		})
		if err != nil {
			t.Fatal(err)
		}
		want, got := whole.brief(), append(first.brief(), second.brief()...)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("records mismatch (-undisturbed +resumed):\n%s", diff)
		}
	})
}
