package calibration_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/judge/calibration"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// judge answers by the output: "pass", "fail", "panic", "silent" (no check), or a score.
type judge struct {
	asked atomic.Int32
	then  func()
}

func (j *judge) Decide(ctx context.Context, q grader.Question) (grader.Verdict, error) {
	j.asked.Add(1)
	if j.then != nil {
		j.then()
	}
	v := grader.Verdict{Use: result.JudgeUse{Calls: 1, Usage: chat.Usage{InputTokens: 2}}}
	said, _, _ := strings.Cut(q.Output, " ")
	switch said {
	case "panic":
		panic("broken")
	case "silent":
	case "error":
		return v, errors.New("down")
	case "pass", "fail":
		v.Checks = map[string]grader.RubricCheck{q.Rubrics[0].ID: {
			Satisfied: said == "pass", Reasoning: q.Rubrics[0].Outcome,
		}}
	default:
		if _, err := fmt.Sscan(said, &v.Score); err != nil {
			return v, err
		}
	}
	return v, ctx.Err()
}

func load(t *testing.T, rows ...string) *calibration.Labels {
	t.Helper()
	file := filepath.Join(t.TempDir(), "labels.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(rows, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := calibration.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func report(t *testing.T, o calibration.Options, gate calibration.Gate, rows ...string) *calibration.Report {
	t.Helper()
	l := load(t, rows...)
	asked, use := calibration.Judge(t.Context(), nil, &judge{}, l, o)
	return calibration.New("j", l, asked, use, o, gate)
}

// rows returns n rows with an answer that the judge passes or fails, and a label.
func rows(n int, judge, label string) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(`{"answer": "%s %s %d", "criterion": "c", "label": %q}`, judge, label, i, label))
	}
	return all
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-9 {
		if got != nil {
			t.Errorf("%s = %.12f, want %.12f", what, *got, want)
			return
		}
		t.Errorf("%s is nil, want %v", what, want)
	}
}

// The figures are those of J. L. Fleiss, J. Cohen and B. S. Everitt's formulas and of Krippendorff's coincidences,
// worked by hand in another language: 20 answers that both pass, 5 that people pass alone, 10 that the judge passes
// alone, 15 that both fail.
func TestFigures(t *testing.T) {
	all := append(rows(20, "pass", "pass"), rows(5, "fail", "pass")...)
	all = append(append(all, rows(10, "pass", "fail")...), rows(15, "fail", "fail")...)
	r := report(t, calibration.Options{Workers: 3}, calibration.Gate{}, all...)
	if want := (calibration.Confusion{PassPass: 20, PassFail: 5, FailPass: 10, FailFail: 15}); r.Confusion != want ||
		r.N != 50 || r.Agreed != 35 {
		t.Fatalf("%+v", r.Figures)
	}
	near(t, "accuracy", r.Accuracy, 0.7)
	near(t, "κ", r.Kappa, 0.4)
	near(t, "κ from", &r.KappaInterval[0], 0.151092290477)
	near(t, "κ to", &r.KappaInterval[1], 0.648907709523)
	near(t, "accuracy from", &r.AccuracyInterval[0], 0.562496495355)
	near(t, "accuracy to", &r.AccuracyInterval[1], 0.808964464991)
	near(t, "α", r.Alpha, 0.4)
	near(t, "false pass", r.FalsePass.Rate, 0.4)
	near(t, "false fail", r.FalseFail.Rate, 0.2)
	if r.Disagreements[0].Judge != calibration.Pass || r.Disagreements[10].Judge != calibration.Fail ||
		r.Disagreements[0].Reasoning != "c" {
		t.Errorf("what only the judge passes does not come first: %+v", r.Disagreements)
	}
	if r.Use.Calls != 50 || r.Use.Usage.InputTokens != 100 {
		t.Errorf("use %+v", r.Use)
	}
}

// What the judge could not decide is no agreement, whatever the people said, and weighs more than a gate.
func TestUndecided(t *testing.T) {
	for _, how := range []string{"error", "panic", "silent"} {
		r := report(t, calibration.Options{}, calibration.Gate{},
			append(rows(1, how, "fail"), rows(2, "pass", "pass")...)...)
		if r.Undecided != 1 || len(r.UndecidedItems) != 1 || r.N != 2 || r.Agreed != 2 ||
			r.UndecidedItems[0].Why == "" {
			t.Errorf("%s: %+v", how, r)
		}
		if code := r.Exit(); code != result.ExitNotRun {
			t.Errorf("%s: exit code %d", how, code)
		}
	}
}

// A figure that is not defined does not meet a gate.
func TestGate(t *testing.T) {
	low := 0.1
	alike := rows(40, "pass", "pass")
	mixed := append(rows(20, "pass", "pass"), rows(20, "fail", "fail")...)
	for _, tc := range []struct {
		name string
		rows []string
		gate calibration.Gate
		exit int
	}{
		{"κ of one verdict only", alike, calibration.Gate{MinKappa: &low}, result.ExitFailed},
		{"accuracy of one verdict only", alike, calibration.Gate{MinAccuracy: &low}, result.ExitPassed},
		{"κ", mixed, calibration.Gate{MinKappa: new(1.0)}, result.ExitPassed},
		{"nothing to compare", rows(3, "pass", "unclear"), calibration.Gate{MinAccuracy: &low}, result.ExitFailed},
		{"no gate", rows(3, "fail", "pass"), calibration.Gate{}, result.ExitPassed},
		{"no gate and nothing to compare", rows(3, "pass", "unclear"), calibration.Gate{}, result.ExitNotRun},
	} {
		if r := report(t, calibration.Options{}, tc.gate, tc.rows...); r.Exit() != tc.exit {
			t.Errorf("%s: exit code %d, want %d: %v", tc.name, r.Exit(), tc.exit, r.Gate)
		} else if r.Gate.Met != (tc.exit == result.ExitPassed) {
			t.Errorf("%s: met %t with exit code %d", tc.name, r.Gate.Met, tc.exit)
		}
	}
}

