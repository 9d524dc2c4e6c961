package replay_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// figures are those of a lane that ends as the log did, on its path, and answers all.
func figures() *replay.Metrics {
	return &replay.Metrics{
		CompletionMatch: new(1.0), TurnCountRatio: new(1.0), StateProgression: new(1.0), AvgLatencyMS: new(100.0),
		Completed: new(1.0), EndedEarly: new(0.0), NeverSent: new(0.0), Answered: new(1.0), SupportCoverage: new(1.0),
	}
}

// lane is a lane of one turn.
func lane(name string, m *replay.Metrics) replay.Variation {
	return replay.Variation{Name: name, Completed: true, Turns: []replay.VariationTurn{{
		Number: 1, User: "hi", Bot: "hello", Supported: true,
	}}, Metrics: m}
}

// gateRun is n sessions, whose lanes change makes different.
type gateRun struct {
	n      int
	change func(i int, p *replay.Pair, baseline, candidate *replay.Metrics)
	rules  func(*replay.Rules)
	mode   replay.Mode
	gate   string
}

func (g gateRun) report(t *testing.T) *replay.Report {
	t.Helper()
	var tally replay.Tally
	for i := range g.n {
		was, is := figures(), figures()
		p := &replay.Pair{
			SessionID: fmt.Sprintf("s%05d", i), FlowID: "f", Outcome: replay.EndCompleted, Mode: g.mode,
			Variations: []replay.Variation{
				lane(replay.Observed, nil), lane(replay.Baseline, was), lane(replay.Candidate, is),
			},
		}
		if g.change != nil {
			g.change(i, p, was, is)
		}
		tally.Add(p)
	}
	rules := replay.DefaultRules()
	if g.rules != nil {
		g.rules(&rules)
	}
	gate := g.gate
	if gate == "" {
		gate = replay.GatePaired
	}
	if g.mode == "" {
		g.mode = replay.Recorded
	}
	r, err := tally.Report(replay.Report{Run: replay.Run{Gate: gate, Mode: g.mode}}, rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fail makes a lane fail, which loses the pair.
func fail(p *replay.Pair, names ...string) {
	for _, name := range names {
		l := p.Variation(name)
		l.Error, l.Metrics, p.Dropped = "it crashed", nil, name+": it crashed"
	}
}

// change is a candidate that differs in one metric.
func change(f func(i int, is *replay.Metrics)) func(int, *replay.Pair, *replay.Metrics, *replay.Metrics) {
	return func(i int, _ *replay.Pair, _, is *replay.Metrics) { f(i, is) }
}

// unknownEnd is a session whose end the log does not tell.
func unknownEnd(_ int, p *replay.Pair, was, is *replay.Metrics) {
	p.Outcome, was.CompletionMatch, is.CompletionMatch = replay.EndUnknown, nil, nil
}

// endless is such a session, in which the candidate does not come to an end.
func endless(i int, p *replay.Pair, was, is *replay.Metrics) {
	unknownEnd(i, p, was, is)
	is.Completed = new(0.0)
}

// speechless is a candidate that does not tell when a conversation is complete.
func speechless(_ int, _ *replay.Pair, _, is *replay.Metrics) {
	is.CompletionMatch, is.Completed, is.EndedEarly = nil, nil, nil
}

// wordy is a candidate that does not tell its states, and ends as the log did more often than the baseline.
func wordy(i int, _ *replay.Pair, was, is *replay.Metrics) {
	is.StateProgression = nil
	was.CompletionMatch = new(float64(i % 2))
}

// talks gives all lanes four turns in four logged states, each with what the lane says in it.
func talks(baseline, candidate func(turn int) string) func(int, *replay.Pair, *replay.Metrics, *replay.Metrics) {
	return func(_ int, p *replay.Pair, was, _ *replay.Metrics) {
		was.StateProgression = new(0.5) // the candidate is better
		for name, says := range map[string]func(int) string{
			replay.Observed: fitting, replay.Baseline: baseline, replay.Candidate: candidate,
		} {
			l := p.Variation(name)
			l.Turns = nil
			for turn := range 4 {
				l.Turns = append(l.Turns, replay.VariationTurn{
					Number: turn + 1, User: fmt.Sprintf("asks %d", turn), Bot: says(turn),
					State: fmt.Sprintf("state %d", turn), Supported: true,
				})
			}
		}
	}
}

// What an agent may say in the turn of a state.
func fitting(turn int) string { return fmt.Sprintf("answers %d", turn) }
func constant(int) string     { return " I see." }
func echoing(turn int) string { return fmt.Sprintf("asks %d", turn) }
func unseen(int) string       { return "" }
func inTwoStates(turn int) string { // as two questions that are asked alike
	return fmt.Sprintf("answers %d", max(turn, 1))
}

func TestGate(t *testing.T) {
	for _, tc := range []struct {
		name    string
		run     gateRun
		outcome replay.Decision
		verdict stats.Verdict
		reasons string // code:metric, …
		words   []string
	}{
		{
			"identical lanes of many", gateRun{n: 875}, replay.Passed, stats.NonInferior, "",
			[]string{"Passed: ", "a loss of up to 0.3 points of completion match could have gone unnoticed"},
		},
		{
			"identical lanes of few",
			gateRun{n: 50},
			replay.Underpowered, stats.Inconclusive, "power:completion_match power:state_progression_match",
			[]string{
				"Cannot say: ", "a loss of up to 6.0 points of completion match", "about 60 sessions would decide it",
				"--margin completion_match=6pp",
			},
		},
		{
			"few, with a margin that they can decide", gateRun{n: 50, rules: func(r *replay.Rules) {
				r.Margins = map[string]stats.Margin{
					replay.CompletionMatch:  {Absolute: 0.06},
					replay.StateProgression: {Absolute: 0.06},
				}
			}}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"few, and power does not matter", gateRun{n: 50, rules: func(r *replay.Rules) { r.MinPower = 0 }},
			replay.Passed, stats.Inconclusive, "", []string{"no metric is worse"},
		},
		{
			"five sessions of a bot that hangs up",
			gateRun{n: 5, change: change(func(_ int, is *replay.Metrics) { is.CompletionMatch = new(0.0) })},
			replay.Underpowered, stats.Inconclusive, "",
			[]string{"Cannot say: "},
		},
		{
			"no logged end is known, and the candidate never ends",
			gateRun{n: 100, change: endless},
			replay.NotPassed, stats.Worse, "worse:completed",
			[]string{"Not passed: completed is worse: 100.0 points lower"},
		},
		{
			"no logged end is known, and both end alike", gateRun{n: 100, change: unknownEnd}, replay.Passed,
			stats.NonInferior, "", nil,
		},
		{
			"no logged end is known, and a candidate that never ends is accepted",
			gateRun{n: 100, change: endless, rules: func(r *replay.Rules) {
				r.Margins = map[string]stats.Margin{replay.CompletedShare: {Absolute: 1}}
			}}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"the candidate cannot say when it ends",
			gateRun{n: 875, change: speechless},
			replay.Underpowered, stats.NonInferior, "power:completion_match",
			[]string{
				"Cannot say: ", "the candidate does not, so that one that never ends would lose nothing", "answer.end",
			},
		},
		{
			"the candidate cannot say when it ends, which is accepted",
			gateRun{n: 875, change: speechless, rules: func(r *replay.Rules) {
				r.Margins = map[string]stats.Margin{replay.CompletedShare: {Absolute: 1}}
			}}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"the candidate does not tell its states, and ends more often",
			gateRun{n: 875, mode: replay.Forced, change: wordy},
			replay.Underpowered, stats.Inconclusive, "power:state_progression_match",
			[]string{"Cannot say: ", "one that answers anything until the end would lose nothing", "answer.node"},
		},
		{
			"the candidate does not tell its states, which is accepted",
			gateRun{n: 875, mode: replay.Forced, change: wordy, rules: func(r *replay.Rules) {
				r.Margins = map[string]stats.Margin{replay.StateProgression: {Absolute: 1}}
			}}, replay.Passed, stats.Better, "", nil,
		},
		{
			"the candidate says the same in every state",
			gateRun{n: 875, change: talks(fitting, constant)},
			replay.Underpowered, stats.Inconclusive, "power:state_progression_match",
			[]string{"Cannot say: the candidate repeats itself or the user in 100.0 % of the turns in which the log " +
				"goes on to another state"},
		},
		{
			"the candidate repeats the user",
			gateRun{n: 875, mode: replay.Forced, change: talks(fitting, echoing)},
			replay.Underpowered, stats.Inconclusive, "power:state_progression_match", nil,
		},
		{
			"both say the same in every state", gateRun{n: 875, change: talks(constant, constant)}, replay.Passed,
			stats.Better, "", nil,
		},
		{
			"the candidate says the same in two states", gateRun{n: 875, change: talks(fitting, inTwoStates)},
			replay.Passed, stats.Better, "", nil,
		},
		{
			"nobody knows the words", gateRun{n: 875, change: talks(unseen, unseen)}, replay.Passed, stats.Better, "",
			nil,
		},
		{
			"the candidate says the same in every state, which is accepted",
			gateRun{n: 875, change: talks(fitting, constant), rules: func(r *replay.Rules) {
				r.Margins = map[string]stats.Margin{replay.StateProgression: {Absolute: 1}}
			}}, replay.Passed, stats.Better, "", nil,
		},
		{
			"a loss beyond the margin", gateRun{n: 300, change: change(func(i int, is *replay.Metrics) {
				if i%4 == 0 {
					is.CompletionMatch = new(0.0)
				}
			})}, replay.NotPassed, stats.Worse, "worse:completion_match",
			[]string{"Not passed: completion_match is worse: 25.0 points lower"},
		},
		{
			"a gain", gateRun{n: 400, change: func(i int, _ *replay.Pair, was, _ *replay.Metrics) {
				if i%4 == 0 {
					was.CompletionMatch = new(0.0)
				}
			}}, replay.Passed, stats.Better, "", []string{"the candidate is better in completion_match"},
		},
		{
			"a gain of one that ends early",
			gateRun{n: 400, change: func(i int, _ *replay.Pair, was, is *replay.Metrics) {
				if i%4 == 0 {
					was.CompletionMatch = new(0.0)
				}
				is.EndedEarly, is.NeverSent = new(1.0), new(0.75)
			}}, replay.NotPassed, stats.Worse, "worse:ended_early worse:messages_never_said", nil,
		},
		{
			"silence",
			gateRun{n: 100, change: change(func(_ int, is *replay.Metrics) { is.Answered = new(0.0) })},
			replay.NotPassed, stats.Worse, "worse:answered",
			[]string{"100.0 points lower"},
		},
		{
			"crashes in three of four, and luck in the rest",
			gateRun{n: 400, change: func(i int, p *replay.Pair, was, _ *replay.Metrics) {
				was.CompletionMatch = new(float64(i % 2))
				if i%4 != 0 {
					fail(p, replay.Candidate)
				}
			}}, replay.NotPassed, stats.Worse, "worse:answered lost_pairs:",
			[]string{"300 of 400 pairs lost", "candidate 300"},
		},
		{
			"a baseline that crashes", gateRun{n: 400, change: func(i int, p *replay.Pair, _, _ *replay.Metrics) {
				if i%20 == 0 {
					fail(p, replay.Baseline)
				}
			}}, replay.NotPassed, stats.NonInferior, "lost_pairs:", []string{"20 of 400 pairs lost", "baseline 20"},
		},
		{
			"few crashes", gateRun{n: 400, change: func(i int, p *replay.Pair, _, _ *replay.Metrics) {
				if i%100 == 0 {
					fail(p, replay.Baseline, replay.Candidate)
				}
			}}, replay.Passed, stats.NonInferior, "", []string{"4 of 400 pairs lost"},
		},
		{
			"little support", gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.CompletionMatch, is.SupportCoverage = new(0.0), new(0.4)
			}}, replay.NotJudgeable, replay.VerdictNotJudgeable, "support:",
			[]string{"Cannot be judged from this log: ", "--mode forced", "could have gone unnoticed"},
		},
		{
			"little support in forced mode",
			gateRun{n: 400, mode: replay.Forced, change: change(func(_ int, is *replay.Metrics) {
				is.SupportCoverage = new(0.4)
			})}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"little support, and harm", gateRun{n: 400, change: change(func(_ int, is *replay.Metrics) {
				is.SupportCoverage, is.CompletionMatch = new(0.4), new(0.0)
			})}, replay.NotPassed, stats.Worse, "worse:completion_match", nil,
		},
		{
			"nothing applies", gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				for _, m := range []*replay.Metrics{was, is} {
					m.CompletionMatch, m.TurnCountRatio, m.StateProgression, m.AvgLatencyMS = nil, nil, nil, nil
				}
			}}, replay.Underpowered, stats.Inconclusive, "power:", []string{"no metric that decides applies"},
		},
		{
			"agents without states, and a baseline that completes nothing",
			gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.StateProgression, is.StateProgression = nil, nil
				was.Completed, is.Completed, was.CompletionMatch, is.CompletionMatch = new(0.0), new(0.0),
					new(0.0), new(0.0)
			}}, replay.Underpowered, stats.NonInferior, "power:completion_match",
			[]string{"the baseline itself completes only 0.0 %", "state_of"},
		},
		{
			"a baseline that finds no state and completes nothing",
			gateRun{n: 400, mode: replay.Forced, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.StateProgression, is.StateProgression = new(0.0), new(0.0)
				was.Completed, is.Completed, was.CompletionMatch, is.CompletionMatch = new(0.0), new(0.0),
					new(0.0), new(0.0)
			}},
			replay.Underpowered, stats.NonInferior, "power:state_progression_match power:completion_match",
			[]string{
				"the baseline itself follows only 0.0 % of the logged states",
				"the baseline itself completes only 0.0 %",
			},
		},
		{
			"the same, and power does not matter",
			gateRun{n: 400, mode: replay.Forced, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.StateProgression, is.StateProgression = new(0.0), new(0.0)
				was.Completed, is.Completed, was.CompletionMatch, is.CompletionMatch = new(0.0), new(0.0),
					new(0.0), new(0.0)
			}, rules: func(r *replay.Rules) { r.MinPower = 0 }}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"the same, and a candidate that finds them",
			gateRun{n: 400, mode: replay.Forced, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.StateProgression = new(0.0)
				was.Completed, is.Completed, was.CompletionMatch, is.CompletionMatch = new(0.0), new(0.0),
					new(0.0), new(0.0)
			}}, replay.Underpowered, stats.Inconclusive, "power:completion_match",
			[]string{"the log completes 100.0 % of the sessions and neither lane does"},
		},
		{
			"the same, and a candidate that finds them and never ends is accepted",
			gateRun{n: 400, mode: replay.Forced, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.StateProgression = new(0.0)
				was.Completed, is.Completed, was.CompletionMatch, is.CompletionMatch = new(0.0), new(0.0),
					new(0.0), new(0.0)
			}, rules: func(r *replay.Rules) {
				r.Margins = map[string]stats.Margin{replay.CompletionMatch: {Absolute: 1}}
			}}, replay.Passed, stats.Better, "", nil,
		},
		{
			"a baseline that finds states and completes nothing, beside itself",
			gateRun{n: 400, mode: replay.Forced, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.Completed, is.Completed, was.CompletionMatch, is.CompletionMatch = new(0.0), new(0.0),
					new(0.0), new(0.0)
			}}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"agents without states", gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.StateProgression, is.StateProgression = nil, nil
			}}, replay.Passed, stats.NonInferior, "", []string{"no states could be compared"},
		},
		{
			"agents that tell nothing", gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.StateProgression, is.StateProgression, was.CompletionMatch, is.CompletionMatch = nil, nil, nil, nil
			}}, replay.Underpowered, stats.NonInferior, "power:", []string{"neither the states nor the ends"},
		},
		{
			"agents that tell nothing, and data decides",
			gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.StateProgression, is.StateProgression, was.CompletionMatch, is.CompletionMatch = nil, nil, nil, nil
				was.DataAccuracy, is.DataAccuracy = new(1.0), new(1.0)
			}, rules: func(r *replay.Rules) {
				r.Margins = map[string]stats.Margin{replay.DataAccuracy: {Absolute: 0.05}}
			}}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"data that is swapped", gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.DataAccuracy, is.DataAccuracy = new(1.0), new(0.0)
			}}, replay.NotPassed, stats.Worse, "worse:data_collection_accuracy", nil,
		},
		{
			"data that the candidate does not report",
			gateRun{
				n: 400, change: func(_ int, _ *replay.Pair, was, _ *replay.Metrics) { was.DataAccuracy = new(1.0) },
			}, replay.Underpowered, stats.NonInferior, "power:data_collection_accuracy",
			[]string{"not of the candidate in 400 of 400 sessions", "--margin data_collection_accuracy=100pp"},
		},
		{
			"data that the candidate does not report, which is accepted",
			gateRun{
				n: 400, change: func(_ int, _ *replay.Pair, was, _ *replay.Metrics) { was.DataAccuracy = new(1.0) },
				rules: func(r *replay.Rules) {
					r.Margins = map[string]stats.Margin{replay.DataAccuracy: {Absolute: 1}}
				},
			},
			replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"twenty times the cost", gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.CostUSD, is.CostUSD = new(0.01), new(0.2)
			}}, replay.NotPassed, stats.Worse, "worse:cost_usd", nil,
		},
		{
			"a tenth more cost", gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.CostUSD, is.CostUSD = new(0.01), new(0.011)
			}}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"cost of a baseline that costs nothing",
			gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.CostUSD, is.CostUSD = new(0.0), new(0.001)
			}}, replay.NotPassed, stats.Worse, "worse:cost_usd", nil,
		},
		{
			"a cost that the candidate reports where it is low",
			gateRun{n: 400, change: func(i int, _ *replay.Pair, was, is *replay.Metrics) {
				if was.CostUSD = new(0.01); i%2 == 0 {
					is.CostUSD = new(0.001)
				}
			}}, replay.Underpowered, stats.NonInferior, "power:cost_usd", []string{"in 200 of 400 sessions"},
		},
		{
			"a cost that only the candidate reports",
			gateRun{n: 400, change: change(func(_ int, is *replay.Metrics) { is.CostUSD = new(0.2) })},
			replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"one turn in a hundred that hangs",
			gateRun{n: 1000, change: func(i int, _ *replay.Pair, was, is *replay.Metrics) {
				if was.SlowTurns, is.SlowTurns = new(0.0), new(0.0); i%20 == 0 {
					is.SlowTurns = new(0.2)
				}
			}}, replay.NotPassed, stats.Worse, "worse:slow_turns", nil,
		},
		{
			"slow turns whose latency is not reported",
			gateRun{n: 400, change: func(i int, _ *replay.Pair, was, is *replay.Metrics) {
				was.P95LatencyMS, is.P95LatencyMS, was.SlowTurns, is.SlowTurns = new(100.0), new(100.0),
					new(0.0), new(0.0)
				if i%20 == 0 {
					is.P95LatencyMS, is.SlowTurns = nil, nil
				}
			}}, replay.Underpowered, stats.NonInferior, "power:p95_latency_ms power:slow_turns", nil,
		},
		{
			"a slower 95th percentile", gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.P95LatencyMS, is.P95LatencyMS = new(200.0), new(320.0)
			}}, replay.NotPassed, stats.Worse, "worse:p95_latency_ms", nil,
		},
		{
			"latencies less than 100 ms apart",
			gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.P95LatencyMS, is.P95LatencyMS, was.AvgLatencyMS, is.AvgLatencyMS = new(20.0), new(115.0),
					new(10.0), new(105.0)
			}}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"latencies of agents of different kinds",
			gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.P95LatencyMS, is.P95LatencyMS, is.AvgLatencyMS = new(20.0), new(900.0), new(800.0)
			}, rules: func(r *replay.Rules) { r.Apart = true }}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"slow turns of agents of different kinds",
			gateRun{n: 400, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
				was.SlowTurns, is.SlowTurns = new(0.0), new(1.0)
			}, rules: func(r *replay.Rules) { r.Apart = true }}, replay.NotPassed, stats.Worse, "worse:slow_turns", nil,
		},
		{
			"completes less where the log does not say how it ended",
			gateRun{n: 400, change: func(i int, p *replay.Pair, was, is *replay.Metrics) {
				if i%2 == 0 {
					endless(i, p, was, is)
				}
			}}, replay.NotPassed, stats.Worse, "worse:completed", nil,
		},
		{
			"better is asked for",
			gateRun{n: 400, rules: func(r *replay.Rules) { r.Require = replay.Better }},
			replay.NotPassed, stats.NonInferior, "not_shown:",
			[]string{"--require better"},
		},
		{
			"shorter talks in simulated mode",
			gateRun{n: 400, mode: replay.Simulated, change: change(func(_ int, is *replay.Metrics) {
				is.NeverSent = new(0.5)
			})}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"shorter talks that are let through", gateRun{n: 400, change: change(func(_ int, is *replay.Metrics) {
				is.EndedEarly, is.NeverSent = new(1.0), new(0.5)
			}), rules: func(r *replay.Rules) {
				r.Margins = map[string]stats.Margin{
					replay.EndedEarly:     {Absolute: 1},
					replay.MessagesUnsent: {Absolute: 1},
				}
			}}, replay.Passed, stats.NonInferior, "", nil,
		},
		{
			"another metric decides",
			gateRun{n: 400, change: func(i int, _ *replay.Pair, was, is *replay.Metrics) {
				was.DataAccuracy, is.DataAccuracy = new(1.0), new(float64(i%2))
			}, rules: func(r *replay.Rules) { r.Margins = map[string]stats.Margin{replay.DataAccuracy: {}} }},
			replay.NotPassed, stats.Worse, "worse:data_collection_accuracy", nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := tc.run.report(t)
			g := r.Gate
			if g.Outcome != tc.outcome || g.Verdict != tc.verdict || g.ExitCode != tc.outcome.ExitCode() {
				t.Errorf("%s (%s, exit %d): %s", g.Outcome, g.Verdict, g.ExitCode, g.Headline)
			}
			var codes []string
			for _, reason := range g.Reasons {
				codes = append(codes, reason.Code+":"+reason.Metric)
			}
			if got := strings.Join(codes, " "); tc.reasons != "" && got != tc.reasons {
				t.Errorf("reasons %q, want %q", got, tc.reasons)
			}
			for _, words := range tc.words {
				if !strings.Contains(g.Headline, words) {
					t.Errorf("%q lacks %q", g.Headline, words)
				}
			}
			agree(t, r)
		})
	}
}

