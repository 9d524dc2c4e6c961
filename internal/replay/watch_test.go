package replay_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

func watching() *replay.Watching {
	return &replay.Watching{
		Name: "w", Since: dayOne, Every: 24 * time.Hour, Metrics: replay.DefaultWatched(), Alpha: replay.DefaultAlpha,
		Cluster: replay.ByAuto, Mode: replay.Recorded, Rules: replay.DefaultRules(),
	}
}

func TestWatchingCheck(t *testing.T) {
	for name, change := range map[string]func(*replay.Watching){
		"no name":         func(w *replay.Watching) { w.Name = " " },
		"no begin":        func(w *replay.Watching) { w.Since = time.Time{} },
		"no period":       func(w *replay.Watching) { w.Every = 0 },
		"ends before":     func(w *replay.Watching) { w.Until = dayOne },
		"alpha 0":         func(w *replay.Watching) { w.Alpha = 0 },
		"alpha 1":         func(w *replay.Watching) { w.Alpha = 1 },
		"no metric":       func(w *replay.Watching) { w.Metrics = nil },
		"unknown metric":  func(w *replay.Watching) { w.Metrics = []string{"happiness"} },
		"a metric twice":  func(w *replay.Watching) { w.Metrics = []string{replay.Answered, replay.Answered} },
		"unknown cluster": func(w *replay.Watching) { w.Cluster = "town" },
	} {
		w := watching()
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
		if change(w); !source.IsInvalid(w.Check()) {
			t.Errorf("%s: %v", name, w.Check())
		}
	}
}

// TestWatchingEnds wants every period to end when the next begins, and the last one with the end of the watch.
func TestWatchingEnds(t *testing.T) {
	w := watching()
	w.Until = dayOne.Add(60 * time.Hour)
	var ends []string
	for look := 0; ; look++ {
		end, ok := w.End(look)
		if !ok {
			break
		}
		ends = append(ends, end.Sub(dayOne).String())
	}
	if got := fmt.Sprint(ends); got != "[24h0m0s 48h0m0s 60h0m0s]" {
		t.Error(got)
	}
}

// played is a day of pairs: completion match and answers of both lanes.
func playedDay(random *rand.Rand, day, n int, lost float64, candidate float64) []*replay.Pair {
	var pairs []*replay.Pair
	for i := range n {
		lane := func(name string, share float64) replay.Variation {
			match := oneOf(random.Float64() < share)
			m := &replay.Metrics{}
			vary(random, m)
			m.CompletionMatch, m.Answered = &match, new(1.0)
			return replay.Variation{Name: name, Metrics: m, Turns: []replay.VariationTurn{{Bot: "x"}}}
		}
		p := &replay.Pair{
			SessionID: fmt.Sprintf("%d-%d", day, i), UnitID: fmt.Sprint("u", random.IntN(40)),
			Outcome: replay.EndCompleted, Started: dayOne.AddDate(0, 0, day), Variations: []replay.Variation{
				{Name: replay.Observed, Turns: []replay.VariationTurn{{Bot: "x"}}}, lane(replay.Baseline, 0.7),
				lane(replay.Candidate, candidate),
			},
		}
		if random.Float64() < lost {
			p.Dropped = "candidate: it crashed"
			p.Variations[2] = replay.Variation{Name: replay.Candidate, Error: "it crashed"}
		}
		pairs = append(pairs, p)
	}
	return pairs
}

