package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Slice is a part of the sessions with its differences.
type Slice struct {
	// By is flow, length, unit, day, or the field that was named. Value is the slice's; SliceOther has what is too
	// small or too far down.
	By       string                     `json:"by"`
	Value    string                     `json:"value"`
	Sessions int                        `json:"sessions"`
	Metrics  map[string]SliceDifference `json:"metrics"`
	// Guard is true of a slice that was named: a metric that is worse in it is a loss of the run.
	Guard bool `json:"guard,omitempty"`
}

// SliceDifference is candidate less baseline in a slice, with its 95 % interval. AdjustedP is corrected over all slices
// (Holm): over those that are guards and over the others. Verdict is worse or empty, of guards only.
type SliceDifference struct {
	Mean      float64  `json:"mean"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	AdjustedP float64  `json:"p_adjusted"`
	Verdict   string   `json:"verdict,omitempty"`

	found stats.Difference
}

// name is the slice's name for people.
func (s *Slice) name() string { return line(s.By + " " + s.Value) }

const (
	// SliceOther is the slice of small ones.
	SliceOther = "other"
	// leastSlice is the least number of sessions of a slice, mostSlices how many of each kind are shown beside
	// SliceOther.
	leastSlice = 10
	mostSlices = 20
)

// maxSliceFields bounds the fields by which sessions are sliced.
const maxSliceFields = 20

// sliceKind is a way to slice. An empty value belongs to SliceOther.
type sliceKind struct {
	by    string
	value func(*played) string
	guard bool
}

// sliceKinds are the ways to slice: those of every run, and the fields that its rules name.
func sliceKinds(rules *Rules) []sliceKind {
	kinds := []sliceKind{
		{by: "flow", value: func(s *played) string { return s.flow }},
		{by: "length", value: func(s *played) string { return lengthOf(s.turns) }},
		{by: "unit", value: func(s *played) string { return s.unit }},
		{by: "day", value: func(s *played) string { return s.day }},
	}
	for _, field := range rules.Slices {
		if i := slices.IndexFunc(kinds, func(k sliceKind) bool { return k.by == field }); i >= 0 {
			kinds[i].guard = true
			continue
		}
		kinds = append(kinds, sliceKind{field, func(s *played) string { return s.slices[field] }, true})
	}
	return kinds
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
	for _, kind := range sliceKinds(rules) {
		for _, of := range t.partsOf(kind) {
			if n := len(of.sessions); n > 0 || kind.guard {
				all = append(all, Slice{
					By: kind.by, Value: of.value, Sessions: n, Guard: kind.guard,
					Metrics: t.compareSlice(metrics, rules, of.part, kind.guard),
				})
			}
		}
	}
	correct(all)
	return all
}

// slicePart are the sessions of a slice.
type slicePart struct {
	value string
	part
}

// partsOf returns the slices of a kind: those that are large enough, then the others together.
func (t *Tally) partsOf(kind sliceKind) []slicePart {
	named := t.largest(kind.value)
	var parts []slicePart
	for _, value := range append(slices.Clone(named), SliceOther) {
		of := t.partOf(func(s *played) bool {
			v := kind.value(s)
			return v == value || value == SliceOther && !slices.Contains(named, v)
		})
		if len(of.sessions)+len(of.lost) > 0 {
			parts = append(parts, slicePart{value, of})
		}
	}
	return parts
}

// compareSlice compares the lanes in some sessions by the metrics that decide and, in a guard, by all that can fail a
// candidate.
func (t *Tally) compareSlice(metrics []metric, rules *Rules, in part, guard bool) map[string]SliceDifference {
	differences := map[string]SliceDifference{}
	baseline, candidate := t.lanes[Baseline], t.lanes[Candidate]
	if guard {
		if in.rescued = t.rescued(in.sessions); in.rescued != nil {
			metrics = slices.Clone(metrics)
			decideByCompleted(metrics)
		}
	}
	for i := range metrics {
		m := metrics[i]
		if m.apart || m.role == shown || !guard && m.role != decides {
			continue
		}
		if !guard {
			m.role = shown
		}
		d := t.pairs(&m, rules.Cluster, baseline.whole[i], candidate.whole[i], in).Compare(m.criterion(rules.MinPower))
		if d.N > 0 {
			differences[m.name] = SliceDifference{
				Mean: d.Mean, Low: finite(d.Interval[0]), High: finite(d.Interval[1]), AdjustedP: d.P, found: d,
			}
		}
	}
	return differences
}

// correct corrects the p-values of the slices that are guards, and those of the others, and decides by them which
// guards are worse. What does not vary leaves the correction.
func correct(all []Slice) {
	for _, guard := range []bool{true, false} {
		var ps []float64
		each := func(f func(*SliceDifference)) {
			for i := range all {
				for _, name := range slices.Sorted(maps.Keys(all[i].Metrics)) {
					d := all[i].Metrics[name]
					if all[i].Guard == guard && d.found.Varies {
						f(&d)
						all[i].Metrics[name] = d
					}
				}
			}
		}
		each(func(d *SliceDifference) { ps = append(ps, d.AdjustedP) })
		ps = stats.Holm(ps)
		each(func(d *SliceDifference) {
			d.AdjustedP, ps = ps[0], ps[1:]
			if guard && d.found.Verdict == stats.Worse && d.AdjustedP < 1-stats.Confidence {
				d.Verdict = string(stats.Worse)
			}
		})
	}
}

// openSlices gives a reason for each guard that would be worse if its open conversations were lost.
func (t *Tally) openSlices(metrics []metric, rules *Rules) []Reason {
	column := columnOf(CompletedShare)
	m := metrics[column]
	m.role = guards
	baseline, candidate := t.lanes[Baseline].whole[column], t.lanes[Candidate].whole[column]
	if _, open := t.openEnds(t.all().sessions); open == 0 || len(rules.Slices) == 0 {
		return nil
	}
	was, is := slices.Clone(baseline), slices.Clone(candidate)
	for i := range t.sessions {
		if t.isOpen(i) {
			was[i], is[i] = 1, 0
		}
	}
	var reasons []Reason
	for _, kind := range sliceKinds(rules) {
		if !kind.guard {
			continue
		}
		for _, of := range t.partsOf(kind) {
			_, open := t.openEnds(of.sessions)
			d := t.pairs(&m, rules.Cluster, was, is, of.part).Compare(m.criterion(rules.MinPower))
			if open > 0 && d.Verdict == stats.Worse {
				s := Slice{By: kind.by, Value: of.value}
				reasons = append(reasons, Reason{"power", CompletedShare, fmt.Sprintf(
					"it is not known whether %d of %s in %s would have completed", open,
					text.Plural(len(of.sessions), "conversation"), s.name())})
			}
		}
	}
	return reasons
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

// maxSliceValue bounds the value of a field by which sessions are sliced, in bytes.
const maxSliceValue = 100

// slice reads the fields by which sessions are sliced from an event: from its context, the metadata in it, or the
// metadata of its payload. The first value that a session has counts.
func (s *Session) slice(e *Event, fields []string) {
	if len(s.Slices) == len(fields) {
		return
	}
	var context map[string]any
	var payload struct {
		Metadata map[string]any `json:"metadata"`
	}
	// what cannot be read has no value
	_ = json.Unmarshal(orNull(e.Context), &context)
	_ = json.Unmarshal(orNull(e.Payload), &payload)
	metadata, _ := context["metadata"].(map[string]any)
	for _, field := range fields {
		for _, object := range []map[string]any{context, metadata, payload.Metadata} {
			if value := sliceValue(object, field); value != "" && s.Slices[field] == "" {
				if s.Slices == nil {
					s.Slices = map[string]string{}
				}
				s.Slices[field] = value
			}
		}
	}
}

// sliceValue writes the value of a field, whose name may be a path with dots; empty where there is none.
func sliceValue(object map[string]any, field string) string {
	value, has := object[field]
	if first, rest, nested := strings.Cut(field, "."); !has && nested {
		inner, _ := object[first].(map[string]any)
		if inner == nil {
			return ""
		}
		return sliceValue(inner, rest)
	}
	written, isText := value.(string)
	if !isText && value != nil {
		encoded, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		written = string(encoded)
	}
	written = strings.TrimSpace(written)
	for len(written) > maxSliceValue || !utf8.ValidString(written) {
		written = strings.ToValidUTF8(written[:min(len(written), maxSliceValue)], "")
	}
	return written
}