// agree checks that everything that says how a run came out says the same.
func agree(t *testing.T, r *replay.Report) {
	t.Helper()
	g := r.Gate
	begin := map[replay.Decision]string{
		replay.Passed: "Passed: ", replay.NotPassed: "Not passed: ", replay.Underpowered: "Cannot say: ",
		replay.NotJudgeable: "Cannot be judged from this log: ",
	}[g.Outcome]
	if !strings.HasPrefix(g.Headline, begin) || strings.Contains(g.Headline, "\n") {
		t.Errorf("%s begins with another outcome than %s", g.Headline, g.Outcome)
	}
	for _, reason := range g.Reasons {
		if !strings.Contains(g.Headline, reason.Text) {
			t.Errorf("the headline leaves out %q", reason.Text)
		}
	}
	better := g.Verdict == stats.Better
	if g.Name == replay.GateSpec {
		better = r.Spec.Passed
	}
	if *r.Passed != (g.Outcome == replay.Passed) || r.Run.Outcome != string(g.Outcome) ||
		r.Run.Verdict != string(g.Verdict) || *r.Run.Better != better {
		t.Errorf("passed %v, row %s, %s, better %v beside %s, %s", *r.Passed, r.Run.Outcome, r.Run.Verdict,
			*r.Run.Better, g.Outcome, g.Verdict)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if g.Verdict == replay.VerdictNotJudgeable && (strings.Contains(string(text), `"verdict":"better"`) ||
		strings.Contains(string(text), `"verdict":"non_inferior"`)) {
		t.Error("a report that cannot be judged says better or non_inferior")
	}
	for _, slice := range []string{"flow", "length", "unit", "day"} {
		n := 0
		for i := range r.Slices {
			if r.Slices[i].By == slice {
				n += r.Slices[i].Sessions
			}
		}
		if n != r.Run.Sessions {
			t.Errorf("slices by %s have %d sessions of %d", slice, n, r.Run.Sessions)
		}
	}
}

// The spec gate decides by itself: 70 % of the rules, and 80 % completion match.
func TestSpecGateAlone(t *testing.T) {
	low := func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
		was.CompletionMatch, is.CompletionMatch = new(0.0), new(0.5)
	}
	for name, tc := range map[string]struct {
		run  gateRun
		want replay.Decision
	}{
		"few sessions":         {gateRun{n: 5, gate: replay.GateSpec}, replay.Passed},
		"low completion match": {gateRun{n: 100, gate: replay.GateSpec, change: low}, replay.NotPassed},
	} {
		r := tc.run.report(t)
		if r.Gate.Name != replay.GateSpec || r.Gate.Outcome != tc.want {
			t.Errorf("%s: %+v", name, r.Gate)
		}
		agree(t, r)
	}
}