func oneOf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// watchOf takes a look a day.
func watchOf(t *testing.T, seed uint64, days int, lost, candidate func(day int) float64) *replay.WatchState {
	t.Helper()
	random, w := rand.New(rand.NewPCG(seed, 3)), watching()
	s := &replay.WatchState{}
	s.Begin(w, json.RawMessage(`{}`))
	for day := range days {
		var tally replay.Tally
		for _, p := range playedDay(random, day, random.IntN(12), lost(day), candidate(day)) {
			tally.Add(p)
		}
		s.Analyze(w, &tally, dayOne.AddDate(0, 0, day+1))
		// What is kept is all that the next look needs.
		kept, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		s = &replay.WatchState{}
		if err := json.Unmarshal(kept, s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func always(x float64) func(int) float64 { return func(int) float64 { return x } }

// TestWatchHoldsItsAlpha takes 60 looks at lanes that do not differ: the whole watch alarms in at most 5 % of runs.
func TestWatchHoldsItsAlpha(t *testing.T) {
	const watches = 100
	alarms := 0
	for seed := range uint64(watches) {
		if watchOf(t, seed, 60, always(0), always(0.7)).AlarmedAt != "" {
			alarms++
		}
	}
	if alarms > watches*5/100 {
		t.Errorf("%d of %d watches alarmed", alarms, watches)
	}
}

// TestWatchAlarms wants a loss that begins on a day to be found soon after, and the alarm to stay.
func TestWatchAlarms(t *testing.T) {
	from := func(begin int, before, after float64) func(int) float64 {
		return func(day int) float64 {
			if day < begin {
				return before
			}
			return after
		}
	}
	for name, s := range map[string]*replay.WatchState{
		"completes less":                      watchOf(t, 1, 80, always(0), from(20, 0.7, 0.2)),
		"crashes":                             watchOf(t, 2, 80, from(20, 0, 0.5), always(0.7)),
		"crashes, and completes what is left": watchOf(t, 3, 80, from(20, 0, 0.5), always(1)),
	} {
		r := s.Report("w")
		if !r.Alarmed || *r.AlarmedAt < "2026-03-21" || *r.AlarmedAt > "2026-04-20" {
			t.Errorf("%s: alarmed %t, state %s", name, r.Alarmed, s.AlarmedAt)
			continue
		}
		for _, look := range r.Interims {
			if look.Alarm != (look.Until >= *r.AlarmedAt) {
				t.Errorf("%s: the look of %s has alarm %t, after that of %s", name, look.Until, look.Alarm,
					*r.AlarmedAt)
			}
		}
	}
}

// TestWatchGuards checks that whatever the gate of a run finds alarms a watch, too, and that a loss within the margin
// does not.
func TestWatchGuards(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(was, is *replay.Metrics)
		want   string // what is worse, empty for nothing
	}{
		"swapped data": {
			func(was, is *replay.Metrics) { was.DataAccuracy, is.DataAccuracy = new(1.0), new(0.0) },
			replay.DataAccuracy,
		},
		"twice the cost": {
			func(was, is *replay.Metrics) { was.CostUSD, is.CostUSD = new(0.01), new(0.02) }, replay.CostUSD,
		},
		"a tenth more": {func(was, is *replay.Metrics) { was.CostUSD, is.CostUSD = new(0.01), new(0.011) }, ""},
		"hanging turns": {
			func(was, is *replay.Metrics) { was.SlowTurns, is.SlowTurns = new(0.0), new(0.1) }, replay.SlowTurns,
		},
		"hanging up": {
			func(was, is *replay.Metrics) { was.EndedEarly, is.EndedEarly = new(0.0), new(1.0) }, replay.EndedEarly,
		},
		"90 ms slower": {
			func(was, is *replay.Metrics) { was.P95LatencyMS, is.P95LatencyMS = new(10.0), new(100.0) }, "",
		},
		"a second slower": {
			func(was, is *replay.Metrics) { was.P95LatencyMS, is.P95LatencyMS = new(10.0), new(1010.0) },
			replay.P95Latency,
		},
		"lost states": {
			func(was, is *replay.Metrics) { was.StateProgression, is.StateProgression = new(1.0), new(0.5) },
			replay.StateProgression,
		},
	} {
		w, s := watching(), &replay.WatchState{}
		s.Begin(w, json.RawMessage(`{}`))
		var tally replay.Tally
		for i := range 60 {
			was, is := figures(), figures()
			tc.change(was, is)
			tally.Add(&replay.Pair{
				SessionID: fmt.Sprint(i), Outcome: replay.EndCompleted, Variations: []replay.Variation{
					lane(replay.Observed, nil), lane(replay.Baseline, was), lane(replay.Candidate, is),
				},
			})
		}
		look := s.Analyze(w, &tally, dayOne.AddDate(0, 0, 1))
		for metric, of := range look.Metrics {
			if is := of.Verdict == stats.Worse; is != (metric == tc.want) {
				t.Errorf("%s: %s is %+v", name, metric, of)
			}
		}
		if look.Alarm != (tc.want != "") {
			t.Errorf("%s: alarm %t", name, look.Alarm)
		}
	}
}

// TestWatchConcealed checks that a look names what only the baseline reports, in which no loss could be seen.
func TestWatchConcealed(t *testing.T) {
	w, s := watching(), &replay.WatchState{}
	s.Begin(w, json.RawMessage(`{}`))
	var tally replay.Tally
	was, is := figures(), figures()
	was.CostUSD, was.DataAccuracy = new(0.1), new(1.0)
	tally.Add(&replay.Pair{SessionID: "s", Variations: []replay.Variation{
		lane(replay.Observed, nil), lane(replay.Baseline, was), lane(replay.Candidate, is),
	}})
	look := s.Analyze(w, &tally, dayOne.AddDate(0, 0, 1))
	if got := fmt.Sprint(look.Concealed); got != "[data_collection_accuracy cost_usd]" {
		t.Error(got)
	}
	w.Rules.Margins = map[string]stats.Margin{replay.CostUSD: {}}
	look = s.Analyze(w, &tally, dayOne.AddDate(0, 0, 2))
	if got := fmt.Sprint(look.Concealed); got != "[data_collection_accuracy]" {
		t.Errorf("with a margin for the cost: %s", got)
	}
}

// TestWatchCounts wants lost pairs to be counted as sessions, and not to be compared but for their answers.
func TestWatchCounts(t *testing.T) {
	s := watchOf(t, 5, 30, always(0.3), always(0.7))
	sessions := 0
	for _, look := range s.Interims {
		sessions += look.New
		match, answered := look.Metrics[replay.CompletionMatch], look.Metrics[replay.Answered]
		if look.Sessions != sessions || answered.N != sessions || match.N > sessions ||
			match.N == 0 != (match.Mean == nil) {
			t.Errorf("look %+v of %d sessions", look, sessions)
		}
		if match.Verdict == stats.Worse && *match.High >= 0 {
			t.Errorf("worse, and the interval holds 0: %+v", match)
		}
	}
	if last := s.Interims[len(s.Interims)-1]; last.Metrics[replay.CompletionMatch].N == sessions {
		t.Error("no pair was lost")
	}
}

func TestWatchSame(t *testing.T) {
	s := &replay.WatchState{Settings: json.RawMessage(`{"flow": "a", "alpha": 0.05, "mode": "recorded"}`)}
	if err := s.Same("w", json.RawMessage(`{"mode": "recorded", "alpha": 5e-2, "flow": "a"}`)); err != nil {
		t.Error(err)
	}
	err := s.Same("w", json.RawMessage(`{"mode": "forced", "alpha": 0.05, "flow": "b"}`))
	if !source.IsInvalid(err) || err.Error() !=
		`watch "w" was begun with another flow, mode: use the same, or begin a new watch with another --name` {
		t.Error(err)
	}
}
