package replay_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// TestCensored checks that a conversation which the log ended is unknown only while the agent waits for an answer that
// the log does not have.
func TestCensored(t *testing.T) {
	logged := []string{"hello book → where", "where Rome → when", "when May → bye"}
	asks := map[string]string{"where": "field where", "when": "field when", "dogs": "field dogs", "pets": "field dogs"}
	added := map[string]string{"hello/book": "where", "where/Rome": "when", "when/May": "dogs"}
	for name, tc := range map[string]struct {
		moves  map[string]string
		quits  string
		end    string // of the log; empty is completed
		silent bool   // nothing is known of what its states ask for
		want   bool
	}{
		"a new question":        {moves: added, want: true},
		"the log dropped off":   {moves: added, end: replay.EndDropped},
		"the log has no end":    {moves: added, end: replay.EndUnknown},
		"it hangs up":           {moves: added, quits: "dogs"},
		"nothing is asked":      {moves: added, silent: true},
		"it completes":          {moves: booking},
		"one that was answered": {moves: map[string]string{"hello/book": "where", "where/Rome": "when"}},
		"the same field again": {moves: map[string]string{
			"hello/book": "where", "where/Rome": "when", "when/May": "where",
		}},
		"a question in the middle": {
			moves: map[string]string{"hello/book": "where", "where/Rome": "dogs", "dogs/May": "when"}, want: true,
		},
		"one that the log cannot answer, again and again": {moves: map[string]string{"hello/book": "dogs"}, want: true},
	} {
		for _, mode := range []replay.Mode{replay.Recorded, replay.Simulated} {
			agent := &scripted{moves: tc.moves, asks: asks, quits: tc.quits}
			if tc.silent {
				agent.asks = nil
			}
			s := talked("s", logged...)
			s.Completed, s.Dropped = tc.end == "", tc.end == replay.EndDropped
			r := &replay.Replayer{
				Candidate: agent, Baseline: &scripted{moves: booking}, Mode: mode, User: replay.Recalled{},
				MaxExtraTurns: 10,
			}
			h, err := r.Run(t.Context(), s, replay.Measuring{Side: replay.After})
			if err != nil {
				t.Fatal(err)
			}
			l := h.Pair.Variation(replay.Candidate)
			m := l.Metrics
			hidden := m.CompletionMatch == nil && m.CompletedOnPath == nil && m.OnSupport.CompletionMatch == nil
			if l.Censored != tc.want || m.Censored != tc.want || (m.Completed == nil) != tc.want || tc.want && !hidden {
				t.Errorf("%s, %s: censored %v: %+v", name, mode, l.Censored, m)
			}
		}
	}
}

// TestSimulatedUserGoesOnAfterTheLog checks that a simulated user answers past the end of the log, and how often.
func TestSimulatedUserGoesOnAfterTheLog(t *testing.T) {
	logged := []string{"hello book → where", "where Rome → bye"}
	for _, tc := range []struct {
		extra, turns int
		dropped      bool
	}{{0, 2, false}, {3, 5, false}, {3, 2, true}} {
		s := talked("s", logged...)
		s.Completed, s.Dropped = !tc.dropped, tc.dropped
		r := &replay.Replayer{
			Candidate: &scripted{moves: map[string]string{"hello/book": "where"}}, Mode: replay.Simulated,
			User: chatty{}, MaxExtraTurns: tc.extra,
		}
		p, err := r.Replay(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if l := p.Variation(replay.Candidate); len(l.Turns) != tc.turns {
			t.Errorf("%+v: %q", tc, way(l))
		}
	}
}

// censor makes a lane wait for an answer that the log does not have.
func censor(m *replay.Metrics) { m.Censored, m.CompletionMatch, m.Completed = true, nil, nil }

// TestCensoredAtTheGate checks that what is censored is never a reason to pass.
func TestCensoredAtTheGate(t *testing.T) {
	every := func(k int) func(int, *replay.Pair, *replay.Metrics, *replay.Metrics) {
		return change(func(i int, is *replay.Metrics) {
			if i%k == 0 {
				censor(is)
			}
		})
	}
	both := func(_ int, _ *replay.Pair, was, is *replay.Metrics) { censor(was); censor(is) }
	apart := func(i int, _ *replay.Pair, was, is *replay.Metrics) { // as many in each lane
		if i%2 == 0 {
			censor(was)
			is.CompletionMatch, is.Completed = new(0.0), new(0.0)
		}
	}
	margin := func(value string) func(*replay.Rules) {
		return func(rules *replay.Rules) {
			if err := rules.SetMargins([]string{"completion_match=" + value}); err != nil {
				panic(err)
			}
		}
	}
	baseline := func(_ int, _ *replay.Pair, was, _ *replay.Metrics) { censor(was) }
	lost := change(func(i int, is *replay.Metrics) {
		if censor(is); i%2 == 0 {
			is.Censored, is.CompletionMatch, is.Completed = false, new(0.0), new(0.0)
		}
	})
	for name, tc := range map[string]struct {
		run  gateRun
		want replay.Decision
	}{
		"all":                {gateRun{n: 200, change: every(1)}, replay.Underpowered},
		"one in ten":         {gateRun{n: 200, change: every(10)}, replay.Underpowered},
		"one in a hundred":   {gateRun{n: 200, change: every(100)}, replay.Passed},
		"both lanes":         {gateRun{n: 200, change: both}, replay.Underpowered},
		"in place of losses": {gateRun{n: 200, change: apart}, replay.Underpowered},
		"beside losses":      {gateRun{n: 200, change: lost}, replay.NotPassed},
		"within a margin":    {gateRun{n: 200, change: every(10), rules: margin("12pp")}, replay.Passed},
		"beyond a margin":    {gateRun{n: 200, change: every(5), rules: margin("12pp")}, replay.Underpowered},
		"without power":      {gateRun{n: 200, change: every(1), rules: anyPower}, replay.Underpowered},
		"by the spec":        {gateRun{n: 200, change: every(4), gate: replay.GateSpec}, replay.NotPassed},
		"in simulated mode":  {gateRun{n: 200, change: every(1), mode: replay.Simulated}, replay.Underpowered},
		"in the baseline":    {gateRun{n: 200, change: baseline}, replay.Underpowered},
	} {
		r := tc.run.report(t)
		good := r.Gate.Verdict == stats.Better || r.Gate.Verdict == stats.NonInferior
		if r.Gate.Outcome != tc.want || good && tc.want != replay.Passed && r.Gate.Name == replay.GatePaired {
			t.Errorf("%s: %s (%s)", name, r.Gate.Headline, r.Gate.Verdict)
		}
		agree(t, r)
	}
}

func anyPower(rules *replay.Rules) { rules.MinPower = 0 }

// chatty is a simulated user who always has something to say.
type chatty struct{}

func (chatty) Next(_ context.Context, s replay.Scene) (string, bool, error) {
	return fmt.Sprintf("and %d", len(s.Turns)), true, nil
}