// Several people decide by their majority; where they are split, α alone counts what they said.
func TestPeople(t *testing.T) {
	row := func(answer, who, label string) string {
		return fmt.Sprintf(`{"answer": %q, "criterion": "c", "annotator": %q, "label": %q}`, answer, who, label)
	}
	r := report(t, calibration.Options{}, calibration.Gate{},
		row("pass 1", "ann", "pass"), row("pass 1", "bob", "fail"), row("pass 1", "cy", "pass"),
		row("fail 2", "ann", "pass"), row("fail 2", "bob", "fail"), row("fail 2", "cy", "unclear"),
		row("fail 3", "ann", "fail"), row("fail 3", "bob", "fail"))
	if r.Items != 3 || r.Labels != 8 || r.Annotators != 3 || r.N != 2 || r.Agreed != 2 || r.Split != 1 {
		t.Errorf("%+v", r)
	}
	near(t, "α", r.Alpha, 0.25)
	near(t, "α of the people", r.PeopleAlpha, 0)
}

func TestScores(t *testing.T) {
	row := func(answer string, score float64) string {
		return fmt.Sprintf(`{"answer": %q, "criterion": "c", "score": %g}`, answer, score)
	}
	r := report(t, calibration.Options{Threshold: 0.8}, calibration.Gate{}, row("0.9 a", 1), row("0.7 b", 0.8),
		row("0.2 c", 0.1), row("0.4 d", 0.5))
	if r.Scores == nil || r.Confusion != (calibration.Confusion{PassPass: 1, PassFail: 1, FailFail: 2}) {
		t.Fatalf("%+v", r.Figures)
	}
	near(t, "mean difference", &r.Scores.Error, 0.1)
	near(t, "weighted κ", r.Scores.WeightedKappa, 0.947368421053)
	near(t, "α of scores", r.Scores.Alpha, 0.953642384106)
}

// A calibration that is stopped tells what it knows, and no more is asked.
func TestStop(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		stop := make(chan struct{})
		j := &judge{}
		j.then = func() {
			switch {
			case j.asked.Load() != 3:
			case cancelled:
				cancel()
			default:
				close(stop)
			}
		}
		l, o := load(t, rows(50, "pass", "pass")...), calibration.Options{Samples: 1}
		asked, use := calibration.Judge(ctx, stop, j, l, o)
		cancel()
		r := calibration.New("j", l, asked, use, o, calibration.Gate{})
		if done := r.Items - r.NotJudged; done < 2 || done > 4 || r.Exit() != result.ExitInterrupted ||
			r.Undecided != 0 {
			t.Errorf("cancelled %t: %d done, %d undecided, exit code %d", cancelled, done, r.Undecided, r.Exit())
		}
	}
}

// preferring is a judge that always prefers the answer "good", and otherwise the first place.
type preferring struct{}

func (preferring) Decide(_ context.Context, q grader.Question) (grader.Verdict, error) {
	prefers := func(a, b string) float64 {
		switch {
		case strings.HasPrefix(a, "good") != strings.HasPrefix(b, "good"):
			return map[bool]float64{true: 1, false: 0}[strings.HasPrefix(a, "good")]
		}
		return 1
	}
	v := grader.Verdict{Orders: &[2]float64{prefers(q.Output, q.Other), 1 - prefers(q.Other, q.Output)}}
	if v.Score = v.Orders[0]; v.Orders[0] != v.Orders[1] {
		v.Score = 0.5
	}
	return v, nil
}

// Pairs have three verdicts, and are asked about in both orders.
func TestPairs(t *testing.T) {
	row := func(n int, a, b, label string) string {
		return fmt.Sprintf(`{"question": "q%d", "answer_a": %q, "answer_b": %q, "winner": %q}`, n, a, b, label)
	}
	l := load(t, row(1, "good", "bad", "model_a"), row(2, "bad", "good", "b"), row(3, "bad", "poor", "tie"),
		row(4, "bad", "poor", "a"), row(5, "good", "bad", "tie"))
	o := calibration.Options{Workers: 2}
	asked, use := calibration.Judge(t.Context(), nil, preferring{}, l, o)
	r := calibration.New("j", l, asked, use, o, calibration.Gate{})
	if r.N != 5 || r.Agreed != 3 || r.Pairs.Preferences[calibration.A][calibration.Tie] != 1 ||
		r.Pairs.Preferences[calibration.Tie][calibration.A] != 1 || r.Confusion != (calibration.Confusion{}) {
		t.Fatalf("%+v", r.Figures)
	}
	near(t, "κ", r.Kappa, 0.375)
	near(t, "weighted κ", r.Pairs.WeightedKappa, 0.5)
	near(t, "α", r.Alpha, 0.6)
	if s := r.Swap; s == nil || s.N != 5 || s.Consistent != 3 || s.First != 2 || s.Second != 0 {
		t.Errorf("%+v", s)
	}
}
