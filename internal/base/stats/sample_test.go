package stats_test

import (
	"math/bits"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// TestRankIsForEver has values, computed by another program, that must never change: samples drawn years apart, by
// other machines and stores, must be the same.
func TestRankIsForEver(t *testing.T) {
	for _, tc := range []struct {
		seed uint64
		id   string
		want uint64
	}{
		{0, "", 0x813f0174a2367c13},
		{42, "star-26", 0x102e78906472eb7a},
		{42, "star-27", 0xcb1c661a493ea733},
		{43, "star-26", 0x57e7ba81ba33181d},
		{42, "sesión-é", 0x76eb943d438a76fa},
	} {
		if got := stats.Rank(tc.seed, tc.id); got != tc.want {
			t.Errorf("Rank(%d, %q) = %#x, want %#x", tc.seed, tc.id, got, tc.want)
		}
	}
}

func ids(n int) (all []string) {
	for i := range n {
		all = append(all, "session-"+strconv.Itoa(i))
	}
	return all
}

func sampleOf(n int, ids []string) []string {
	s := stats.NewSample(42, n)
	for _, id := range ids {
		s.Add(id)
	}
	return s.IDs()
}

// TestRankIsEven counts how ids that differ in little fall into 64 parts of all ranks: χ² with 63 degrees of freedom is
// below 103.4 in 999 of 1,000 cases. A changed seed must turn half of all bits.
func TestRankIsEven(t *testing.T) {
	const n = 64_000
	var parts [64]float64
	turned := 0
	for _, id := range ids(n) {
		rank := stats.Rank(42, id)
		parts[rank>>58]++
		turned += bits.OnesCount64(rank ^ stats.Rank(43, id))
	}
	chi := 0.0
	for _, count := range parts {
		chi += (count - n/64) * (count - n/64) / (n / 64)
	}
	if share := float64(turned) / (64 * n); chi > 103.4 || share < 0.499 || share > 0.501 {
		t.Errorf("χ² = %.1f, another seed turns %.4f of all bits", chi, share)
	}
}

func TestSampleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		population := ids(rapid.IntRange(0, 200).Draw(t, "population"))
		n := rapid.IntRange(0, 50).Draw(t, "n")
		want := slices.Clone(population)
		slices.SortFunc(want, func(a, b string) int {
			if stats.Rank(42, a) < stats.Rank(42, b) {
				return -1
			}
			return 1
		})
		want = want[:min(n, len(want))]
		order := rapid.Permutation(append(population, population...)).Draw(t, "order")
		got := sampleOf(n, order)
		if d := cmp.Diff(append([]string{}, want...), got); d != "" {
			t.Fatalf("sample of %d of %d (-want +got):\n%s", n, len(population), d)
		}
	})
}

func TestSampleGoesOn(t *testing.T) {
	all := ids(1_000)
	s := stats.NewSample(42, 10)
	for i, id := range all {
		s.Add(id)
		if i == 500 {
			s.IDs() // asking does not end it
		}
	}
	if d := cmp.Diff(sampleOf(10, all), s.IDs()); d != "" {
		t.Error(d)
	}
	if got := sampleOf(-1, all); len(got) != 0 {
		t.Errorf("a sample of −1 has %v", got)
	}
}
