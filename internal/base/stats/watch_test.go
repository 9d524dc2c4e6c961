package stats_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func always(string) bool { return true }

// tally has pairs of which so many were passed by one alone; each is of a session of its own.
func tally(tag string, onlyBaseline, onlyCandidate, same int) *stats.Pairs {
	var p stats.Pairs
	add := func(kind string, n int, baseline, candidate float64) {
		for i := range n {
			p.Add(fmt.Sprint(tag, kind, i), baseline, candidate)
		}
	}
	add("lost", onlyBaseline, 1, 0)
	add("won", onlyCandidate, 0, 1)
	add("same", same, 1, 1)
	return &p
}

// TestWatchCounts: with a uniform mixture, D discordant pairs of which k favour one side are worth 2^D·B(k+1, D−k+1).
// Eight of eight are 2⁸/9 = 28.4, above 1/0.05; seven of seven are 2⁷/8 = 16. Sixteen of eighteen are 2¹⁸/(19·C(18, 2))
// = 90.2, fourteen of eighteen 2¹⁸/(19·C(18, 4)) = 4.5. Ties do not matter.
func TestWatchCounts(t *testing.T) {
	for _, tc := range []struct {
		lost, won, same int
		want            stats.Verdict
	}{
		{0, 0, 0, stats.Inconclusive},
		{7, 0, 0, stats.Inconclusive},
		{8, 0, 0, stats.Worse},
		{8, 0, 10_000, stats.Worse},
		{0, 8, 5, stats.Better},
		{16, 2, 100, stats.Worse},
		{14, 4, 100, stats.Inconclusive},
	} {
		w := stats.Watches(0.05, []stats.Criterion{{PassFail: true}})[0]
		l := w.Analyze(tally("", tc.lost, tc.won, tc.same), nil)
		if l.Verdict != tc.want || l.N != tc.lost+tc.won+tc.same || l.Interval[0] < -1 || l.Interval[1] > 1 ||
			l.Interval[1] <= l.Interval[0] {
			t.Errorf("%+v: %+v", tc, l)
		}
	}
}

// TestWatchIsNeverSure: nothing differs, and the interval says how much might.
func TestWatchIsNeverSure(t *testing.T) {
	for _, c := range []stats.Criterion{{PassFail: true}, {Range: 1}} {
		w := stats.Watches(0.05, []stats.Criterion{c})[0]
		l := w.Analyze(tally("", 0, 0, 200), nil)
		if !(l.Interval[0] < -0.015 && l.Interval[0] > -0.06) || math.Abs(l.Interval[0]+l.Interval[1]) > 1e-6 {
			t.Errorf("%+v: %+v", c, l)
		}
	}
	w := stats.Watches(0.05, []stats.Criterion{{}})[0]
	if l := w.Analyze(tally("", 0, 0, 200), nil); !math.IsInf(l.Interval[0], -1) || !math.IsInf(l.Interval[1], 1) ||
		l.Verdict != stats.Inconclusive {
		t.Errorf("without a range: %+v", l)
	}
}

// TestWatchOfNumbers: ρ = (2·log 20 + log(1 + 2·log 20))/200 = 0.03967; for n = 20 and a deviation of 1 the half width
// is √(1/20)·√((1.7934/0.7934)·(5.9915 + 0.5841)) = 0.8621.
func TestWatchOfNumbers(t *testing.T) {
	w := stats.Watches(0.1, []stats.Criterion{{}, {}})[0]
	step := math.Sqrt(19. / 20)
	var p, last stats.Pairs
	for i := range 19 {
		p.Add(fmt.Sprint(i), 0, 3+step*float64(1-2*(i%2)))
	}
	if l := w.Analyze(&p, nil); !math.IsInf(l.Interval[0], -1) || l.Clusters != 19 {
		t.Errorf("19 clusters: %+v", l)
	}
	last.Add("last", 0, 3-step)
	last.Add("", math.NaN(), 1)
	l := w.Analyze(&last, nil)
	want := stats.Interim{
		N: 20, Clusters: 20, Mean: 3, Interval: [2]float64{3 - 0.8621, 3 + 0.8621}, DesignEffect: 1,
		Verdict: stats.Better,
	}
	if d := cmp.Diff(want, l, cmpopts.EquateApprox(0, 1e-3)); d != "" || w.Dropped != 1 {
		t.Errorf("20 clusters (-want +got):\n%s", d)
	}
	w.LowerIsBetter = true
	if l := w.Analyze(&stats.Pairs{}, nil); l.Verdict != stats.Worse || l.N != 20 {
		t.Errorf("where lower is better: %+v", l)
	}
}

