package stats_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// unitsOf reads one line per rater, a dot for a missing value, into units.
func unitsOf(lines ...string) [][]int {
	var units [][]int
	for _, line := range lines {
		for i, value := range strings.Fields(line) {
			if i == len(units) {
				units = append(units, nil)
			}
			if value != "." {
				units[i] = append(units[i], int(value[0]-'0'))
			}
		}
	}
	return units
}

func floats(units [][]int) [][]float64 {
	out := make([][]float64, len(units))
	for i, unit := range units {
		for _, x := range unit {
			out[i] = append(out[i], float64(x))
		}
	}
	return out
}

func TestAlpha(t *testing.T) {
	for _, tc := range []struct {
		name                       string
		units                      [][]int
		nominal, ordinal, interval float64
	}{
		// Krippendorff (2011), section D: four observers, twelve units, missing values.
		{"Krippendorff, D", unitsOf(
			"1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."),
			0.743, 0.815, 0.849},
		// The same, section A: two observers, two values, ten units.
		{"Krippendorff, A", unitsOf("0 1 0 0 0 0 0 0 1 0", "1 1 1 0 0 1 0 0 0 0"), 0.095, 0.095, 0.095},
		// The three coders of the article Krippendorff's alpha in Wikipedia.
		{
			"Wikipedia",
			unitsOf(". . . . . 3 4 1 2 1 1 3 3 . 3", "1 . 2 1 3 3 4 3 . . . . . . .", ". . 2 1 3 4 4 . 2 1 1 3 3 . 4"),
			0.691, math.NaN(), 0.811,
		},
	} {
		nominal, ok1 := stats.NominalAlpha(tc.units)
		ordinal, ok2 := stats.OrdinalAlpha(tc.units)
		interval, ok3 := stats.IntervalAlpha(floats(tc.units))
		if math.IsNaN(tc.ordinal) {
			ordinal = tc.ordinal
		}
		want, got := []float64{tc.nominal, tc.ordinal, tc.interval}, []float64{nominal, ordinal, interval}
		if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 5e-4), cmpopts.EquateNaNs()); d != "" || !ok1 ||
			!ok2 || !ok3 {
			t.Errorf("%s: α mismatch (-want +got):\n%s", tc.name, d)
		}
	}
	for _, units := range [][][]int{nil, {{1}, {2}}, {{1, 1}, {1, 1}}} {
		_, ok1 := stats.NominalAlpha(units)
		_, ok2 := stats.OrdinalAlpha(units)
		_, ok3 := stats.IntervalAlpha(floats(units))
		if ok1 || ok2 || ok3 {
			t.Errorf("α of %v is defined", units)
		}
	}
}

// TestAlphaLaws compares α with its definition, a sum over all pairs of values, and uses that the same values in
// another order are the same.
func TestAlphaLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 4), 0, 4), 1, 12).Draw(t, "units")
		var all []float64
		observed, expected, n := 0.0, 0.0, 0.0
		for _, unit := range floats(units) {
			if m := float64(len(unit)); m >= 2 {
				all = append(all, unit...)
				for _, x := range unit {
					for _, y := range unit {
						observed += (x - y) * (x - y) / (m - 1)
					}
				}
			}
		}
		for _, x := range all {
			for _, y := range all {
				expected += (x - y) * (x - y)
			}
		}
		n = float64(len(all))
		alpha, defined := stats.IntervalAlpha(floats(units))
		if defined != (expected > 0) || defined && math.Abs(alpha-(1-(observed/n)/(expected/(n*(n-1))))) > 1e-9 {
			t.Fatalf("α = %v, %v", alpha, defined)
		}
		for _, unit := range units {
			slices.Reverse(unit)
		}
		if back, _ := stats.IntervalAlpha(floats(units)); math.Abs(back-alpha) > 1e-9 {
			t.Fatalf("α = %v, with the raters in another order %v", alpha, back)
		}
	})
}
