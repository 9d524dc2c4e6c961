package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func TestFlakiness(t *testing.T) {
	for _, tc := range []struct {
		passed, n int
		want      stats.Flakiness
	}{
		{0, 0, stats.Flakiness{Interval: [2]float64{0, 1}}},
		{5, 5, stats.Flakiness{Class: stats.StablePass, Rate: 1, Interval: [2]float64{0.5655, 1}}},
		{0, 5, stats.Flakiness{Class: stats.StableFail, Interval: [2]float64{0, 0.4345}}},
		{3, 4, stats.Flakiness{Class: stats.Flaky, Rate: 0.75, Interval: stats.Wilson(3, 4)}},
	} {
		if d := cmp.Diff(tc.want, stats.FlakinessOf(tc.passed, tc.n), near()); d != "" {
			t.Errorf("%d of %d (-want +got):\n%s", tc.passed, tc.n, d)
		}
	}
}

func TestAttribute(t *testing.T) {
	for _, tc := range []struct {
		name        string
		transcripts []stats.Rejudged
		transport   int
		want        stats.Attribution
	}{
		{"nothing", nil, 0, stats.Attribution{TransportInterval: [2]float64{0, 1}}},
		{"judged once", []stats.Rejudged{{1, 1}, {0, 1}}, 0, stats.Attribution{TransportInterval: stats.Wilson(0, 2)}},
		{"the agent", []stats.Rejudged{{4, 4}, {0, 4}, {4, 4}}, 1, stats.Attribution{
			Transport: 0.25, TransportInterval: stats.Wilson(1, 4), Agent: 1. / 3, AgentShare: 1, Known: true,
		}},
		{"the judge", []stats.Rejudged{{2, 4}, {2, 4}}, 0, stats.Attribution{
			TransportInterval: stats.Wilson(0, 2), Judge: 1. / 3, Known: true,
		}},
		// Between: 4·((3/4 − 1/2)² + (1/4 − 1/2)²)/1 = 1/2; within: 2·(4·3/16)/6 = 1/4; the agent (1/2 − 1/4)/4 = 1/16.
		{"both", []stats.Rejudged{{3, 4}, {1, 4}}, 0, stats.Attribution{
			TransportInterval: stats.Wilson(0, 2), Judge: 0.25, Agent: 0.0625, AgentShare: 0.2, Known: true,
		}},
		{"always the same", []stats.Rejudged{{4, 4}, {4, 4}, {9, 0}}, 0, stats.Attribution{
			TransportInterval: stats.Wilson(0, 2), Known: true,
		}},
	} {
		if d := cmp.Diff(tc.want, stats.Attribute(tc.transcripts, tc.transport),
			cmpopts.EquateApprox(0, 1e-12)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

func TestTranscriptsAlike(t *testing.T) {
	for _, tc := range []struct {
		name        string
		transcripts []stats.Rejudged
		want        float64
	}{
		// Of the 84 ways to place 3 fails, 63 have first verdicts of both kinds; 3 of them are these.
		{"three, never mixed", []stats.Rejudged{{3, 3}, {0, 3}, {3, 3}}, 3. / 63},
		// 12 of the 20 ways to place 3 fails have them.
		{"two, never mixed", []stats.Rejudged{{3, 3}, {0, 3}}, 2. / 12},
		{"all mixed", []stats.Rejudged{{1, 3}, {2, 3}, {1, 3}}, 1},
		{"judged once", []stats.Rejudged{{1, 1}, {0, 1}}, 1},
		{"nothing", nil, 1},
		{"one without a verdict", []stats.Rejudged{{3, 3}, {0, 0}, {0, 3}, {3, 3}}, 3. / 63},
	} {
		if got := stats.TranscriptsAlike(tc.transcripts); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: p = %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A judge that tosses a coin is called the agent's in no more than the share of tests that the level allows.
func TestTranscriptsAlikeOfACoin(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, chance := range []float64{0.5, 0.9} {
		for _, trials := range []int{3, 6} {
			flaky, found := 0, 0
			for flaky < 2000 {
				of, own := make([]stats.Rejudged, trials), 0
				for i := range of {
					of[i].Verdicts = 3
					for v := range 3 {
						if draw.Float64() < chance {
							of[i].Passed++
							if v == 0 {
								own++
							}
						}
					}
				}
				if own == 0 || own == trials {
					continue
				}
				flaky++
				if stats.TranscriptsAlike(of) <= 0.05 {
					found++
				}
			}
			if found > 130 { // 5% of 2000 and three standard errors
				t.Errorf("chance %v, %d trials: %d of %d", chance, trials, found, flaky)
			}
		}
	}
}