// TestWatchOfUsersWhoComeBack: a user's sessions in a look enter with their mean. 40 users who say the same in each of
// four looks are worth 40, not 160: the design effect is that of clusters of four that are alike, 4·(G·n − 1)/(n·(G −
// 1)) with G = 40.
func TestWatchOfUsersWhoComeBack(t *testing.T) {
	w := stats.Watches(0.05, []stats.Criterion{{}})[0]
	var l stats.Interim
	for range 4 {
		var p stats.Pairs
		for user := range 40 {
			x := float64(user % 5)
			p.Add(fmt.Sprint(user), 0, x-1)
			p.Add(fmt.Sprint(user), 0, x+1)
		}
		l = w.Analyze(&p, always)
	}
	if want := 159. / 39; l.N != 320 || l.Clusters != 40 || math.Abs(l.Mean-2) > 1e-9 ||
		math.Abs(l.DesignEffect-want) > 1e-9 {
		t.Errorf("%+v", l)
	}
}

// TestWatchKeptAsJSON: what is kept between looks goes on as if it had not been put away, and says nothing of sessions
// that cannot come back.
func TestWatchKeptAsJSON(t *testing.T) {
	r := random(61)
	one := stats.Watches(0.05, []stats.Criterion{{LowerIsBetter: true, Range: 2}})[0]
	two := one
	for look := range 5 {
		var p stats.Pairs
		for range 20 {
			p.Add(fmt.Sprint("user", r.IntN(30)), r.Float64(), r.Float64())
			p.Add(fmt.Sprint("session", look, r.IntN(1e9)), r.Float64(), r.Float64())
		}
		user := func(c string) bool { return c[0] == 'u' }
		kept, err := json.Marshal(two)
		if err != nil {
			t.Fatal(err)
		}
		two = stats.Watch{}
		if err := json.Unmarshal(kept, &two); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(one.Analyze(&p, user), two.Analyze(&p, user)); d != "" {
			t.Errorf("look %d (-kept +read):\n%s", look, d)
		}
		if len(one.Known) > 30 {
			t.Errorf("%d clusters are remembered", len(one.Known))
		}
	}
}

// sessions is what comes in a look: some metric of some users.
type sessions func(r *rand.Rand, look int, p *stats.Pairs)

