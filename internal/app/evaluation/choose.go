package evaluation

import (
	"cmp"
	"hash/fnv"
	"io"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// candidate is a test that Filter and Tags select.
type candidate struct {
	key  testKey
	rank uint64
}

// choose applies Filter, Tags and Sample, and adds what the chosen tests depend on.
func (p *plan) choose() error {
	spec := &p.e.spec
	if len(spec.Filter)+len(spec.Tags)+spec.Sample == 0 {
		return nil
	}
	var chosen []candidate
	needs := map[testKey][]string{}
	for _, s := range p.e.suites {
		for t, err := range s.Tests() {
			if err != nil {
				return source.AsInvalid(err)
			}
			key := testKey{s.Name, t.ID}
			if len(t.DependsOn) > 0 {
				needs[key] = t.DependsOn
			}
			if spec.Selects(t) {
				chosen = append(chosen, candidate{key, rank(key)})
			}
			if spec.Sample > 0 && len(chosen) > 2*spec.Sample+1000 { // keep only those that can still be drawn
				chosen = sampled(chosen, spec.Sample)
			}
		}
	}
	if spec.Sample > 0 {
		chosen = sampled(chosen, spec.Sample)
	}
	p.selected = map[testKey]bool{}
	var add func(testKey)
	add = func(key testKey) {
		if p.selected[key] {
			return
		}
		p.selected[key] = true
		for _, id := range needs[key] {
			add(testKey{key.suite, id})
		}
	}
	for _, c := range chosen {
		add(c.key)
	}
	return nil
}

// sampled returns the n candidates of the lowest ranks, or all when there are fewer.
func sampled(all []candidate, n int) []candidate {
	if len(all) > n {
		slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
		all = all[:n]
	}
	return all
}

// rank orders tests for sampling by their names alone, so that a sample is the same on every machine.
func rank(k testKey) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, k.suite+"\x00"+k.id) // a hash never fails
	return h.Sum64()
}
