package replay_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// TestRescueIsNotHarm checks that completing dropped conversations is no loss, as long as nothing else is lost.
func TestRescueIsNotHarm(t *testing.T) {
	rescue := func(_ int, p *replay.Pair, was, is *replay.Metrics) {
		p.Outcome, was.Completed = replay.EndDropped, new(0.0)
		is.CompletionMatch, is.StateProgression, is.TurnCountRatio = new(0.0), new(0.5), new(2.0)
	}
	run := func(n int, more func(i int, p *replay.Pair, was, is *replay.Metrics)) gateRun {
		return gateRun{n: n, change: func(i int, p *replay.Pair, was, is *replay.Metrics) {
			if i%3 == 0 {
				rescue(i, p, was, is)
			}
			if more != nil {
				more(i, p, was, is)
			}
		}}
	}
	r := run(300, nil).report(t)
	agree(t, r)
	if r.Gate.Outcome != replay.Passed || r.Gate.Verdict != stats.Better ||
		!strings.Contains(r.Gate.Headline, "100 conversations that were dropped are completed, 0 newly lost") {
		t.Errorf("%s (%s)", r.Gate.Headline, r.Gate.Verdict)
	}
	for _, m := range r.Metrics {
		switch m.Name {
		case replay.CompletionMatch:
			if m.Gated || m.Difference.Verdict != "" || m.Difference.Mean > -0.3 {
				t.Errorf("completion match decides: %+v", m)
			}
		case replay.CompletedShare:
			if !m.Gated || m.Difference.Verdict != string(stats.Better) {
				t.Errorf("completed does not decide: %+v", m)
			}
		case replay.StateProgression, replay.TurnCountRatio:
			if m.Difference.N != 200 || m.DifferenceOfAll == nil || m.DifferenceOfAll.N != 300 {
				t.Errorf("%s: %+v, of all %+v", m.Name, m.Difference, m.DifferenceOfAll)
			}
		}
	}
	for name, more := range map[string]func(i int, p *replay.Pair, was, is *replay.Metrics){
		"one newly lost": func(i int, _ *replay.Pair, _, is *replay.Metrics) {
			if i == 1 {
				is.CompletionMatch, is.Completed = new(0.0), new(0.0)
			}
		},
		"rescued too early": func(_ int, _ *replay.Pair, _, is *replay.Metrics) {
			if *is.CompletionMatch == 0 {
				is.EndedEarly = new(1.0)
			}
		},
		"worse states elsewhere": func(_ int, _ *replay.Pair, _, is *replay.Metrics) {
			if *is.CompletionMatch == 1 {
				is.StateProgression = new(0.8)
			}
		},
	} {
		if r := run(300, more).report(t); r.Gate.Outcome != replay.NotPassed {
			t.Errorf("%s: %s", name, r.Gate.Headline)
		}
	}
	spec := run(300, nil)
	spec.gate = replay.GateSpec
	if r := spec.report(t); r.Gate.Outcome != replay.NotPassed || *r.Run.Better != r.Spec.Passed {
		t.Errorf("by the spec: %s, better %v", r.Gate.Headline, *r.Run.Better)
	}
}