// Sessions of one user are one cluster; a log without users cannot be clustered by them.
func TestClustersOfUsers(t *testing.T) {
	run := gateRun{n: 200, change: func(i int, p *replay.Pair, _, is *replay.Metrics) {
		p.UnitID = fmt.Sprintf("u%d", i/20)
		if i/20%3 == 0 {
			is.CompletionMatch = new(0.0)
		}
	}}
	r := run.report(t)
	want := replay.Clusters{By: replay.ByUnit, Units: 10, Sessions: 200, Largest: 20}
	d := r.Metrics[0].Difference
	if r.Clusters != want || d.Clusters != 10 || d.ICC == nil || *d.ICC < 0.9 || d.DesignEffect < 10 {
		t.Errorf("clusters %+v, difference %+v", r.Clusters, d)
	}
	run.rules = func(rules *replay.Rules) { rules.Cluster = replay.BySession }
	alone := run.report(t)
	if d := alone.Metrics[0].Difference; alone.Clusters.By != replay.BySession || d.Clusters != 200 || d.ICC != nil {
		t.Errorf("by session: %+v, %+v", alone.Clusters, d)
	}
	var tally replay.Tally
	tally.Add(&replay.Pair{
		SessionID: "s", Variations: []replay.Variation{lane(replay.Observed, nil), lane(replay.Candidate, figures())},
	})
	rules := replay.DefaultRules()
	rules.Cluster = replay.ByUnit
	if _, err := tally.Report(replay.Report{}, rules); !source.IsInvalid(err) {
		t.Errorf("a log without users by unit: %v", err)
	}
}

