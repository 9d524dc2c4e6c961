package replay_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// userFunc is a simulated user.
type userFunc func(s replay.Scene) (string, bool, error)

func (f userFunc) Next(_ context.Context, s replay.Scene) (string, bool, error) { return f(s) }

// TestFidelity has users talk to the logged bot of 100 sessions: 60 of three messages that completed with MAY, 40 of
// two.
func TestFidelity(t *testing.T) {
	for _, tc := range []struct {
		name    string
		user    replay.User
		want    replay.Fidelity
		outcome replay.Decision
		fails   bool
	}{
		// The two lanes do the same in TestEvaluate's log but for the end, so that the verdict is of the gate.
		{"the one who invents nothing", replay.Recalled{}, replay.Fidelity{
			Kinds: 1, Fields: 1, Length: 1, End: 1, Overall: 1, Minimum: 0.7, Sessions: 100,
		}, replay.NotPassed, false},
		{
			"one who says nothing", userFunc(func(replay.Scene) (string, bool, error) { return "", false, nil }),
			replay.Fidelity{Minimum: 0.7, Sessions: 100},
			replay.NotPassed, false,
		},
		// One message of each session; 60 of the 120 things that the real users said are not said.
		{
			"one who hangs up after the first message",
			userFunc(func(s replay.Scene) (string, bool, error) { return "book", len(s.Turns) == 0, nil }),
			replay.Fidelity{
				Kinds: 100.0 / 260, Fields: 40.0 / 140, Length: 100.0 / 260, End: 0.4, Overall: 40.0 / 140,
				Minimum: 0.7, Sessions: 100,
			}, replay.NotPassed, false,
		},
		{"one whose model is away", userFunc(func(replay.Scene) (string, bool, error) {
			return "", false, errors.New("away")
		}), replay.Fidelity{}, "", true},
	} {
		e := evaluation(logOf(t, 100), nil, 4)
		e.Replayer.Mode, e.Replayer.User, e.Head.Run.Mode = replay.Simulated, tc.user, replay.Simulated
		report, err := e.Evaluate(t.Context())
		if tc.fails {
			if err == nil {
				t.Errorf("%s: no error", tc.name)
			}
			continue
		}
		if err != nil {
			t.Fatal(tc.name, err)
		}
		f := report.Fidelity
		for name, of := range map[string][2]float64{
			"kinds": {f.Kinds, tc.want.Kinds}, "fields": {f.Fields, tc.want.Fields},
			"length": {f.Length, tc.want.Length}, "end": {f.End, tc.want.End}, "overall": {f.Overall, tc.want.Overall},
		} {
			if math.Abs(of[0]-of[1]) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", tc.name, name, of[0], of[1])
			}
		}
		if f.Minimum != tc.want.Minimum || f.Sessions != tc.want.Sessions || report.Gate.Outcome != tc.outcome {
			t.Errorf("%s: %+v, %s", tc.name, f, report.Gate.Headline)
		}
	}
}

// Of lanes that are the same, the floor decides: a user who is like nobody says nothing.
func TestFidelityFloor(t *testing.T) {
	e := evaluation(logOf(t, 200), nil, 4)
	e.Replayer.Candidate = e.Replayer.Baseline
	e.Replayer.Mode, e.Head.Run.Mode = replay.Simulated, replay.Simulated
	e.Replayer.User = userFunc(func(s replay.Scene) (string, bool, error) { return "May I have a cake?", true, nil })
	report, err := e.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Gate.Outcome != replay.NotJudgeable || report.Gate.Reasons[0].Code != "fidelity" {
		t.Errorf("%+v: %s", report.Fidelity, report.Gate.Headline)
	}
	agree(t, report)
}

// Each time that a session is replayed is told, kept, and counted in the means.
func TestRepeats(t *testing.T) {
	runs := &kept{}
	e := evaluation(logOf(t, 100), runs, 4)
	e.Replayer.Repeats = 3
	told := map[string]int{}
	e.Each = func(p *replay.Pair) error {
		if told[p.SessionID]++; p.Repeat != told[p.SessionID] || len(p.Again) > 0 {
			t.Errorf("session %s is told as time %d of %d", p.SessionID, p.Repeat, told[p.SessionID])
		}
		return nil
	}
	first, err := e.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 100 || told["s0000"] != 3 || first.Run.Sessions != 100 || first.Repeats.K != 3 ||
		first.VariantOrder.BaselineFirst+first.VariantOrder.CandidateFirst != 300 {
		t.Errorf("told of %d sessions, %d times; %+v, %+v", len(told), told["s0000"], first.Repeats, first.VariantOrder)
	}
	if n := first.VariantOrder.BaselineFirst; n < 110 || n > 190 {
		t.Errorf("the baseline went first %d times of 300", n)
	}
	// Kept sessions are not replayed again, and come to the same report.
	again := evaluation(logOf(t, 100), runs, 4)
	again.Replayer.Repeats, again.Resumed = 3, true
	again.Replayer.Candidate = &scripted{fail: "book"}
	second, err := again.Evaluate(t.Context())
	if err != nil || second.Repeats == nil || second.VariantOrder != first.VariantOrder ||
		second.Gate.Headline != first.Gate.Headline {
		t.Errorf("%v: %+v", err, second)
	}
}