// TestWatchAlarms: 100 looks under no difference find one in at most 5 % of 1,000 watches. The intervals hold the truth
// as often.
func TestWatchAlarms(t *testing.T) {
	t.Parallel()
	bit := func(r *rand.Rand, p float64) float64 {
		if r.Float64() < p {
			return 1
		}
		return 0
	}
	single := func(score func(r *rand.Rand) (baseline, candidate float64)) sessions {
		return func(r *rand.Rand, look int, p *stats.Pairs) {
			for i := range 10 {
				baseline, candidate := score(r)
				p.Add(fmt.Sprint(look, " ", i), baseline, candidate)
			}
		}
	}
	for i, tc := range []struct {
		name     string
		truth    float64
		c        stats.Criterion
		sessions sessions
	}{
		{"pass or fail", 0, stats.Criterion{PassFail: true}, single(func(r *rand.Rand) (float64, float64) {
			return bit(r, 0.8), bit(r, 0.8)
		})},
		{"a known loss", -0.1, stats.Criterion{PassFail: true}, single(func(r *rand.Rand) (float64, float64) {
			return bit(r, 0.9), bit(r, 0.8)
		})},
		{"rarely different", 0, stats.Criterion{}, single(func(r *rand.Rand) (float64, float64) {
			return bit(r, 0.98), bit(r, 0.98)
		})},
		{"normal", 0, stats.Criterion{}, single(func(r *rand.Rand) (float64, float64) {
			return r.NormFloat64(), r.NormFloat64()
		})},
		{"latencies", 0, stats.Criterion{}, single(func(r *rand.Rand) (float64, float64) {
			return math.Exp(r.NormFloat64()), math.Exp(r.NormFloat64())
		})},
		{"normal, users at 0.7", 0, stats.Criterion{}, returning(0.7, false)},
		{"normal, users at 0.1", 0, stats.Criterion{}, returning(0.1, false)},
		{"normal, users at 0.3", 0, stats.Criterion{}, returning(0.3, false)},
		{"pass or fail, users at 0.7", 0, stats.Criterion{PassFail: true}, returning(0.7, true)},
	} {
		r, n := random(uint64(71+i)), runs(1_000)
		missed := 0
		for range n {
			w := stats.Watches(0.05, []stats.Criterion{tc.c})[0]
			out := false
			for look := range 100 {
				var p stats.Pairs
				tc.sessions(r, look, &p)
				l := w.Analyze(&p, func(c string) bool { return c[0] == 'u' })
				out = out || l.Interval[0] > tc.truth || l.Interval[1] < tc.truth
			}
			if out {
				missed++
			}
		}
		within(t, tc.name, missed, n, 0, 5)
	}
}

// returning has 64 users with 1 to 58 sessions in 100 looks; a few come nearly every second time, most of them once or
// twice. Their differences have an intraclass correlation.
func returning(icc float64, passFail bool) sessions {
	var taste []float64
	return func(r *rand.Rand, look int, p *stats.Pairs) {
		if look == 0 {
			taste = taste[:0]
			for range 64 {
				taste = append(taste, math.Sqrt(icc)*r.NormFloat64())
			}
		}
		for i := range taste {
			if r.Float64() > 0.58*math.Pow(float64(i+1), -0.9) {
				continue
			}
			x := taste[i] + math.Sqrt(1-icc)*r.NormFloat64()
			switch {
			case !passFail:
				p.Add(fmt.Sprint("user", i), 0, x)
			case x > 1:
				p.Add(fmt.Sprint("user", i), 0, 1)
			case x < -1:
				p.Add(fmt.Sprint("user", i), 1, 0)
			default:
				p.Add(fmt.Sprint("user", i), 1, 1)
			}
		}
	}
}

// TestWatchMargin takes a loss of 1 from a baseline of 10, with an interval of ± 0.
func TestWatchMargin(t *testing.T) {
	for name, tc := range map[string]struct {
		c    stats.Criterion
		want stats.Verdict
	}{
		"no margin":               {stats.Criterion{}, stats.Worse},
		"an absolute margin":      {stats.Criterion{Margin: stats.Margin{Absolute: 1}}, stats.Inconclusive},
		"a relative margin":       {stats.Criterion{Margin: stats.Margin{Relative: 0.1}}, stats.Inconclusive},
		"a margin that is passed": {stats.Criterion{Margin: stats.Margin{Relative: 0.09}}, stats.Worse},
		"smaller than any harm":   {stats.Criterion{Harmless: 1.1}, stats.Inconclusive},
		"as large as harm":        {stats.Criterion{Harmless: 1}, stats.Inconclusive},
		"larger than harm":        {stats.Criterion{Harmless: 0.9}, stats.Worse},
		"a gain": {
			stats.Criterion{LowerIsBetter: true, Margin: stats.Margin{Absolute: 5}}, stats.Better,
		},
	} {
		w := stats.Watches(0.05, []stats.Criterion{tc.c})[0]
		var look stats.Interim
		for day := range 2 {
			var p stats.Pairs
			for i := range 15 {
				p.Add(fmt.Sprint(day, i), 10, 9)
			}
			look = w.Analyze(&p, nil)
		}
		if look.Verdict != tc.want {
			t.Errorf("%s: %+v, want %s", name, look, tc.want)
		}
	}
}