// Each list holds all of its sessions.
func TestLists(t *testing.T) {
	r := gateRun{n: 100, change: func(i int, p *replay.Pair, was, is *replay.Metrics) {
		switch i {
		case 0:
			is.CompletionMatch, is.Completed = new(0.0), new(0.0)
		case 1:
			was.CompletionMatch, was.Completed = new(0.0), new(0.0)
		case 2, 3:
			p.Outcome = replay.EndDropped
			was.Completed, is.CompletionMatch = new(0.0), new(0.0)
			if i == 3 {
				is.EndedEarly = new(1.0)
			}
		case 4:
			p.Outcome, was.CompletionMatch, is.CompletionMatch = replay.EndUnknown, nil, nil
		case 5:
			censor(is)
		}
	}}.report(t)
	got, err := json.Marshal(map[string]any{"lists": r.Lists, "outcomes": r.Outcomes})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"lists":{"regressed":["s00000","s00002","s00003"],"fixed":["s00001"],"newly_lost":["s00000"],` +
		`"lost":["s00000"],"rescued":["s00002"],"censored":["s00005"]},` +
		`"outcomes":{"baseline":{"completed_completed":96,"completed_not":1,"completed_censored":0,` +
		`"dropped_completed":0,"dropped_not":2,"dropped_censored":0},` +
		`"candidate":{"completed_completed":95,"completed_not":1,"completed_censored":1,` +
		`"dropped_completed":2,"dropped_not":0,"dropped_censored":0}}}`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestMargins(t *testing.T) {
	for _, tc := range []struct {
		text, want string // want is in the error; empty for none
		margin     stats.Margin
	}{
		{"completion_match=12pp", "", stats.Margin{Absolute: 0.12}},
		{"completion-match=0.12", "", stats.Margin{Absolute: 0.12}},
		{"avg_latency_ms=10%", "", stats.Margin{Relative: 0.1}},
		{"tokens=100", "", stats.Margin{Absolute: 100}},
		{"ended_early=1", "", stats.Margin{Absolute: 1}},
		{"completion_match=-5pp", "0 or more", stats.Margin{}},
		{"completion_mach=5pp", "completion_match", stats.Margin{}},
		{"avg_latency_ms=5pp", "no share", stats.Margin{}},
		{"tokens", "not METRIC=VALUE", stats.Margin{}},
		{"tokens=NaN", "write a number", stats.Margin{}},
		{"tokens=inf", "write a number", stats.Margin{}},
		{"tokens=", "write a number", stats.Margin{}},
	} {
		rules := replay.DefaultRules()
		err := rules.SetMargins([]string{tc.text})
		if tc.want != "" {
			if !source.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want %q", tc.text, err, tc.want)
			}
			continue
		}
		name, _, _ := strings.Cut(strings.ReplaceAll(tc.text, "-", "_"), "=")
		if err != nil || rules.Margins[name] != tc.margin || rules.Check() != nil {
			t.Errorf("%s: %+v, %v", tc.text, rules.Margins, err)
		}
	}
	if rules := replay.DefaultRules(); rules.SetMargins([]string{"tokens=1", "tokens=2"}) == nil {
		t.Error("a margin may be given twice")
	}
}

// TestNobodyLosesMoreThanAll: with three sessions Student's t would find a loss of states from some hundred points on.
func TestNobodyLosesMoreThanAll(t *testing.T) {
	one := func(i int, is *replay.Metrics) {
		if i == 0 {
			is.StateProgression = new(0.0)
		}
	}
	r := gateRun{n: 3, change: change(one)}.report(t)
	if got := r.Gate.Unseen[replay.StateProgression].Loss; got == nil || *got != 1 {
		t.Errorf("unseen loss %v, want 1", got)
	}
	if r.Gate.Outcome != replay.Underpowered ||
		!strings.Contains(r.Gate.Headline, "take --margin state_progression_match=100pp") {
		t.Errorf("%s", r.Gate.Headline)
	}
	as := func(margin string) *replay.Report {
		return gateRun{n: 3, change: change(one), rules: func(rules *replay.Rules) {
			if err := rules.SetMargins([]string{margin}); err != nil {
				t.Fatal(err)
			}
		}}.report(t)
	}
	for _, reason := range as("state_progression_match=100pp").Gate.Reasons {
		if reason.Metric == replay.StateProgression {
			t.Errorf("with the margin that was named: %s", reason.Text)
		}
	}
}

// TestRatioHasNoEnd: a margin of 1 lets through twice the turns of the baseline, not four times.
func TestRatioHasNoEnd(t *testing.T) {
	r := gateRun{
		n: 100, mode: replay.Simulated,
		change: change(func(i int, is *replay.Metrics) { is.TurnCountRatio = new(4 + float64(i%2)) }),
		rules: func(rules *replay.Rules) {
			if err := rules.SetMargins([]string{"turn_count_ratio=1"}); err != nil {
				t.Fatal(err)
			}
		},
	}.report(t)
	if r.Gate.Outcome != replay.NotPassed || r.Gate.Verdict != stats.Worse {
		t.Errorf("%s", r.Gate.Headline)
	}
}

// TestGateHoldsItsFalseAlarms compares lanes that do not differ, all of whose metrics vary: the gate says worse no more
// often than it prints.
func TestGateHoldsItsFalseAlarms(t *testing.T) {
	const runs = 60
	worse, bound := 0, 0.0
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 7))
		r := gateRun{n: 60, change: func(_ int, _ *replay.Pair, was, is *replay.Metrics) {
			vary(random, was)
			vary(random, is)
		}, rules: func(r *replay.Rules) { r.MinPower = 0 }}.report(t)
		if r.Gate.Verdict == stats.Worse {
			worse++
		}
		bound = r.Gate.FalseAlarm.Worse
	}
	if bound != 0.3 { // 2.5 % for each of the twelve metrics that decide or guard
		t.Errorf("the bound is %v", bound)
	}
	if most := bound*runs + 2*math.Sqrt(bound*(1-bound)*runs); float64(worse) > most {
		t.Errorf("%d of %d runs are worse, and the bound is %v", worse, runs, bound)
	}
	t.Logf("%d of %d runs are worse, and the bound is %v", worse, runs, bound)
}

// vary draws each metric that decides or guards, in the same way for every lane.
func vary(random *rand.Rand, m *replay.Metrics) {
	yes := func(p float64) *float64 { return new(oneOf(random.Float64() < p)) }
	m.CompletionMatch, m.Completed, m.Answered, m.EndedEarly = yes(0.7), yes(0.8), yes(0.95), yes(0.1)
	m.TurnCountRatio, m.StateProgression, m.NeverSent = new(0.8+0.4*random.Float64()), new(random.Float64()),
		new(0.2*random.Float64())
	m.AvgLatencyMS, m.P95LatencyMS = new(1000+1000*random.ExpFloat64()), new(2000+2000*random.ExpFloat64())
	m.SlowTurns, m.DataAccuracy, m.CostUSD = new(0.25**yes(0.15)), new(0.5+0.5**yes(0.8)), new(0.01*random.ExpFloat64())
}
