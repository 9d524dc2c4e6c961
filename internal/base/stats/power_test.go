package stats_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func TestUnitsFor(t *testing.T) {
	d := spreadOut(34, 0, 0, 1).Compare(stats.Criterion{})
	if n := d.UnitsFor(0.5); n != 34 || math.Abs(d.Detectable-0.4953) > 1e-3 {
		t.Errorf("UnitsFor(0.5) = %d, detectable %v", n, d.Detectable)
	}
	if more := d.UnitsFor(0.25); more < 4*34-10 || more > 4*34 {
		t.Errorf("half the difference needs %d", more)
	}
	same := singles(make([]float64, 9), make([]float64, 9)).Compare(stats.Criterion{})
	if n := same.UnitsFor(0.5); n != 0 || !math.IsInf(same.Detectable, 1) {
		t.Errorf("from differences that do not vary: %d, detectable %v", n, same.Detectable)
	}
	shares := singles(make([]float64, 9), make([]float64, 9)).Compare(stats.Criterion{Range: 1})
	if n := shares.UnitsFor(0.05); n != 60 || shares.Detectable != 3./9 || shares.UnitsFor(0) != 0 {
		t.Errorf("so that 3/n is 5 points: %d, detectable %v", n, shares.Detectable)
	}
	if n := shares.UnitsFor(0.07); n != 43 {
		t.Errorf("so that 3/n is 7 points: %d", n)
	}
	var hardly stats.Pairs // two of 90 pairs of nine users differ
	for i := range 90 {
		hardly.Add(strconv.Itoa(i/10), 1, float64(min(i/2, 1)))
	}
	if d := hardly.Compare(stats.Criterion{Range: 1}); d.UnitsFor(0.05) != 60 {
		t.Errorf("where one user differs: %d", d.UnitsFor(0.05))
	}
	if n := d.UnitsFor(0); n != 0 {
		t.Errorf("no difference needs %d", n)
	}
}

// passFail has n pairs of which the baseline alone passed so many and the candidate alone so many.
func passFail(n, onlyBaseline, onlyCandidate int) stats.Difference {
	baseline, candidate := make([]float64, n), make([]float64, n)
	for i := range onlyBaseline {
		baseline[i] = 1
	}
	for i := range onlyCandidate {
		candidate[n-1-i] = 1
	}
	return singles(baseline, candidate).Compare(stats.Criterion{PassFail: true, Range: 1})
}

// alternating are n scores of 1 and 0 in turns.
func alternating(n, first int) []float64 {
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = float64((first + i) % 2)
	}
	return scores
}

func TestDetectableRate(t *testing.T) {
	// All of ten pairs are discordant. The exact test needs 9 of 10 for one (2·11/1024); with a chance p for each that
	// is 10·p⁹ − 9·p¹⁰, which is 80 % at p = 0.91674; the difference is 2p − 1.
	if got := passFail(10, 5, 5).Detectable; math.Abs(got-(2*0.916740-1)) > 1e-5 {
		t.Errorf("of ten discordant pairs %v is detectable", got)
	}
	// None of 100 is discordant: the rule of three.
	if got := passFail(100, 0, 0).Detectable; got != 0.03 {
		t.Errorf("of a hundred that agree %v is detectable", got)
	}
	// The surer a loss is to be found, the larger it must be.
	if sure := singles(alternating(100, 0), alternating(100, 1)).
		Compare(stats.Criterion{PassFail: true, Power: 0.95}); sure.Detectable <= passFail(100, 50, 50).Detectable {
		t.Errorf("with a power of 0.95 %v is detectable", sure.Detectable)
	}
	// R. J. Connor (1987): (z·√ψ + 0.8416·√(ψ − d²))²/d² pairs for ψ = 0.2 and d = 0.1 are 155; the exact test needs
	// some more.
	d := passFail(1_000, 100, 100)
	if n := d.UnitsFor(0.1); n < 155 || n > 175 {
		t.Errorf("%d pairs are needed", n)
	}
	if n := d.UnitsFor(2); n != 0 {
		t.Errorf("%d pairs are needed for a difference of two rates of 2", n)
	}
	// The sum and what replaces it for many pairs must meet.
	few, many := passFail(9_990, 999, 999).Detectable, passFail(10_010, 1_001, 1_001).Detectable
	if math.Abs(few-many) > 0.01*few {
		t.Errorf("detectable with 1,998 discordant pairs %v, with 2,002 %v", few, many)
	}
}
