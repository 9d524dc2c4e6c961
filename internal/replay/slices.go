package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// Slice is a part of the sessions with its differences. It decides nothing.
type Slice struct {
	// By is flow, length, unit or day. Value is the slice's; SliceOther holds what is too small or too far down.
	By       string                     `json:"by"`
	Value    string                     `json:"value"`
	Sessions int                        `json:"sessions"`
	Metrics  map[string]SliceDifference `json:"metrics"`
}

// SliceDifference is candidate less baseline in a slice, with its 95 % interval. AdjustedP is corrected over all slices
// (Holm).
type SliceDifference struct {
	Mean      float64  `json:"mean"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	AdjustedP float64  `json:"p_adjusted"`
}

const (
	// SliceOther is the slice of small ones.
	SliceOther = "other"
	// leastSlice is the least number of sessions of a slice, mostSlices how many of each kind are shown beside
	// SliceOther.
	leastSlice = 10
	mostSlices = 20
)

// sliceKinds are the ways to slice. An empty value belongs to SliceOther.
var sliceKinds = []struct {
	by    string
	value func(*played) string
}{
	{"flow", func(s *played) string { return s.flow }},
	{"length", func(s *played) string { return lengthOf(s.turns) }},
	{"unit", func(s *played) string { return s.unit }},
	{"day", func(s *played) string { return s.day }},
}

func lengthOf(turns int) string {
	switch {
	case turns <= 0:
		return ""
	case turns <= 2:
		return "1-2"
	case turns <= 5:
		return "3-5"
	case turns <= 10:
		return "6-10"
	}
	return "11+"
}

// slices slices the sessions in every way. The slices of a kind add up to all sessions.
func (t *Tally) slices(metrics []metric, rules *Rules) []Slice {
	all := []Slice{}
	for _, kind := range sliceKinds {
		named := t.largest(kind.value)
		of := map[string][]int{}
		for i := range t.sessions {
			value := kind.value(&t.sessions[i])
			if !slices.Contains(named, value) {
				value = SliceOther
			}
			of[value] = append(of[value], i)
		}
		for _, value := range append(named, SliceOther) {
			if n := len(of[value]); n > 0 {
				all = append(all, Slice{
					By: kind.by, Value: value, Sessions: n, Metrics: t.compareSlice(metrics, rules, of[value]),
				})
			}
		}
	}
	correct(all)
	return all
}

// compareSlice compares the lanes in some sessions by the metrics that decide.
func (t *Tally) compareSlice(metrics []metric, rules *Rules, sessions []int) map[string]SliceDifference {
	differences := map[string]SliceDifference{}
	baseline, candidate := t.lanes[Baseline], t.lanes[Candidate]
	for i := range metrics {
		m := metrics[i]
		if m.role != decides || m.apart {
			continue
		}
		m.role, m.everyPair = shown, false
		p := &stats.Pairs{}
		for _, s := range sessions {
			m.add(p, rules.Cluster.clusterOf(&t.sessions[s]), baseline.whole[i][s], candidate.whole[i][s])
		}
		if d := p.Compare(m.criterion(rules.MinPower)); d.N > 0 {
			differences[m.name] = SliceDifference{
				Mean: d.Mean, Low: finite(d.Interval[0]), High: finite(d.Interval[1]), AdjustedP: d.P,
			}
		}
	}
	return differences
}

// correct corrects the p-values of all slices together.
func correct(all []Slice) {
	var ps []float64
	for i := range all {
		for _, name := range slices.Sorted(maps.Keys(all[i].Metrics)) {
			ps = append(ps, all[i].Metrics[name].AdjustedP)
		}
	}
	ps = stats.Holm(ps)
	for i := range all {
		for _, name := range slices.Sorted(maps.Keys(all[i].Metrics)) {
			d := all[i].Metrics[name]
			d.AdjustedP, ps = ps[0], ps[1:]
			all[i].Metrics[name] = d
		}
	}
}

// largest returns the values of at least leastSlice sessions, the largest first, mostSlices of them.
func (t *Tally) largest(value func(*played) string) []string {
	sizes := map[string]int{}
	for i := range t.sessions {
		if v := value(&t.sessions[i]); v != "" && v != SliceOther {
			sizes[v]++
		}
	}
	var names []string
	for name, n := range sizes {
		if n >= leastSlice {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), mostSlices)]
}
