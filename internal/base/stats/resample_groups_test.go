package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestGroups: nothing is lost or counted twice, groups are equally large, and few clusters stay as they are.
func TestGroups(t *testing.T) {
	columns := columnsOf(3*maxUnits+5, 3)
	grouped := inGroups(columns, 42)
	for m := range columns {
		var before, after clusterSum
		for _, c := range columns[m] {
			before = clusterSum{before.n + c.n, before.sum + c.sum}
		}
		for _, c := range grouped[m] {
			after = clusterSum{after.n + c.n, after.sum + c.sum}
		}
		if len(grouped[m]) != maxUnits || after.n != before.n || math.Abs(after.sum-before.sum) > 1e-6 {
			t.Errorf("metric %d: %d groups with %v, want %v", m, len(grouped[m]), after, before)
		}
	}
	each := make([]clusterSum, 3*maxUnits+5)
	for i := range each {
		each[i].n = 1
	}
	for i, group := range inGroups([][]clusterSum{each}, 1)[0] {
		if group.n != 3 && (group.n != 4 || i >= 5) {
			t.Fatalf("group %d has %v clusters", i, group.n)
		}
	}
	few := columnsOf(maxUnits, 1)
	if !slices.Equal(inGroups(few, 1)[0], few[0]) {
		t.Error("clusters that are few are joined")
	}
}

// TestGroupsOfManyClusters: an interval of groups is that of the clusters. What tests repeat in their order, here with
// the period of the groups, does not matter: every sixteenth test differs by 10, so groups of every nth test would have
// an interval that is several times too wide.
func TestGroupsOfManyClusters(t *testing.T) {
	const n = 5 * maxUnits
	r := rand.New(rand.NewPCG(8, 1))
	column := make([]clusterSum, n)
	var all spread
	for i := range column {
		x := r.NormFloat64()
		if i%16 == 0 {
			x += 10
		}
		column[i] = clusterSum{1, x}
		all.add(x)
	}
	half := 1.959964 * math.Sqrt(all.squares/(n-1)/n)
	for seed := range uint64(4) {
		means := halfMeans([][]clusterSum{column}, Resamples, seed)[0]
		low, high := midQuantile(means, 0.025), midQuantile(means, 0.975)
		// Two errors add up, of groups and of resamples, each about 1 % of the width.
		if math.Abs(low-(all.mean-half)) > 0.08*half || math.Abs(high-(all.mean+half)) > 0.08*half {
			t.Errorf("seed %d: %v to %v, want %v ± %v", seed, low, high, all.mean, half)
		}
	}
}
